#include "core/model/colocation.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/interruption.h"
#include "core/base/union_find.h"

namespace planwright {
namespace {

// Unions of the operators that take part.
class Unions {
 public:
  Unions(const OperatorGraph& graph, const ResolvedProblem& problem)
      : graph_(graph),
        drops_backward_(problem.workload == Workload::kInference),
        unions_(static_cast<int32_t>(graph.operators.size())) {}

  // `label_of`: operators of equal non-empty label are united.
  template <typename LabelOf>
  void UniteByLabel(const LabelOf& label_of) {
    absl::flat_hash_map<std::string_view, int32_t> first;
    for (std::size_t op = 0; op < graph_.operators.size(); ++op) {
      InterruptionPoint(/*units=*/8);
      const std::string_view label = label_of(graph_.operators[op]);
      if (label.empty() || IsDropped(op)) continue;
      unions_.Unite(static_cast<int32_t>(op), first.try_emplace(label, static_cast<int32_t>(op)).first->second);
    }
  }

  void UniteWithForward() {
    for (std::size_t op = 0; op < graph_.operators.size(); ++op) {
      const auto& forward = graph_.operators[op].forward_operator;
      if (!forward.has_value() || IsDropped(op)) continue;
      unions_.Unite(static_cast<int32_t>(op), static_cast<int32_t>(forward->index()));
    }
  }

  // Unions have members that take part, or a single one that does not.
  std::vector<int32_t> Labels() {
    std::vector<int32_t> labels(graph_.operators.size(), kDropped);
    int32_t next = 0;
    for (std::size_t op = 0; op < labels.size(); ++op) {
      if (IsDropped(op)) continue;
      const auto first = static_cast<std::size_t>(unions_.Find(static_cast<int32_t>(op)));
      labels[op] = first == op ? next++ : labels[first];
    }
    return labels;
  }

 private:
  bool IsDropped(std::size_t op) const { return drops_backward_ && graph_.operators[op].pass == Pass::kBackward; }

  const OperatorGraph& graph_;
  const bool drops_backward_;
  UnionFind unions_;
};

std::string_view LayerOf(const Operator& op) { return op.layer; }

// Pairs of different unions that tensors of one pass join, producer first.
using UnionPairs = absl::flat_hash_set<std::pair<int32_t, int32_t>>;

UnionPairs PairsOf(const OperatorGraph& graph, const std::vector<int32_t>& union_of, Pass pass) {
  UnionPairs pairs;
  for (const Tensor& tensor : graph.tensors) {
    InterruptionPoint(8 + 8 * tensor.consumers.size());
    const int32_t from = union_of[tensor.producer.index()];
    if (from == kDropped || graph.operators[tensor.producer.index()].pass != pass) continue;
    for (const OperatorId consumer : tensor.consumers) {
      const int32_t to = union_of[consumer.index()];
      if (to != kDropped && to != from && graph.operators[consumer.index()].pass == pass) pairs.emplace(from, to);
    }
  }
  return pairs;
}

}  // namespace

std::vector<int32_t> ColocationUnions(const OperatorGraph& graph, const ResolvedProblem& problem) {
  Unions unions(graph, problem);
  unions.UniteWithForward();
  unions.UniteByLabel([](const Operator& op) -> std::string_view { return op.colocation_group; });
  if (problem.granularity == Granularity::kLayer) unions.UniteByLabel(LayerOf);
  return unions.Labels();
}

std::vector<int32_t> LayerUnions(const OperatorGraph& graph, const ResolvedProblem& problem) {
  Unions unions(graph, problem);
  if (problem.granularity == Granularity::kLayer) unions.UniteByLabel(LayerOf);
  return unions.Labels();
}

bool ListsGradientsForward(const OperatorGraph& graph, const std::vector<int32_t>& union_of) {
  const UnionPairs backward = PairsOf(graph, union_of, Pass::kBackward);
  if (backward.empty()) return false;
  const UnionPairs forward = PairsOf(graph, union_of, Pass::kForward);
  return std::all_of(backward.begin(), backward.end(), [&](const std::pair<int32_t, int32_t>& pair) {
    return forward.contains(pair) && !forward.contains({pair.second, pair.first});
  });
}

}  // namespace planwright
