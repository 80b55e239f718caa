#include "core/verify/stage_order.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/base/known.h"
#include "core/verify/facts/operator_time.h"

namespace planwright {
namespace {

// Item `before` must come before item `after`, because of `tensor`. Items are numbered from 0.
struct ItemPrecedence {
  std::size_t before = 0;
  std::size_t after = 0;
  TensorId tensor;

  std::pair<std::size_t, std::size_t> items() const { return {before, after}; }
};

// Sorts by the two items and keeps the first tensor of each pair.
void SortPrecedences(std::vector<ItemPrecedence>& precedences) {
  const auto by_items = [](const ItemPrecedence& a, const ItemPrecedence& b) {
    return std::tie(a.before, a.after, a.tensor) < std::tie(b.before, b.after, b.tensor);
  };
  std::sort(precedences.begin(), precedences.end(), by_items);
  const auto same = [](const ItemPrecedence& a, const ItemPrecedence& b) { return a.items() == b.items(); };
  precedences.erase(std::unique(precedences.begin(), precedences.end(), same), precedences.end());
}

// Kahn's algorithm, the ready item of the smallest key first. Items on or behind a cycle are left out.
// REQUIRES: sorted precedences. Complexity O(precedences log + items log).
std::vector<std::size_t> OrderOf(const std::vector<ItemPrecedence>& precedences, const std::vector<OperatorId>& keys) {
  std::vector<std::size_t> waits_for(keys.size());
  for (const ItemPrecedence& precedence : precedences) ++waits_for[precedence.after];
  using Ready = std::pair<OperatorId, std::size_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto add_if_ready = [&](std::size_t item) {
    if (waits_for[item] == 0) ready.emplace(keys[item], item);
  };
  for (std::size_t item = 0; item < keys.size(); ++item) add_if_ready(item);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t item = ready.top().second;
    ready.pop();
    order.push_back(item);
    auto next = std::lower_bound(precedences.begin(), precedences.end(), item,
                                 [](const ItemPrecedence& precedence, std::size_t i) { return precedence.before < i; });
    for (; next != precedences.end() && next->before == item; ++next) {
      --waits_for[next->after];
      add_if_ready(next->after);
    }
  }
  return order;
}

// A cycle, each precedence followed by the next. REQUIRES: `order` is OrderOf these and left items out.
std::vector<ItemPrecedence> CycleAmong(const std::vector<ItemPrecedence>& precedences,
                                       const std::vector<std::size_t>& order, std::size_t num_items) {
  std::vector<bool> stuck(num_items, true);
  for (const std::size_t item : order) stuck[item] = false;
  // Every stuck item has a stuck predecessor; walking back must come to an item for the second time.
  std::vector<const ItemPrecedence*> cause(num_items);
  for (const ItemPrecedence& precedence : precedences) {
    if (stuck[precedence.before]) cause[precedence.after] = &precedence;
  }
  auto item = static_cast<std::size_t>(std::find(stuck.begin(), stuck.end(), true) - stuck.begin());
  for (std::size_t steps = 0; steps < num_items; ++steps) item = cause[item]->before;
  std::vector<ItemPrecedence> cycle;
  for (std::size_t at = item; cycle.empty() || at != item; at = cause[at]->before) cycle.push_back(*cause[at]);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

// Operators that colocation holds together, as a disjoint-set forest.
class Unions {
 public:
  Unions(const OperatorGraph& graph, Granularity granularity)
      : parent_(graph.operators.size()), has_forward_(parent_.size()) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    for (std::size_t i = 0; i < graph.operators.size(); ++i) {
      const std::optional<OperatorId>& forward = graph.operators[i].forward_operator;
      if (forward.has_value()) Unite(i, forward->index());
    }
    UniteEqual(graph, [](const Operator& op) -> std::string_view { return op.colocation_group; });
    if (granularity == Granularity::kLayer) {
      UniteEqual(graph, [](const Operator& op) -> std::string_view { return op.layer; });
    }
    for (std::size_t i = 0; i < graph.operators.size(); ++i) {
      if (graph.operators[i].pass == Pass::kForward) has_forward_[Root(i)] = true;
    }
  }

  // Whether no FORWARD operator shares the device of `op` by constraint.
  bool IsOrphaned(OperatorId op) { return !has_forward_[Root(op.index())]; }

 private:
  std::size_t Root(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Unite(std::size_t a, std::size_t b) { parent_[Root(a)] = Root(b); }

  // Unites the operators whose label is the same and not empty.
  template <typename LabelOf>
  void UniteEqual(const OperatorGraph& graph, const LabelOf& label_of) {
    absl::flat_hash_map<std::string_view, std::size_t> first_of_label;
    for (std::size_t i = 0; i < graph.operators.size(); ++i) {
      const std::string_view label = label_of(graph.operators[i]);
      if (!label.empty()) Unite(i, first_of_label.try_emplace(label, i).first->second);
    }
  }

  std::vector<std::size_t> parent_;
  std::vector<bool> has_forward_;
};

// What contiguity demands of the order of stages: forward tensors go forward, and so does the mirror image of a tensor
// between BACKWARD operators where one end has no forward counterpart. One precedence for each pair of stages, with the
// first tensor that asks for it; ascending.
std::vector<ItemPrecedence> PrecedencesOf(const OperatorGraph& graph, const ResolvedProblem& problem,
                                          const Assignment& assignment) {
  Unions unions(graph, problem.granularity);
  std::vector<ItemPrecedence> precedences;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const OperatorId producer = graph.tensors[i].producer;
    const Pass pass = graph.operators[producer.index()].pass;
    if (!assignment.places(producer)) continue;
    for (const OperatorId consumer : graph.tensors[i].consumers) {
      if (graph.operators[consumer.index()].pass != pass) continue;
      std::size_t before = assignment.stage_index(producer);
      std::size_t after = assignment.stage_index(consumer);
      if (before == after) continue;
      if (pass == Pass::kBackward) {
        if (!unions.IsOrphaned(producer) && !unions.IsOrphaned(consumer)) continue;
        std::swap(before, after);
      }
      precedences.push_back({before, after, TensorId(i)});
    }
  }
  SortPrecedences(precedences);
  return precedences;
}

// The smallest operator of each stage.
std::vector<OperatorId> KeysOf(const Assignment& assignment) {
  return Mapped(assignment.stages, [&](const Assignment::Stage& stage) { return stage.operators.front(); });
}

// "{what}: tensor 'a' puts {name} before {name}, ..."; `number` and `name` are of items, and the smallest number is
// first.
template <typename NumberOf, typename NameOf>
std::string CycleText(std::string_view what, const OperatorGraph& graph, std::vector<ItemPrecedence> cycle,
                      const NumberOf& number, const NameOf& name) {
  const auto is_smaller = [&](const ItemPrecedence& a, const ItemPrecedence& b) {
    return number(a.before) < number(b.before);
  };
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end(), is_smaller), cycle.end());
  std::string text(what);
  for (const ItemPrecedence& precedence : cycle) {
    absl::StrAppend(&text, &precedence == &cycle.front() ? ": " : ", ", "tensor '",
                    graph.tensors[precedence.tensor.index()].name, "' puts ", name(precedence.before), " before ",
                    name(precedence.after));
  }
  return text;
}

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

void PutInPipelineOrder(const OperatorGraph& graph, const ResolvedProblem& problem, Assignment& assignment,
                        Violations& violations) {
  const std::vector<ItemPrecedence> precedences = PrecedencesOf(graph, problem, assignment);
  const auto goes_forward = [](const ItemPrecedence& precedence) { return precedence.before < precedence.after; };
  if (std::all_of(precedences.begin(), precedences.end(), goes_forward)) return;
  const std::vector<std::size_t> order = OrderOf(precedences, KeysOf(assignment));
  if (order.size() == assignment.stages.size()) {
    assignment.Reorder(order);
  } else {
    std::vector<ItemPrecedence> cycle = CycleAmong(precedences, order, assignment.stages.size());
    const auto given = [&](std::size_t stage) { return assignment.stages[stage].given_index; };
    const auto name = [&](std::size_t stage) { return absl::StrCat("stage ", given(stage)); };
    violations.Add("plan.stages", CycleText("no pipeline order", graph, std::move(cycle), given, name));
  }
}

bool PutInExecutableOrder(const OperatorGraph& graph, const Cluster& cluster, Assignment& assignment,
                          Violations& violations) {
  const Units units(graph, cluster, assignment);
  const std::size_t num_units = units.list().size();
  if (OrderOf(units.ByTensorsAndDevices(), units.Keys()).size() == num_units) return true;
  const std::vector<ItemPrecedence> precedences = units.ByTensors();
  const std::vector<std::size_t> order = OrderOf(precedences, units.Keys());
  if (order.size() < num_units) {
    violations.Add("plan.stages", CycleText("cannot be executed", graph, CycleAmong(precedences, order, num_units),
                                            std::identity(), [&](std::size_t unit) { return units.NameOf(unit); }));
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
