#include "core/partition/operator_unions.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/graph/strongly_connected.h"
#include "core/graph/union_find.h"

namespace planwright {
namespace {

std::size_t Index(int32_t value) { return static_cast<std::size_t>(value); }

// Whether each operator takes part.
std::vector<bool> ActiveOperators(const OperatorGraph& graph, Workload workload) {
  std::vector<bool> active(graph.operators.size(), true);
  if (workload == Workload::kInference) {
    for (std::size_t i = 0; i < active.size(); ++i) active[i] = graph.operators[i].pass == Pass::kForward;
  }
  return active;
}

// Labels of the unions of the active operators, by smallest one.
std::vector<int32_t> ActiveLabels(const std::vector<bool>& active, UnionFind& unions) {
  std::vector<int32_t> labels(active.size(), kDropped);
  std::vector<int32_t> label_of_root(active.size(), kDropped);
  int32_t next = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!active[i]) continue;
    int32_t& label = label_of_root[Index(unions.Find(static_cast<int32_t>(i)))];
    if (label == kDropped) label = next++;
    labels[i] = label;
  }
  return labels;
}

// Unites the elements that are given the same non-empty name.
class NameUniter {
 public:
  explicit NameUniter(UnionFind& unions) : unions_(unions) {}

  void Add(int32_t element, std::string_view name) {
    if (!name.empty()) unions_.Unite(element, first_.try_emplace(name, element).first->second);
  }

 private:
  UnionFind& unions_;
  std::unordered_map<std::string_view, int32_t> first_;
};

}  // namespace

std::vector<int32_t> ColocationUnions(const OperatorGraph& graph, const PlanningProblem& problem) {
  const std::vector<bool> active = ActiveOperators(graph, *problem.workload);
  UnionFind unions(static_cast<int32_t>(graph.operators.size()));
  NameUniter groups(unions);
  NameUniter layers(unions);
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    if (!active[i]) continue;
    const auto op = static_cast<int32_t>(i);
    const Operator& data = graph.operators[i];
    if (data.forward_operator.has_value()) unions.Unite(op, static_cast<int32_t>(data.forward_operator->index()));
    groups.Add(op, data.colocation_group);
    if (problem.granularity == Granularity::kLayer) layers.Add(op, data.layer);
  }
  return ActiveLabels(active, unions);
}

int32_t CountLabels(const std::vector<int32_t>& labels) {
  return labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()) + 1;
}

std::vector<Digraph::Edge> OrderedOperators(const OperatorGraph& graph, const std::vector<int32_t>& union_of) {
  std::vector<bool> has_forward(Index(CountLabels(union_of)), false);
  for (std::size_t i = 0; i < union_of.size(); ++i) {
    if (union_of[i] != kDropped && graph.operators[i].pass == Pass::kForward) has_forward[Index(union_of[i])] = true;
  }
  const auto is_orphan = [&](int32_t op) { return !has_forward[Index(union_of[Index(op)])]; };
  std::vector<Digraph::Edge> edges;
  for (const Tensor& tensor : graph.tensors) {
    const auto from = static_cast<int32_t>(tensor.producer.index());
    if (union_of[Index(from)] == kDropped) continue;
    const Pass pass = graph.operators[Index(from)].pass;
    for (const OperatorId consumer : tensor.consumers) {
      const auto to = static_cast<int32_t>(consumer.index());
      if (union_of[Index(to)] == kDropped || graph.operators[Index(to)].pass != pass) continue;
      if (pass == Pass::kForward) {
        edges.emplace_back(from, to);
      } else if (is_orphan(from) || is_orphan(to)) {
        edges.emplace_back(to, from);
      }
    }
  }
  return edges;
}

std::vector<int32_t> StageAtoms(const OperatorGraph& graph, const PlanningProblem& problem) {
  const std::vector<bool> active = ActiveOperators(graph, *problem.workload);
  UnionFind layer_unions(static_cast<int32_t>(graph.operators.size()));
  NameUniter layers(layer_unions);
  if (problem.granularity == Granularity::kLayer) {
    for (std::size_t i = 0; i < active.size(); ++i) {
      if (active[i]) layers.Add(static_cast<int32_t>(i), graph.operators[i].layer);
    }
  }
  std::vector<int32_t> atom_of = ActiveLabels(active, layer_unions);
  const std::vector<Digraph::Edge> ordered = OrderedOperators(graph, ColocationUnions(graph, problem));
  const Digraph order(CountLabels(atom_of), MapEdges(ordered, atom_of));
  const std::vector<int32_t> component_of = StronglyConnectedComponents(order);
  for (int32_t& atom : atom_of) {
    if (atom != kDropped) atom = component_of[Index(atom)];
  }
  return atom_of;
}

std::vector<Digraph::Edge> MapEdges(const std::vector<Digraph::Edge>& edges, const std::vector<int32_t>& labels) {
  std::vector<Digraph::Edge> mapped;
  mapped.reserve(edges.size());
  for (const auto& [from, to] : edges) mapped.emplace_back(labels[Index(from)], labels[Index(to)]);
  return mapped;
}

}  // namespace planwright
