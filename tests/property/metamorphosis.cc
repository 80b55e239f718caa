#include "tests/property/metamorphosis.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"

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

void ShuffleGraph(OperatorGraph& graph, RandomStream& random) {
  const std::vector<std::size_t> position = RandomPermutation(graph.operators.size(), random);
  const auto moved = [&](OperatorId op) { return OperatorId(position[op.index()]); };
  graph.operators = Permuted(graph.operators, position);
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    Operator& op = graph.operators[i];
    op.name = absl::StrCat("renamed", i);
    if (op.forward_operator.has_value()) op.forward_operator = moved(*op.forward_operator);
    if (!op.colocation_group.empty()) op.colocation_group = absl::StrCat("~", op.colocation_group);
    std::reverse(op.costs.begin(), op.costs.end());
  }
  graph.tensors = Permuted(graph.tensors, RandomPermutation(graph.tensors.size(), random));
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    Tensor& tensor = graph.tensors[i];
    tensor.name = absl::StrCat("renamed", i);
    tensor.producer = moved(tensor.producer);
    for (OperatorId& consumer : tensor.consumers) consumer = moved(consumer);
    tensor.consumers = Permuted(tensor.consumers, RandomPermutation(tensor.consumers.size(), random));
  }
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
