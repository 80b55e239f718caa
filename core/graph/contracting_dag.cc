#include "core/graph/contracting_dag.h"

#include <algorithm>

#include "core/graph/digraph.h"

namespace planwright {
namespace {

using Arc = ContractingDag::Arc;

std::vector<Arc>::const_iterator Find(const std::vector<Arc>& arcs, int32_t vertex) {
  return std::lower_bound(arcs.begin(), arcs.end(), vertex,
                          [](const Arc& arc, int32_t wanted) { return arc.vertex < wanted; });
}

}  // namespace

ContractingDag::ContractingDag(const Digraph& graph, const std::vector<int64_t>& weights)
    : successors_(Index(graph.num_vertices())),
      predecessors_(Index(graph.num_vertices())),
      rank_(Index(graph.num_vertices())),
      seen_(Index(graph.num_vertices()), 0) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto [from, to] = graph.edges()[i];
    successors_[Index(from)].push_back({to, weights[i]});
    predecessors_[Index(to)].push_back({from, weights[i]});
  }
  const std::vector<int32_t> order = AnyTopologicalOrder(graph);
  for (std::size_t i = 0; i < order.size(); ++i) rank_[Index(order[i])] = static_cast<int32_t>(i);
}

int64_t ContractingDag::WeightOf(int32_t from, int32_t to) const {
  const auto found = Find(successors(from), to);
  return found == successors(from).end() || found->vertex != to ? -1 : found->weight;
}

int32_t ContractingDag::Contract(int32_t from, int32_t to, std::size_t max_visits) {
  int32_t rank = 0;
  if (!FindRank(from, to, max_visits, rank)) return kNotConvex;
  const auto degree = [&](int32_t vertex) { return successors(vertex).size() + predecessors(vertex).size(); };
  const bool keeps_from = degree(from) >= degree(to);
  const int32_t kept = keeps_from ? from : to;
  const int32_t gone = keeps_from ? to : from;
  Redirect(predecessors_, successors(gone), gone, kept);
  Redirect(successors_, predecessors(gone), gone, kept);
  successors_[Index(kept)] = Union(successors(kept), successors(gone), gone, kept);
  predecessors_[Index(kept)] = Union(predecessors(kept), predecessors(gone), gone, kept);
  successors_[Index(gone)].clear();
  predecessors_[Index(gone)].clear();
  rank_[Index(kept)] = rank;
  return kept;
}

bool ContractingDag::FindRank(int32_t from, int32_t to, std::size_t max_visits, int32_t& rank) {
  const Span span{rank_[Index(from)], rank_[Index(to)]};
  const bool leads_on = successors(from).size() > 1;
  rank = leads_on ? span.from : span.to;
  if (!leads_on || predecessors(to).size() == 1) return true;
  std::vector<int32_t> after;
  if (!Explore(successors_, from, to, span, max_visits, after)) return false;
  rank = span.to;
  if (after.empty()) return true;
  std::vector<int32_t> before;
  if (!Explore(predecessors_, to, from, span, max_visits, before)) return false;
  rank = before.empty() ? span.from : MoveApart(span, std::move(before), std::move(after));
  return true;
}

bool ContractingDag::Explore(const Arcs& arcs, int32_t start, int32_t goal, const Span& span, std::size_t max_visits,
                             std::vector<int32_t>& found) {
  ++search_;
  const auto visit = [&](int32_t vertex) {
    const int32_t rank = rank_[Index(vertex)];
    if (rank <= span.from || rank >= span.to || seen_[Index(vertex)] == search_) return;
    seen_[Index(vertex)] = search_;
    found.push_back(vertex);
  };
  for (const Arc& arc : arcs[Index(start)]) visit(arc.vertex);
  for (std::size_t next = 0; next < found.size(); ++next) {
    if (found.size() > max_visits) return false;
    for (const Arc& arc : arcs[Index(found[next])]) {
      if (arc.vertex == goal) return false;
      visit(arc.vertex);
    }
  }
  return true;
}

int32_t ContractingDag::MoveApart(const Span& span, std::vector<int32_t> before, std::vector<int32_t> after) {
  const auto by_rank = [this](int32_t a, int32_t b) { return rank_[Index(a)] < rank_[Index(b)]; };
  std::sort(before.begin(), before.end(), by_rank);
  std::sort(after.begin(), after.end(), by_rank);
  std::vector<int32_t> ranks = {span.from, span.to};
  for (const int32_t vertex : before) ranks.push_back(rank_[Index(vertex)]);
  for (const int32_t vertex : after) ranks.push_back(rank_[Index(vertex)]);
  std::sort(ranks.begin(), ranks.end());
  for (std::size_t i = 0; i < before.size(); ++i) rank_[Index(before[i])] = ranks[i];
  // One rank more than vertices: the last ones go to those that come after.
  for (std::size_t i = 0; i < after.size(); ++i) rank_[Index(after[i])] = ranks[before.size() + 2 + i];
  return ranks[before.size()];
}

void ContractingDag::Redirect(Arcs& there, const std::vector<Arc>& neighbours, int32_t gone, int32_t kept) {
  for (const Arc& neighbour : neighbours) {
    if (neighbour.vertex == kept) continue;
    std::vector<Arc>& arcs = there[Index(neighbour.vertex)];
    arcs.erase(Find(arcs, gone));
    const auto place = Find(arcs, kept);
    if (place != arcs.end() && place->vertex == kept) {
      arcs[static_cast<std::size_t>(place - arcs.begin())].weight += neighbour.weight;
    } else {
      arcs.insert(place, {kept, neighbour.weight});
    }
  }
}

std::vector<Arc> ContractingDag::Union(const std::vector<Arc>& a, const std::vector<Arc>& b, int32_t without_a,
                                       int32_t without_b) {
  std::vector<Arc> arcs;
  arcs.reserve(a.size() + b.size());
  auto next = b.begin();
  const auto add = [&](const Arc& arc) {
    if (!arcs.empty() && arcs.back().vertex == arc.vertex) {
      arcs.back().weight += arc.weight;
    } else if (arc.vertex != without_a && arc.vertex != without_b) {
      arcs.push_back(arc);
    }
  };
  for (const Arc& arc : a) {
    for (; next != b.end() && next->vertex <= arc.vertex; ++next) add(*next);
    add(arc);
  }
  for (; next != b.end(); ++next) add(*next);
  return arcs;
}

}  // namespace planwright
