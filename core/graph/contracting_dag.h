// An acyclic graph whose edges are contracted one after the other and that stays acyclic.
//
// Contracting the edge u -> v keeps the graph acyclic exactly if no other path leads from u to v: then {u, v} is convex
// (Parmesan, definition 4.6). Every vertex has a rank, and edges go from lower to higher ranks, so such a path lies
// between the ranks of u and v. Often no search is needed: u has no other successor, or v no other predecessor.
// Otherwise what u leads to and what leads to v between the two ranks is searched, and these vertices change ranks.
//
// Source of the ranks: Pearce, Kelly: A dynamic topological sort algorithm for directed acyclic graphs, 2006; merging u
// and v is adding the edge v -> u.
#ifndef PLANWRIGHT_CORE_GRAPH_CONTRACTING_DAG_H_
#define PLANWRIGHT_CORE_GRAPH_CONTRACTING_DAG_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/index.h"
#include "core/graph/digraph.h"

namespace planwright {

// For one thread.
class ContractingDag {
 public:
  struct Arc {
    int32_t vertex = 0;
    // Sum over the parallel edges that have become this one.
    int64_t weight = 0;
  };

  // `weights`: of graph.edges(). REQUIRES: `graph` is acyclic. O(n + m).
  ContractingDag(const Digraph& graph, const std::vector<int64_t>& weights);

  // Ascending by vertex.
  const std::vector<Arc>& successors(int32_t vertex) const { return successors_[Index(vertex)]; }
  const std::vector<Arc>& predecessors(int32_t vertex) const { return predecessors_[Index(vertex)]; }
  // -1: there is no such edge. O(log degree).
  int64_t WeightOf(int32_t from, int32_t to) const;

  // Makes the ends of an edge one vertex, which keeps the number of one of them and is returned; the other one has no
  // edges afterwards. kNotConvex: another path leads from `from` to `to`, or none was found within 2 x max_visits
  // vertices; nothing has changed. REQUIRES: there is that edge. O(degrees + visits log).
  int32_t Contract(int32_t from, int32_t to, std::size_t max_visits);
  static constexpr int32_t kNotConvex = -1;

 private:
  using Arcs = std::vector<std::vector<Arc>>;

  // The ranks that the edge `from` -> `to` spans.
  struct Span {
    int32_t from = 0;
    int32_t to = 0;
  };
  // Fills `found` with what `start` leads to along `arcs` at ranks inside `span`, without the edge to `goal`. False: it
  // leads to `goal`, or to too many vertices.
  bool Explore(const Arcs& arcs, int32_t start, int32_t goal, const Span& span, std::size_t max_visits,
               std::vector<int32_t>& found);
  // A rank between all that must come before and all that must come after the merged vertex.
  bool FindRank(int32_t from, int32_t to, std::size_t max_visits, int32_t& rank);
  int32_t MoveApart(const Span& span, std::vector<int32_t> before, std::vector<int32_t> after);
  static void Redirect(Arcs& there, const std::vector<Arc>& neighbours, int32_t gone, int32_t kept);
  static std::vector<Arc> Union(const std::vector<Arc>& a, const std::vector<Arc>& b, int32_t without_a,
                                int32_t without_b);

  Arcs successors_;
  Arcs predecessors_;
  std::vector<int32_t> rank_;
  // Number of the search that saw a vertex last.
  std::vector<uint32_t> seen_;
  uint32_t search_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_GRAPH_CONTRACTING_DAG_H_
