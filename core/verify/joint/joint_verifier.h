// Holds what a plan of the joint search states against a fresh costing of its choices (joint_costing.h).
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_JOINT_VERIFIER_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_JOINT_VERIFIER_H_

#include "core/base/violations.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"

namespace planwright {

// Adds what is wrong with `plan`, with paths below "plan": broken rules, numbers that differ (times and bytes exactly,
// rates by 1e-9), bounds above what they bound, a proof that is none. `plan.problem.joint` is resolved; graph and
// cluster are valid. O(operators + devices + stages x chunks x micro-batches).
void VerifyJointPlan(const OperatorGraph& graph, const Cluster& cluster, const LayerPricer& pricer, const Plan& plan,
                     Violations& violations);

// Likewise for a plan whose replicas take micro-batches in turn (round_robin_costing.h).
void VerifyRoundRobinPlan(const OperatorGraph& graph, const Cluster& cluster, const Plan& plan, Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_JOINT_VERIFIER_H_
