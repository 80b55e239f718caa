#include "core/verify/pipeline.h"

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

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace planwright {
namespace {

// Stage `before` must come before stage `after`, because of `tensor`.
struct Precedence {
  std::size_t before = 0;
  std::size_t after = 0;
  TensorId tensor;

  std::pair<std::size_t, std::size_t> stages() const { return {before, after}; }
};

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
std::vector<Precedence> PrecedencesOf(const OperatorGraph& graph, const PlanningProblem& problem,
                                      const Assignment& assignment) {
  Unions unions(graph, problem.granularity);
  std::vector<Precedence> precedences;
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
  const auto by_stages = [](const Precedence& a, const Precedence& b) {
    return std::tie(a.before, a.after, a.tensor) < std::tie(b.before, b.after, b.tensor);
  };
  std::sort(precedences.begin(), precedences.end(), by_stages);
  const auto same = [](const Precedence& a, const Precedence& b) { return a.stages() == b.stages(); };
  precedences.erase(std::unique(precedences.begin(), precedences.end(), same), precedences.end());
  return precedences;
}

// Kahn's algorithm, the ready stage with the smallest operator first. Stages on or behind a cycle are left out.
std::vector<std::size_t> TopologicalOrder(const std::vector<Precedence>& precedences, const Assignment& assignment) {
  const std::size_t num_stages = assignment.stages.size();
  std::vector<std::size_t> waits_for(num_stages);
  for (const Precedence& precedence : precedences) ++waits_for[precedence.after];
  using Ready = std::pair<OperatorId, std::size_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto add_if_ready = [&](std::size_t stage) {
    if (waits_for[stage] == 0) ready.emplace(assignment.stages[stage].operators.front(), stage);
  };
  for (std::size_t stage = 0; stage < num_stages; ++stage) add_if_ready(stage);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t stage = ready.top().second;
    ready.pop();
    order.push_back(stage);
    auto next = std::lower_bound(precedences.begin(), precedences.end(), stage,
                                 [](const Precedence& precedence, std::size_t s) { return precedence.before < s; });
    for (; next != precedences.end() && next->before == stage; ++next) {
      --waits_for[next->after];
      add_if_ready(next->after);
    }
  }
  return order;
}

// A cycle, each precedence followed by the next. REQUIRES: `order` left stages out.
std::vector<Precedence> FindCycle(const std::vector<Precedence>& precedences, const std::vector<std::size_t>& order,
                                  std::size_t num_stages) {
  std::vector<bool> stuck(num_stages, true);
  for (const std::size_t stage : order) stuck[stage] = false;
  // Every stuck stage has a stuck predecessor; walking back must come to a stage for the second time.
  std::vector<const Precedence*> cause(num_stages);
  for (const Precedence& precedence : precedences) {
    if (stuck[precedence.before]) cause[precedence.after] = &precedence;
  }
  auto stage = static_cast<std::size_t>(std::find(stuck.begin(), stuck.end(), true) - stuck.begin());
  for (std::size_t steps = 0; steps < num_stages; ++steps) stage = cause[stage]->before;
  std::vector<Precedence> cycle;
  for (std::size_t at = stage; cycle.empty() || at != stage; at = cause[at]->before) cycle.push_back(*cause[at]);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

// Starts with the stage that is given first.
std::string CycleText(const OperatorGraph& graph, const Assignment& assignment, std::vector<Precedence> cycle) {
  const auto given = [&](std::size_t stage) { return assignment.stages[stage].given_index; };
  const auto given_earlier = [&](const Precedence& a, const Precedence& b) {
    return given(a.before) < given(b.before);
  };
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end(), given_earlier), cycle.end());
  std::string text = "no pipeline order";
  for (const Precedence& precedence : cycle) {
    absl::StrAppend(&text, &precedence == &cycle.front() ? ": " : ", ", "tensor '",
                    graph.tensors[precedence.tensor.index()].name, "' puts stage ", given(precedence.before),
                    " before stage ", given(precedence.after));
  }
  return text;
}

}  // namespace

void PutInPipelineOrder(const OperatorGraph& graph, const PlanningProblem& problem, Assignment& assignment,
                        Violations& violations) {
  const std::vector<Precedence> precedences = PrecedencesOf(graph, problem, assignment);
  const auto goes_forward = [](const Precedence& precedence) { return precedence.before < precedence.after; };
  if (std::all_of(precedences.begin(), precedences.end(), goes_forward)) return;
  const std::vector<std::size_t> order = TopologicalOrder(precedences, assignment);
  if (order.size() == assignment.stages.size()) {
    assignment.Reorder(order);
  } else {
    std::vector<Precedence> cycle = FindCycle(precedences, order, assignment.stages.size());
    violations.Add("plan.stages", CycleText(graph, assignment, std::move(cycle)));
  }
}

}  // namespace planwright
