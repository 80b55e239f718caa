// The row of devices in which a given plan lies.
#ifndef PLANWRIGHT_CORE_PLANNER_JOINT_PLAN_ROW_H_
#define PLANWRIGHT_CORE_PLANNER_JOINT_PLAN_ROW_H_

#include <optional>

#include "core/joint/cost/training_cluster.h"
#include "core/model/plan.h"

namespace planwright {

struct PlanRow {
  TrainingCluster training;
  // With the first slot of each stage.
  JointPlan plan;
};

// `training` with its nodes, and the devices inside them, in the order in which the stages of `plan` come to them.
// nullopt: the ranks of a stage are then not where those of a block are (DeviceRow::DevicesOf), or not of the cluster.
// REQUIRES: plan.joint. O(devices log).
std::optional<PlanRow> RowOfPlan(const TrainingCluster& training, const Plan& plan);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_JOINT_PLAN_ROW_H_
