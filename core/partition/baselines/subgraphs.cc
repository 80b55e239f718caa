#include "core/partition/baselines/subgraphs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/index.h"
#include "core/graph/digraph.h"
#include "core/graph/topological_order.h"

namespace planwright {
namespace {

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
      if (IsOnAccelerator(op)) parts.emplace(*device_of_[op], graph_.operators[op].pass);
    }
    for (const auto& [device, pass] : parts) Cut(device, pass);
    Placement placement = Ordered();
    AddCpuStage(placement);
    return placement;
  }

 private:
  static constexpr int32_t kNone = -1;

  bool IsOnAccelerator(std::size_t op) const {
    return device_of_[op].has_value() && cluster_.class_of(*device_of_[op]).kind == DeviceKind::kAccelerator;
  }

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
    if (std::ssize(order) < next_unit) {
      order.clear();
      for (int32_t stage = 0; stage < std::ssize(stages_); ++stage) order.push_back(stage);
    }
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
      if (device_of_[op].has_value() && !IsOnAccelerator(op)) stage.operators.emplace_back(op);
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

Placement CutIntoSubgraphs(const OperatorGraph& graph, const Cluster& cluster,
                           const std::vector<std::optional<DeviceId>>& device_of) {
  return Cutter(graph, cluster, device_of).Run();
}

}  // namespace planwright
