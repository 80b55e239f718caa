#include "tests/property/metamorphosis.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/violations.h"
#include "core/model/validator.h"
#include "tests/property/naive_model.h"

namespace planwright {
namespace {

// Calls change(link) for the host-staged or uniform interconnect.
template <typename Change>
void ChangeLink(Cluster& cluster, const Change& change) {
  if (auto* staged = std::get_if<HostStagedInterconnect>(&cluster.interconnect)) change(*staged);
  if (auto* uniform = std::get_if<UniformInterconnect>(&cluster.interconnect)) change(*uniform);
}

// New position of each of `count` elements.
std::vector<std::size_t> RandomPermutation(std::size_t count, RandomStream& random) {
  std::vector<std::size_t> permutation(count);
  std::iota(permutation.begin(), permutation.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(permutation[i - 1], permutation[random.Below(i)]);
  return permutation;
}

template <typename T>
std::vector<T> Permuted(const std::vector<T>& elements, const std::vector<std::size_t>& new_position) {
  std::vector<T> permuted(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) permuted[new_position[i]] = elements[i];
  return permuted;
}

// Returns the new position of each operator.
std::vector<std::size_t> PermuteGraph(OperatorGraph& graph, RandomStream& random) {
  const std::vector<std::size_t> position = RandomPermutation(graph.operators.size(), random);
  const auto moved = [&](OperatorId op) { return OperatorId(position[op.index()]); };
  graph.operators = Permuted(graph.operators, position);
  for (Operator& op : graph.operators) {
    if (op.forward_operator.has_value()) op.forward_operator = moved(*op.forward_operator);
  }
  graph.tensors = Permuted(graph.tensors, RandomPermutation(graph.tensors.size(), random));
  for (Tensor& tensor : graph.tensors) {
    tensor.producer = moved(tensor.producer);
    for (OperatorId& consumer : tensor.consumers) consumer = moved(consumer);
    tensor.consumers = Permuted(tensor.consumers, RandomPermutation(tensor.consumers.size(), random));
  }
  return position;
}

void ShuffleGraph(OperatorGraph& graph, RandomStream& random) {
  PermuteGraph(graph, random);
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    Operator& op = graph.operators[i];
    op.name = absl::StrCat("renamed", i);
    if (!op.colocation_group.empty()) op.colocation_group = absl::StrCat("~", op.colocation_group);
    std::reverse(op.costs.begin(), op.costs.end());
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) graph.tensors[i].name = absl::StrCat("renamed", i);
}

void ShuffleCluster(Cluster& cluster, RandomStream& random) {
  const std::vector<std::size_t> position = RandomPermutation(cluster.device_classes.size(), random);
  cluster.device_classes = Permuted(cluster.device_classes, position);
  cluster.devices = Permuted(cluster.devices, RandomPermutation(cluster.devices.size(), random));
  for (std::size_t i = 0; i < cluster.devices.size(); ++i) {
    cluster.devices[i].name = absl::StrCat("renamed", i);
    cluster.devices[i].device_class = DeviceClassId(position[cluster.devices[i].device_class.index()]);
  }
}

// The pair of entries of the smaller matrix, and the links between what is left.
void DropLastDevice(LinksInterconnect& links, std::size_t last) {
  std::erase_if(links.links, [last](const LinksInterconnect::Link& link) {
    return link.device_a.index() == last || link.device_b.index() == last;
  });
}

void DropLastDevice(MatrixInterconnect& matrix, std::size_t last) {
  std::vector<double> entries;
  for (std::size_t a = 0; a < last; ++a) {
    for (std::size_t b = 0; b < last; ++b) entries.push_back(matrix.bandwidth_bytes_per_second[a * (last + 1) + b]);
  }
  matrix.bandwidth_bytes_per_second = std::move(entries);
}

// Returns how many devices are left in each of the groups of `inner`, 0: there is no group to drop.
std::size_t DropLastGroup(std::vector<HierarchyInterconnect::Level>& levels, std::size_t inner) {
  while (levels.size() > 1 && levels.back().fan_out == 1) levels.pop_back();
  if (levels.empty() || levels.back().fan_out == 1) return 0;
  --levels.back().fan_out;
  for (const HierarchyInterconnect::Level& level : levels) inner *= static_cast<std::size_t>(level.fan_out);
  return inner;
}

std::size_t DropLastPlace(NodesInterconnect& nodes) {
  if (nodes.devices_per_node == 1) return 0;
  --nodes.devices_per_node;
  std::erase_if(nodes.links, [&](const NodesInterconnect::Link& link) {
    return std::max(link.place_a, link.place_b) == nodes.devices_per_node;
  });
  return static_cast<std::size_t>(nodes.devices_per_node);
}

// How many devices the interconnect joins once the last of them have gone; 0: none can go.
std::size_t Shrink(Interconnect& interconnect, std::size_t devices) {
  if (auto* hierarchy = std::get_if<HierarchyInterconnect>(&interconnect)) return DropLastGroup(hierarchy->levels, 1);
  if (auto* nodes = std::get_if<NodesInterconnect>(&interconnect)) {
    const std::size_t left = DropLastGroup(nodes->levels, static_cast<std::size_t>(nodes->devices_per_node));
    return left > 0 ? left : DropLastPlace(*nodes);
  }
  if (auto* grid = std::get_if<GridInterconnect>(&interconnect)) {
    if (grid->dimensions.back() == 1) return 0;
    const auto rows = static_cast<std::size_t>(grid->dimensions.back()--);
    return devices / rows * (rows - 1);
  }
  if (auto* links = std::get_if<LinksInterconnect>(&interconnect)) DropLastDevice(*links, devices - 1);
  if (auto* matrix = std::get_if<MatrixInterconnect>(&interconnect)) DropLastDevice(*matrix, devices - 1);
  return devices - 1;
}

// No pair of `smaller` is joined better than in `larger`.
bool IsContained(const Instance& smaller, const Instance& larger) {
  const NaiveModel small(smaller);
  const NaiveModel large(larger);
  for (std::size_t a = 0; a < small.num_devices(); ++a) {
    for (std::size_t b = 0; b < small.num_devices(); ++b) {
      if (a == b) continue;
      if (small.LinkBetween(a, b).bandwidth > large.LinkBetween(a, b).bandwidth) return false;
      if (small.LinkBetween(a, b).latency < large.LinkBetween(a, b).latency) return false;
    }
  }
  return true;
}

}  // namespace

bool HasTransferTimes(const Instance& instance) {
  return std::all_of(instance.graph.tensors.begin(), instance.graph.tensors.end(),
                     [](const Tensor& tensor) { return tensor.transfer.has_value(); });
}

Instance Slowed(Instance instance, int64_t factor) {
  for (Operator& op : instance.graph.operators) {
    for (OperatorCost& cost : op.costs) {
      cost.forward *= factor;
      cost.backward *= factor;
    }
  }
  for (Tensor& tensor : instance.graph.tensors) *tensor.transfer *= factor;
  return instance;
}

Instance Shuffled(const Instance& instance, RandomStream& random) {
  Instance shuffled = instance;
  ShuffleGraph(shuffled.graph, random);
  ShuffleCluster(shuffled.cluster, random);
  return shuffled;
}

Instance WithGraphShuffled(Instance instance, RandomStream& random, bool renames) {
  const std::vector<std::size_t> position = PermuteGraph(instance.graph, random);
  for (std::vector<OperatorDevice>* pairs : {&instance.problem.pinned, &instance.problem.forbidden}) {
    for (OperatorDevice& pair : *pairs) pair.op = OperatorId(position[pair.op.index()]);
  }
  if (!renames) return instance;
  for (Operator& op : instance.graph.operators) op.name = absl::StrCat("z", random.Below(1'000'000), op.name);
  for (Tensor& tensor : instance.graph.tensors) tensor.name = absl::StrCat("z", random.Below(1'000'000), tensor.name);
  return instance;
}

std::optional<Instance> WithDevicesShuffled(Instance instance, RandomStream& random) {
  Cluster& cluster = instance.cluster;
  const std::vector<std::size_t> position = RandomPermutation(cluster.devices.size(), random);
  auto* links = std::get_if<LinksInterconnect>(&cluster.interconnect);
  auto* matrix = std::get_if<MatrixInterconnect>(&cluster.interconnect);
  const bool are_connected_alike = std::holds_alternative<HostStagedInterconnect>(cluster.interconnect) ||
                                   std::holds_alternative<UniformInterconnect>(cluster.interconnect);
  if (!are_connected_alike && links == nullptr && matrix == nullptr) return std::nullopt;
  if (!instance.problem.devices_to_use.empty() || instance.problem.start_from.has_value()) return std::nullopt;
  const auto moved = [&](DeviceId device) { return DeviceId(position[device.index()]); };
  cluster.devices = Permuted(cluster.devices, position);
  if (links != nullptr) {
    for (LinksInterconnect::Link& link : links->links) {
      link.device_a = moved(link.device_a);
      link.device_b = moved(link.device_b);
    }
  }
  if (matrix != nullptr) {
    const std::size_t count = position.size();
    const std::vector<double> entries = matrix->bandwidth_bytes_per_second;
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < count; ++b) {
        matrix->bandwidth_bytes_per_second[position[a] * count + position[b]] = entries[a * count + b];
      }
    }
  }
  for (std::vector<OperatorDevice>* pairs : {&instance.problem.pinned, &instance.problem.forbidden}) {
    for (OperatorDevice& pair : *pairs) pair.device = moved(pair.device);
  }
  return instance;
}

std::optional<Instance> WithFewerDevices(Instance instance) {
  const Instance larger = instance;
  Cluster& cluster = instance.cluster;
  const std::size_t left = cluster.devices.size() > 1 ? Shrink(cluster.interconnect, cluster.devices.size()) : 0;
  if (left == 0 || !instance.problem.devices_to_use.empty()) return std::nullopt;
  for (const std::vector<OperatorDevice>* pairs : {&instance.problem.pinned, &instance.problem.forbidden}) {
    if (std::any_of(pairs->begin(), pairs->end(), [left](const auto& pair) { return pair.device.index() >= left; })) {
      return std::nullopt;
    }
  }
  cluster.devices.resize(left);
  Violations violations;
  ValidateCluster(cluster, ModelLimits(), violations);
  ValidateProblem(instance.graph, cluster, instance.problem, SolverOptions(), violations);
  if (!violations.empty() || !IsContained(instance, larger)) return std::nullopt;
  return instance;
}

Instance WithMoreBandwidth(Instance instance) {
  ChangeLink(instance.cluster, [](auto& link) {
    if (link.bandwidth_bytes_per_second.has_value()) *link.bandwidth_bytes_per_second *= 2;
  });
  for (Tensor& tensor : instance.graph.tensors) {
    if (tensor.transfer.has_value()) *tensor.transfer /= 2;
  }
  return instance;
}

Instance WithOneMoreDevice(Instance instance) {
  Device device = instance.cluster.devices.front();
  device.name = "one_more";
  instance.cluster.devices.push_back(std::move(device));
  return instance;
}

}  // namespace planwright
