// What the joint search found as a Plan: operators of the layers, devices of the slots, numbers for people.
#ifndef PLANWRIGHT_CORE_PLANNER_JOINT_PLAN_ASSEMBLY_H_
#define PLANWRIGHT_CORE_PLANNER_JOINT_PLAN_ASSEMBLY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/joint/cost/layer_pricer.h"
#include "core/joint/plan/joint_planning.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"

namespace planwright {

struct FoundJointPlan {
  const OperatorGraph& graph;
  const Cluster& cluster;
  // With resolved joint settings.
  const ResolvedProblem& problem;
  const SolverOptions& options;
  const LayerPricer& pricer;
  const JointAnswer& answer;
};

// Replicas of a stage are its devices in rank order, tensor fastest, then context, then data; `copy` counts the ranks.
// Everything but stop reason and times.
Plan AssembleJointPlan(const FoundJointPlan& found);

// Every device that may be used, with what its stage says: of `plan`, whose stages are complete.
void AddDeviceUsage(const Cluster& cluster, const ResolvedProblem& problem, Plan& plan);

// The part of `whole_ps` in which devices wait, and the most memory. `busy_ps`: by stage, what each of its devices
// works.
void AddDeviceEstimate(const std::vector<double>& busy_ps, double whole_ps, Plan& plan);

// "on 64 of 128 devices"; empty: on all.
std::string OnDevicesText(int64_t used, int64_t all);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_JOINT_PLAN_ASSEMBLY_H_
