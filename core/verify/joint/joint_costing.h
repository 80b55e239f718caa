// Judges and costs the choices of a joint plan from first principles, by code that shares nothing with the search or
// core/joint/cost/stage_cost (docs/joint-search.md, section 2).
//
// What the layers cost is given, as measured times are, and held against a second implementation (rank_costs.h);
// everything that follows from it is computed here: who holds which layers and devices, memory by part, passes,
// transfers, the end of the step, the closed form, the step task by task, and rates.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_JOINT_COSTING_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_JOINT_COSTING_H_

#include <optional>

#include "core/base/violations.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"

namespace planwright {

// The choices of `placement.joint` on the devices of its stages, with every number but bounds, comparisons and
// provenance; of steps of more than 4,000,000 tasks the simulated time is left as given. nullopt: too broken to cost.
// Adds what is wrong, with paths below "plan". `problem` is resolved, its joint settings too; graph and cluster are
// valid. O(operators + devices + stages x chunks x micro-batches).
std::optional<Plan> CostJointPlacement(const OperatorGraph& graph, const Cluster& cluster, const LayerPricer& pricer,
                                       const ResolvedProblem& problem, const Placement& placement,
                                       Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_JOINT_COSTING_H_
