// Checks a plan of the joint search against its problem from first principles.
//
// What the layers cost is given, like measured times are; everything that follows from it is computed anew, by code
// that shares nothing with the search or core/joint/cost/stage_cost: who holds which layers and which devices, degrees,
// memory by part, passes, transfers, the end of the step, the closed form, the step task by task, rates and bounds.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_JOINT_VERIFIER_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_JOINT_VERIFIER_H_

#include "core/base/violations.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"

namespace planwright {

// Adds what is wrong with `plan`, with paths below "plan". `plan.problem.joint` is resolved; graph and cluster are
// valid. O(operators + devices + stages x chunks x micro-batches).
void VerifyJointPlan(const OperatorGraph& graph, const Cluster& cluster, const LayerPricer& pricer, const Plan& plan,
                     Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_JOINT_VERIFIER_H_
