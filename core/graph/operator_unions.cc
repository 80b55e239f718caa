#include "core/graph/operator_unions.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/index.h"
#include "core/graph/components.h"

namespace planwright {

int32_t CountLabels(const std::vector<int32_t>& labels) {
  return labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()) + 1;
}

Digraph Dependencies(const OperatorGraph& graph) {
  std::vector<Digraph::Edge> edges;
  for (const Tensor& tensor : graph.tensors) {
    for (const OperatorId consumer : tensor.consumers) {
      edges.emplace_back(static_cast<int32_t>(tensor.producer.index()), static_cast<int32_t>(consumer.index()));
    }
  }
  return {static_cast<int32_t>(graph.operators.size()), std::move(edges)};
}

std::vector<Digraph::Edge> OrderedOperators(const OperatorGraph& graph, const std::vector<int32_t>& union_of,
                                            MirroredTensors mirrored) {
  std::vector<bool> has_forward(Index(CountLabels(union_of)), false);
  for (std::size_t i = 0; i < union_of.size(); ++i) {
    if (union_of[i] != kDropped && graph.operators[i].pass == Pass::kForward) has_forward[Index(union_of[i])] = true;
  }
  const bool against = mirrored == MirroredTensors::kOfOrphans || !ListsGradientsForward(graph, union_of);
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
      } else if (mirrored == MirroredTensors::kAll || is_orphan(from) || is_orphan(to)) {
        edges.emplace_back(against ? to : from, against ? from : to);
      }
    }
  }
  return edges;
}

std::vector<int32_t> StageAtoms(const OperatorGraph& graph, const ResolvedProblem& problem) {
  std::vector<int32_t> atom_of = LayerUnions(graph, problem);
  const std::vector<Digraph::Edge> ordered = OrderedOperators(graph, ColocationUnions(graph, problem));
  const Digraph order(CountLabels(atom_of), MapEdges(ordered, atom_of));
  const std::vector<int32_t> component_of = StronglyConnectedComponents(order);
  for (int32_t& atom : atom_of) {
    if (atom != kDropped) atom = component_of[Index(atom)];
  }
  return atom_of;
}

std::vector<int32_t> GroupOfEach(const std::vector<std::vector<OperatorId>>& groups, std::size_t num_operators) {
  std::vector<int32_t> group_of(num_operators, kDropped);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const OperatorId op : groups[group]) group_of[op.index()] = static_cast<int32_t>(group);
  }
  return group_of;
}

std::vector<int32_t> OtherReaders(const Tensor& tensor, const std::vector<int32_t>& label_of) {
  std::set<int32_t> readers;
  for (const OperatorId consumer : tensor.consumers) readers.insert(label_of[consumer.index()]);
  readers.erase(label_of[tensor.producer.index()]);
  readers.erase(kDropped);
  return {readers.begin(), readers.end()};
}

std::vector<Digraph::Edge> MapEdges(std::span<const Digraph::Edge> edges, const std::vector<int32_t>& labels) {
  std::vector<Digraph::Edge> mapped;
  mapped.reserve(edges.size());
  for (const auto& [from, to] : edges) mapped.emplace_back(labels[Index(from)], labels[Index(to)]);
  return mapped;
}

}  // namespace planwright
