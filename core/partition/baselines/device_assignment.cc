#include "core/partition/baselines/device_assignment.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/graph/digraph.h"
#include "core/partition/noncontiguous/virtual_devices.h"

namespace planwright {
namespace {

// One stage for each device in use, in pipeline order; by first block where there is none.
Placement StagePerDevice(const BlockInstance& instance, const std::vector<DeviceId>& device_of) {
  constexpr int32_t kNone = -1;
  Placement placement;
  std::vector<int32_t> stage_of_block;
  std::vector<int32_t> stage_of_device;
  stage_of_block.reserve(device_of.size());
  for (std::size_t block = 0; block < device_of.size(); ++block) {
    const DeviceId device = device_of[block];
    if (device.index() >= stage_of_device.size()) stage_of_device.resize(device.index() + 1, kNone);
    int32_t& stage = stage_of_device[device.index()];
    if (stage == kNone) {
      stage = static_cast<int32_t>(placement.stages.size());
      placement.stages.push_back({{}, {device}});
    }
    stage_of_block.push_back(stage);
    auto& operators = placement.stages[Index(stage)].operators;
    operators.insert(operators.end(), instance.operators[block].begin(), instance.operators[block].end());
  }
  std::vector<Digraph::Edge> edges;
  for (const auto& [from, to] : instance.precedence.edges()) {
    edges.emplace_back(stage_of_block[Index(from)], stage_of_block[Index(to)]);
  }
  const Digraph quotient(static_cast<int32_t>(placement.stages.size()), std::move(edges));
  const std::vector<int64_t> equal(placement.stages.size(), 0);
  const std::vector<int32_t> order = DepthFirstTopologicalOrder(quotient, equal);
  for (Placement::Stage& stage : placement.stages) std::sort(stage.operators.begin(), stage.operators.end());
  if (order.size() < placement.stages.size()) return placement;
  Placement ordered;
  for (const int32_t stage : order) ordered.stages.push_back(std::move(placement.stages[Index(stage)]));
  return ordered;
}

// The device of every operator; nullopt: the workload drops it.
std::vector<std::optional<DeviceId>> DevicesOfOperators(const OperatorGraph& graph, const BlockInstance& instance,
                                                        const std::vector<DeviceId>& device_of) {
  std::vector<std::optional<DeviceId>> devices(graph.operators.size());
  for (std::size_t block = 0; block < device_of.size(); ++block) {
    for (const OperatorId op : instance.operators[block]) devices[op.index()] = device_of[block];
  }
  return devices;
}

// Returns a device for each operator: any one where the workload drops it.
std::vector<DeviceId> DevicesOfAll(const OperatorGraph& graph, const BlockInstance& instance,
                                   const std::vector<DeviceId>& device_of) {
  return Mapped(DevicesOfOperators(graph, instance, device_of),
                [&](const std::optional<DeviceId>& device) { return device.value_or(DeviceId(0)); });
}

// Producers and consumers that take part.
Digraph Dependencies(const OperatorGraph& graph, const std::vector<std::optional<DeviceId>>& device_of) {
  std::vector<Digraph::Edge> edges;
  for (const Tensor& tensor : graph.tensors) {
    if (!device_of[tensor.producer.index()].has_value()) continue;
    for (const OperatorId consumer : tensor.consumers) {
      if (!device_of[consumer.index()].has_value()) continue;
      edges.emplace_back(static_cast<int32_t>(tensor.producer.index()), static_cast<int32_t>(consumer.index()));
    }
  }
  return {static_cast<int32_t>(graph.operators.size()), std::move(edges)};
}

class Cutter {
 public:
  Cutter(const OperatorGraph& graph, const Cluster& cluster, const std::vector<std::optional<DeviceId>>& device_of)
      : graph_(graph),
        cluster_(cluster),
        device_of_(device_of),
        dependencies_(Dependencies(graph, device_of)),
        order_(AnyTopologicalOrder(dependencies_)),
        unit_of_(graph.operators.size(), kNone) {}

  Placement Run() && {
    std::set<std::pair<DeviceId, Pass>> parts;
    for (std::size_t op = 0; op < device_of_.size(); ++op) {
      const std::optional<DeviceId>& device = device_of_[op];
      if (device.has_value() && IsAccelerator(*device)) parts.emplace(*device, graph_.operators[op].pass);
    }
    for (const auto& [device, pass] : parts) Cut(device, pass);
    Placement placement = Ordered();
    AddCpuStage(placement);
    return placement;
  }

 private:
  static constexpr int32_t kNone = -1;

  bool IsAccelerator(DeviceId device) const { return cluster_.class_of(device).kind == DeviceKind::kAccelerator; }

  // Makes stages of the operators of `pass` on `device`, one for each level.
  void Cut(DeviceId device, Pass pass) {
    const auto is_inside = [&](int32_t op) {
      return device_of_[Index(op)] == device && graph_.operators[Index(op)].pass == pass;
    };
    std::vector<int32_t> level(graph_.operators.size(), 0);
    std::map<int32_t, int32_t> stage_of_level;
    for (const int32_t op : order_) {
      const bool inside = is_inside(op);
      if (inside) level[Index(op)] = 1;
      for (const int32_t producer : dependencies_.predecessors(op)) {
        const int32_t returns = inside && !is_inside(producer) ? 1 : 0;
        level[Index(op)] = std::max(level[Index(op)], level[Index(producer)] + returns);
      }
      if (!inside) continue;
      const auto [entry, is_new] = stage_of_level.try_emplace(level[Index(op)], static_cast<int32_t>(stages_.size()));
      if (is_new) stages_.push_back({{}, {device}});
      unit_of_[Index(op)] = entry->second;
      stages_[Index(entry->second)].operators.emplace_back(Index(op));
    }
  }

  // The stages in topological order of the graph in which each is one vertex and CPU operators are single.
  Placement Ordered() {
    auto next_unit = static_cast<int32_t>(stages_.size());
    for (int32_t& unit : unit_of_) {
      if (unit == kNone) unit = next_unit++;
    }
    std::vector<Digraph::Edge> edges;
    for (const auto& [from, to] : dependencies_.edges()) edges.emplace_back(unit_of_[Index(from)], unit_of_[Index(to)]);
    std::vector<int32_t> order = AnyTopologicalOrder({next_unit, std::move(edges)});
    if (std::ssize(order) < next_unit) order = FirstNumbers(stages_.size());
    Placement placement;
    for (const int32_t unit : order) {
      if (unit >= std::ssize(stages_)) continue;
      std::sort(stages_[Index(unit)].operators.begin(), stages_[Index(unit)].operators.end());
      placement.stages.push_back(std::move(stages_[Index(unit)]));
    }
    return placement;
  }

  void AddCpuStage(Placement& placement) const {
    Placement::Stage stage;
    for (std::size_t op = 0; op < device_of_.size(); ++op) {
      const std::optional<DeviceId>& device = device_of_[op];
      if (device.has_value() && !IsAccelerator(*device)) stage.operators.emplace_back(op);
    }
    if (stage.operators.empty()) return;
    for (std::size_t i = 0; i < cluster_.devices.size() && stage.devices.empty(); ++i) {
      if (cluster_.class_of(DeviceId(i)).kind == DeviceKind::kCpu) stage.devices.emplace_back(i);
    }
    placement.stages.push_back(std::move(stage));
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const std::vector<std::optional<DeviceId>>& device_of_;
  const Digraph dependencies_;
  const std::vector<int32_t> order_;
  std::vector<Placement::Stage> stages_;
  // By operator: its stage, or a number of its own behind them on a CPU.
  std::vector<int32_t> unit_of_;
};

}  // namespace

Placement PlacementOfBlocks(const SearchRequest& request, const BlockInstance& instance,
                            const std::vector<DeviceId>& device_of) {
  if (request.problem.objective == Objective::kMinLatency) {
    return CutIntoSubgraphs(request.graph, request.cluster, DevicesOfOperators(request.graph, instance, device_of));
  }
  if (request.problem.split == Split::kContiguous) return StagePerDevice(instance, device_of);
  return VirtualDevices(request.graph, request.problem).Cut(DevicesOfAll(request.graph, instance, device_of));
}

Placement CutIntoSubgraphs(const OperatorGraph& graph, const Cluster& cluster,
                           const std::vector<std::optional<DeviceId>>& device_of) {
  return Cutter(graph, cluster, device_of).Run();
}

}  // namespace planwright
