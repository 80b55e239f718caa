// Judges and costs plans whose replicas take micro-batches in turn (docs/joint-search.md, section 9), from the graph
// alone, by code that shares nothing with core/joint.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_ROUND_ROBIN_COSTING_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_ROUND_ROBIN_COSTING_H_

#include <optional>

#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"

namespace planwright {

// The choices of `placement.joint` on the devices of its stages, with every number but bounds and provenance. nullopt:
// too broken to cost. Adds what is wrong, with paths below "plan". `problem` is resolved, its joint settings too; graph
// and cluster are valid, the interconnect is uniform with a bandwidth. O(stages x (operators + tensor ends) + devices).
std::optional<Plan> CostRoundRobinPlacement(const OperatorGraph& graph, const Cluster& cluster,
                                            const ResolvedProblem& problem, const Placement& placement,
                                            Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_ROUND_ROBIN_COSTING_H_
