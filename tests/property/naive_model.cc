#include "tests/property/naive_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <variant>

#include "tests/support/way_search.h"

namespace planwright {
namespace {

std::optional<NaiveModel::Times> MeasuredTimes(const Operator& op, const DeviceClass& device_class, bool training) {
  for (const std::string& name : op.unsupported_device_classes) {
    if (name == device_class.name) return std::nullopt;
  }
  if (op.type == "Input") return NaiveModel::Times();
  for (const OperatorCost& cost : op.costs) {
    if (cost.device_class != device_class.name) continue;
    if (op.pass == Pass::kBackward) return NaiveModel::Times{Picoseconds(0), cost.forward};
    return NaiveModel::Times{cost.forward, training ? cost.backward : Picoseconds(0)};
  }
  return std::nullopt;
}

// Single steps, each towards the other device.
int HopsOf(const GridInterconnect& grid, std::size_t a, std::size_t b) {
  int hops = 0;
  for (const int32_t dimension : grid.dimensions) {
    const auto size = static_cast<std::size_t>(dimension);
    int up = 0;
    for (std::size_t at = a % size; at != b % size; at = (at + 1) % size) ++up;
    int down = 0;
    for (std::size_t at = a % size; at != b % size; at = (at + size - 1) % size) ++down;
    const int straight = a % size < b % size ? up : down;
    hops += grid.wrap_around ? std::min(up, down) : straight;
    a /= size;
    b /= size;
  }
  return hops;
}

}  // namespace

void Close(std::vector<std::vector<bool>>& relation) {
  const std::size_t n = relation.size();
  for (std::size_t via = 0; via < n; ++via) {
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        if (relation[a][via] && relation[via][b]) relation[a][b] = true;
      }
    }
  }
}

NaiveModel::NaiveModel(const Instance& instance)
    : graph_(instance.graph), cluster_(instance.cluster), problem_(ResolveProblem(instance.graph, instance.problem)) {
  const bool training = problem_.workload == Workload::kTraining;
  bool any_backward = false;
  for (const Operator& op : graph_.operators) {
    any_backward |= op.pass == Pass::kBackward;
    auto& times = time_.emplace_back();
    for (const Device& device : cluster_.devices) {
      times.push_back(MeasuredTimes(op, cluster_.device_classes[device.device_class.index()], training));
    }
  }
  gradients_return_ = training && !any_backward;
  for (std::size_t a = 0; a < num_devices(); ++a) {
    auto& links = links_.emplace_back();
    for (std::size_t b = 0; b < num_devices(); ++b) links.push_back(FindLink(a, b));
  }
  FillUnions();
  FillPrecedence();
}

void NaiveModel::FillUnions() {
  const std::size_t n = num_operators();
  same_union_.assign(n, std::vector<bool>(n, false));
  for (std::size_t a = 0; a < n; ++a) {
    if (!TakesPart(a)) continue;
    same_union_[a][a] = true;
    for (std::size_t b = 0; b < n; ++b) {
      if (!TakesPart(b)) continue;
      const Operator& op_a = graph_.operators[a];
      const Operator& op_b = graph_.operators[b];
      const bool linked = op_a.forward_operator == OperatorId(b) || op_b.forward_operator == OperatorId(a);
      const bool grouped = !op_a.colocation_group.empty() && op_a.colocation_group == op_b.colocation_group;
      if (linked || grouped || SameLayer(a, b)) same_union_[a][b] = true;
    }
  }
  Close(same_union_);
  for (std::size_t a = 0; a < n; ++a) {
    bool has_forward = false;
    for (std::size_t b = 0; b < n; ++b) has_forward |= same_union_[a][b] && IsForward(b);
    is_orphaned_.push_back(!has_forward);
  }
}

void NaiveModel::FillPrecedence() {
  const std::size_t n = num_operators();
  must_precede_.assign(n, std::vector<bool>(n, false));
  for (const Tensor& tensor : graph_.tensors) {
    const std::size_t a = tensor.producer.index();
    for (const OperatorId consumer : tensor.consumers) {
      const std::size_t b = consumer.index();
      if (!TakesPart(a) || !TakesPart(b)) continue;
      if (IsForward(a) && IsForward(b)) must_precede_[a][b] = true;
      if (!IsForward(a) && !IsForward(b) && (is_orphaned_[a] || is_orphaned_[b])) must_precede_[b][a] = true;
    }
  }
}

bool NaiveModel::TakesPart(std::size_t op) const { return problem_.workload == Workload::kTraining || IsForward(op); }

bool NaiveModel::SameLayer(std::size_t a, std::size_t b) const {
  const std::string& layer = graph_.operators[a].layer;
  return problem_.granularity == Granularity::kLayer && !layer.empty() && layer == graph_.operators[b].layer;
}

bool NaiveModel::IsAllowed(std::size_t op, std::size_t device) const {
  for (const OperatorDevice& pin : problem_.pinned) {
    if (pin.op.index() == op && pin.device.index() != device) return false;
  }
  for (const OperatorDevice& ban : problem_.forbidden) {
    if (ban.op.index() == op && ban.device.index() == device) return false;
  }
  const DeviceSelection& use = problem_.devices_to_use;
  const Device& fields = cluster_.devices[device];
  const auto names_device = [&](const std::vector<DeviceId>& list) {
    return std::find(list.begin(), list.end(), DeviceId(device)) != list.end();
  };
  if (!use.hosts.empty() && std::find(use.hosts.begin(), use.hosts.end(), fields.host) == use.hosts.end()) return false;
  if (!use.devices.empty() && !names_device(use.devices)) return false;
  if (names_device(use.excluded_devices)) return false;
  return std::all_of(use.match_labels.begin(), use.match_labels.end(), [&](const auto& label) {
    return fields.labels.count(label.first) > 0 && fields.labels.at(label.first) == label.second;
  });
}

NaiveModel::Link NaiveModel::FindLink(std::size_t a, std::size_t b) const {
  if (const auto* host = std::get_if<HostStagedInterconnect>(&cluster_.interconnect)) {
    return {host->bandwidth_bytes_per_second.value_or(0), host->latency};
  }
  if (const auto* uniform = std::get_if<UniformInterconnect>(&cluster_.interconnect)) {
    return {uniform->bandwidth_bytes_per_second.value_or(0), uniform->latency};
  }
  if (const auto* matrix = std::get_if<MatrixInterconnect>(&cluster_.interconnect)) {
    return {matrix->bandwidth_bytes_per_second[a * cluster_.devices.size() + b], matrix->latency};
  }
  if (const auto* grid = std::get_if<GridInterconnect>(&cluster_.interconnect)) {
    const auto hops = static_cast<double>(HopsOf(*grid, a, b));
    const bool divides = grid->non_adjacent == GridInterconnect::NonAdjacent::kDividedByHops;
    return {grid->link_bandwidth_bytes_per_second / (divides ? hops : 1), grid->latency};
  }
  if (const auto* links = std::get_if<LinksInterconnect>(&cluster_.interconnect)) {
    const Way way = BestWay(*links, cluster_.devices.size(), a, b);
    return {way.bandwidth_bytes_per_second, way.latency};
  }
  std::size_t group = 1;
  const auto* nodes = std::get_if<NodesInterconnect>(&cluster_.interconnect);
  if (nodes != nullptr) {
    group = static_cast<std::size_t>(nodes->devices_per_node);
    if (a / group == b / group) return LinkInside(*nodes, a % group, b % group);
  }
  const auto& levels = nodes != nullptr ? nodes->levels : std::get<HierarchyInterconnect>(cluster_.interconnect).levels;
  for (const auto& level : levels) {
    group *= static_cast<std::size_t>(level.fan_out);
    if (a / group == b / group) return {level.bandwidth_bytes_per_second, level.latency};
  }
  return {};
}

NaiveModel::Link NaiveModel::LinkInside(const NodesInterconnect& nodes, std::size_t a, std::size_t b) {
  Link link{nodes.bandwidth_bytes_per_second, nodes.latency};
  for (const NodesInterconnect::Link& own : nodes.links) {
    const auto x = static_cast<std::size_t>(own.place_a);
    const auto y = static_cast<std::size_t>(own.place_b);
    if ((x == a && y == b) || (x == b && y == a)) link = {own.bandwidth_bytes_per_second, own.latency};
  }
  return link;
}

Picoseconds NaiveModel::Transfer(const Tensor& tensor, std::size_t device_a, std::size_t device_b) const {
  const std::string interconnect = InterconnectName(cluster_.interconnect);
  const bool times_count = interconnect == "host_staged" || interconnect == "uniform";
  if (tensor.transfer.has_value() && times_count) return *tensor.transfer;
  const Link& link = links_[device_a][device_b];
  return link.latency + TransferTime(tensor.size_bytes, link.bandwidth);
}

Picoseconds NaiveModel::AllReduce(int64_t parameter_bytes, const std::vector<std::size_t>& ring) const {
  if (ring.size() == 1 || problem_.workload == Workload::kInference) return Picoseconds(0);
  double bandwidth = std::numeric_limits<double>::infinity();
  Picoseconds latency{0};
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const Link& link = LinkBetween(ring[i], ring[i + 1 < ring.size() ? i + 1 : 0]);
    bandwidth = std::min(bandwidth, link.bandwidth);
    latency = std::max(latency, link.latency);
  }
  const auto r = static_cast<int64_t>(ring.size());
  const bool is_ring = problem_.allreduce.factor == AllReduce::Factor::kRing;
  return TransferTime(parameter_bytes, is_ring ? 2 * (r - 1) : r - 1, r, bandwidth) + 2 * (r - 1) * latency;
}

int64_t NaiveModel::Memory(const std::vector<std::size_t>& operators, int64_t border_bytes, int64_t in_flight) const {
  const ResolvedMemory& model = problem_.memory_model;
  int64_t declared = 0;
  int64_t parameters = 0;
  int64_t activations = 0;
  int64_t workspace = 0;
  for (const std::size_t i : operators) {
    const Operator& op = graph_.operators[i];
    declared += op.memory_bytes.value_or(0);
    parameters += op.parameter_bytes;
    activations += op.activation_bytes;
    workspace = std::max(workspace, op.workspace_bytes);
  }
  if (operators.empty()) return 0;
  if (model.kind == MemoryModel::Kind::kDeclared) return declared;
  const double copies = 0.0 + model.weight_versions + model.gradient_copies + model.optimizer_bytes_per_parameter_byte;
  const auto state = static_cast<int64_t>(std::ceil(static_cast<double>(parameters) * copies));
  const int64_t kept = problem_.workload == Workload::kTraining ? in_flight * activations : 0;
  return state + kept + workspace + 2 * border_bytes + model.reserved_bytes;
}

bool NaiveModel::Fits(std::size_t device, int64_t bytes) const {
  const std::optional<int64_t> class_memory = cluster_.class_of(DeviceId(device)).memory_bytes;
  if (!class_memory.has_value()) return true;
  return bytes <= std::max<int64_t>(0, *class_memory - cluster_.devices[device].reserved_memory_bytes);
}

}  // namespace planwright
