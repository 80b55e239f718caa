// Searches drawn at random for planwright_limits_benchmark: a large input, a cluster, and what is asked of them.
#ifndef PLANWRIGHT_TESTS_BENCHMARKS_LIMIT_SEARCHES_H_
#define PLANWRIGHT_TESTS_BENCHMARKS_LIMIT_SEARCHES_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.h"
#include "core/planner/planner.h"

namespace planwright::benchmarks {

// What a search is asked to do, beside the algorithm.
struct LimitMode {
  std::string_view name;
  PlanningProblem problem;
  bool explain = false;
};

// What was drawn; the graph and the cluster are those of the LimitSearches that drew it.
struct LimitSearch {
  // By which results are grouped: the algorithm, or the mode of the joint search.
  std::string group;
  std::string name;
  const OperatorGraph& graph;
  const Cluster& cluster;
  PlanningProblem problem;
  SolverOptions options;

  PlanRequest request() const { return {graph, cluster, problem, options}; }
};

class LimitSearches {
 public:
  // One algorithm of the table on one of its modes.
  LimitSearch Draw(RandomStream& random);
  // A joint search: of a transformer by its shape, or of any graph by its operators.
  LimitSearch DrawJoint(RandomStream& random);

 private:
  const OperatorGraph& GraphOf(std::string_view name, bool has_shape);
  const Cluster& ClusterOf(std::string_view name);

  // By name; those with the shape of their transformer apart.
  std::map<std::string_view, OperatorGraph> graphs_;
  std::map<std::string_view, OperatorGraph> shaped_graphs_;
  std::map<std::string_view, Cluster> clusters_;
};

}  // namespace planwright::benchmarks

#endif  // PLANWRIGHT_TESTS_BENCHMARKS_LIMIT_SEARCHES_H_
