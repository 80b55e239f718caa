#include "core/verify/pipeline.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/verify/facts/precedence.h"

namespace planwright {
namespace {

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

// Starts with the stage that is given first.
std::string CycleText(const OperatorGraph& graph, const Assignment& assignment, std::vector<ItemPrecedence> cycle) {
  const auto given = [&](std::size_t stage) { return assignment.stages[stage].given_index; };
  const auto given_earlier = [&](const ItemPrecedence& a, const ItemPrecedence& b) {
    return given(a.before) < given(b.before);
  };
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end(), given_earlier), cycle.end());
  std::string text = "no pipeline order";
  for (const ItemPrecedence& precedence : cycle) {
    absl::StrAppend(&text, &precedence == &cycle.front() ? ": " : ", ", "tensor '",
                    graph.tensors[precedence.tensor.index()].name, "' puts stage ", given(precedence.before),
                    " before stage ", given(precedence.after));
  }
  return text;
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
    violations.Add("plan.stages", CycleText(graph, assignment, std::move(cycle)));
  }
}

}  // namespace planwright
