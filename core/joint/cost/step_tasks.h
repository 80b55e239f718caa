// A step of a joint plan as tasks for the simulator: what each stage does for each micro-batch.
//
// The ranks of a stage do the same, so that a stage is one resource. A pass is a row of tasks on it: the tensor is
// received, layers are computed, the tensor is sent; both ends pay for a transfer, and the next stage begins when it
// has been sent. What ranks of a stage exchange within layers is in their passes; what they exchange once a step, with
// the update of the optimizer, is an all-reduce behind the last pass. Tasks name runs of layers as stages: run k lies
// in stage k mod stages.
#ifndef PLANWRIGHT_CORE_JOINT_COST_STEP_TASKS_H_
#define PLANWRIGHT_CORE_JOINT_COST_STEP_TASKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/stage_cost.h"
#include "core/model/joint.h"
#include "core/model/task_list.h"

namespace planwright {

// So many tasks at most has StepTasks.
int64_t MostStepTasks(const JointPlan& plan);

// `plan` is costed (CostJointPlan). `names`: of the resources, by stage. The last task ends at the simulated step.
// REQUIRES: MostStepTasks fits into 32 bits. O(tasks).
TaskList StepTasks(const LayerPricer& pricer, const DeviceRow& row, const JointPlan& plan,
                   const std::vector<std::string>& names);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_STEP_TASKS_H_
