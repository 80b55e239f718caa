#include "core/verify/subgraphs.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/base/known.h"
#include "core/verify/facts/operator_time.h"
#include "core/verify/facts/precedence.h"

namespace planwright {
namespace {

// What starts and finishes as one: a stage on an accelerator, or a single operator on a CPU.
struct Unit {
  std::size_t stage = 0;
  OperatorId first_operator;
};

class Units {
 public:
  Units(const OperatorGraph& graph, const Cluster& cluster, const Assignment& assignment)
      : graph_(graph), cluster_(cluster), assignment_(assignment), unit_of_(graph.operators.size()) {
    for (std::size_t stage = 0; stage < assignment.stages.size(); ++stage) {
      for (const OperatorId op : assignment.stages[stage].operators) {
        const bool starts_a_unit = IsOnCpu(stage) || op == assignment.stages[stage].operators.front();
        if (starts_a_unit) units_.push_back({stage, op});
        unit_of_[op.index()] = units_.size() - 1;
      }
    }
  }

  const std::vector<Unit>& list() const { return units_; }
  bool IsSubgraph(const Unit& unit) const { return !IsOnCpu(unit.stage); }
  bool IsOnCpu(std::size_t stage) const {
    return cluster_.class_of(assignment_.stages[stage].devices.front()).kind == DeviceKind::kCpu;
  }

  std::vector<OperatorId> Keys() const {
    return Mapped(units_, [&](const Unit& unit) { return unit.first_operator; });
  }

  // Returns the precedences of units that exchange a tensor.
  std::vector<ItemPrecedence> ByTensors() const {
    std::vector<ItemPrecedence> precedences;
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const Tensor& tensor = graph_.tensors[i];
      if (!assignment_.places(tensor.producer)) continue;
      for (const OperatorId consumer : tensor.consumers) {
        if (!assignment_.places(consumer)) continue;
        const std::size_t before = unit_of_[tensor.producer.index()];
        const std::size_t after = unit_of_[consumer.index()];
        if (before != after) precedences.push_back({before, after, TensorId(i)});
      }
    }
    SortPrecedences(precedences);
    return precedences;
  }

  // Returns these precedences, and those of each subgraph after the one before it on its device.
  std::vector<ItemPrecedence> ByTensorsAndDevices() const {
    std::vector<ItemPrecedence> precedences = ByTensors();
    std::vector<std::optional<std::size_t>> last_on(cluster_.devices.size());
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      if (!IsSubgraph(units_[unit])) continue;
      std::optional<std::size_t>& last = last_on[assignment_.stages[units_[unit].stage].devices.front().index()];
      if (last.has_value()) precedences.push_back({*last, unit, TensorId()});
      last = unit;
    }
    SortPrecedences(precedences);
    return precedences;
  }

  // "stage 2" as given, "operator 'a'".
  std::string NameOf(std::size_t unit) const {
    if (IsSubgraph(units_[unit])) return absl::StrCat("stage ", assignment_.stages[units_[unit].stage].given_index);
    return absl::StrCat("operator '", graph_.operators[units_[unit].first_operator.index()].name, "'");
  }

 private:
  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const Assignment& assignment_;
  // By stage.
  std::vector<Unit> units_;
  // By operator; meaningless for those that take no part.
  std::vector<std::size_t> unit_of_;
};

// Starts with the smallest unit.
std::string CycleText(const OperatorGraph& graph, const Units& units, std::vector<ItemPrecedence> cycle) {
  const auto is_smaller = [](const ItemPrecedence& a, const ItemPrecedence& b) { return a.before < b.before; };
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end(), is_smaller), cycle.end());
  std::string text = "cannot be executed";
  for (const ItemPrecedence& precedence : cycle) {
    absl::StrAppend(&text, &precedence == &cycle.front() ? ": " : ", ", "tensor '",
                    graph.tensors[precedence.tensor.index()].name, "' puts ", units.NameOf(precedence.before),
                    " before ", units.NameOf(precedence.after));
  }
  return text;
}

// Stages on accelerators in the order of their units, then the others.
std::vector<std::size_t> StageOrder(const Units& units, const std::vector<std::size_t>& order, std::size_t num_stages) {
  std::vector<std::size_t> stages;
  for (const std::size_t unit : order) {
    if (units.IsSubgraph(units.list()[unit])) stages.push_back(units.list()[unit].stage);
  }
  for (std::size_t stage = 0; stage < num_stages; ++stage) {
    if (units.IsOnCpu(stage)) stages.push_back(stage);
  }
  return stages;
}

}  // namespace

bool PutInExecutableOrder(const OperatorGraph& graph, const Cluster& cluster, Assignment& assignment,
                          Violations& violations) {
  const Units units(graph, cluster, assignment);
  const std::size_t num_units = units.list().size();
  if (OrderOf(units.ByTensorsAndDevices(), units.Keys()).size() == num_units) return true;
  const std::vector<ItemPrecedence> precedences = units.ByTensors();
  const std::vector<std::size_t> order = OrderOf(precedences, units.Keys());
  if (order.size() < num_units) {
    violations.Add("plan.stages", CycleText(graph, units, CycleAmong(precedences, order, num_units)));
    return false;
  }
  assignment.Reorder(StageOrder(units, order, assignment.stages.size()));
  return true;
}

JudgedSchedule ScheduleSubgraphs(const ResolvedInput& input, const Assignment& assignment,
                                 const std::vector<Picoseconds>& loads) {
  const Units units(input.graph, input.cluster, assignment);
  const std::vector<ItemPrecedence> precedences = units.ByTensorsAndDevices();
  std::vector<Picoseconds> starts(units.list().size());
  JudgedSchedule schedule;
  schedule.starts.resize(loads.size());
  for (const std::size_t index : OrderOf(precedences, units.Keys())) {
    const Unit& unit = units.list()[index];
    Picoseconds end = starts[index];
    if (units.IsSubgraph(unit)) {
      schedule.starts[unit.stage] = starts[index];
      end += loads[unit.stage];
    } else {
      const DeviceClass& device_class = input.cluster.class_of(assignment.stages[unit.stage].devices.front());
      const Operator& op = input.graph.operators[unit.first_operator.index()];
      end += Known(TimeOn(op, device_class, input.problem.workload)).total();
    }
    schedule.latency = std::max(schedule.latency, end);
    auto next = std::lower_bound(precedences.begin(), precedences.end(), index,
                                 [](const ItemPrecedence& precedence, std::size_t i) { return precedence.before < i; });
    for (; next != precedences.end() && next->before == index; ++next) {
      starts[next->after] = std::max(starts[next->after], end);
    }
  }
  return schedule;
}

}  // namespace planwright
