// A request with operators, tensors and devices numbered by what they are, not by where the input lists them.
//
// Searches break ties by number, and take linear orders from numbers; so that the order of the input decides nothing,
// they see this numbering. Operators come in a depth-first topological order, inputs right before what first reads
// them. Where it has a choice, the structure decides: colours of everything that is known of an operator, of all that
// is before and behind it, and of its neighbours (colour refinement), then the places of its neighbours; names decide
// only between operators that this does not tell apart. Devices are renumbered where the interconnect gives their
// numbers no meaning: by class, memory and links, each next to the nearest, then by name.
//
// Source: Weisfeiler and Leman, The reduction of a graph to canonical form (1968); Kahn's algorithm with a stack.
#ifndef PLANWRIGHT_CORE_PLANNER_CANONICAL_REQUEST_H_
#define PLANWRIGHT_CORE_PLANNER_CANONICAL_REQUEST_H_

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// Numbers of a request and of its canonical form, by each other.
template <typename Id>
struct Renumbering {
  // By number in the canonical form.
  std::vector<Id> given;
  // By number as given.
  std::vector<Id> canonical;
};

class CanonicalRequest {
 public:
  // Graph and cluster are valid. Every `variant` but 0 makes another such numbering of the
  // operators, as free of the order of the input, for searches that want to try several.
  // O((operators + tensor ends) log (operators + tensor ends)), and O(devices^3), of at most 256, where pairs have
  // links of their own.
  CanonicalRequest(const OperatorGraph& graph, const Cluster& cluster, const ResolvedProblem& problem,
                   int64_t variant = 0);

  const OperatorGraph& graph() const { return graph_; }
  const Cluster& cluster() const { return cluster_; }
  const ResolvedProblem& problem() const { return problem_; }

  // Rings that a placement leaves to the order of its devices are spelled out, because that order changes.
  Placement ToGiven(Placement placement) const;
  Placement ToCanonical(Placement placement) const;
  // Ascending.
  std::vector<DeviceId> ToCanonical(std::vector<DeviceId> devices) const;

 private:
  Placement Renumbered(Placement placement, const std::vector<OperatorId>& operators,
                       const std::vector<DeviceId>& devices) const;

  Renumbering<DeviceId> devices_;
  Renumbering<OperatorId> operators_;
  OperatorGraph graph_;
  Cluster cluster_;
  ResolvedProblem problem_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_CANONICAL_REQUEST_H_
