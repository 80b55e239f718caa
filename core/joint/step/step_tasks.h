// A step of a joint plan as tasks for the simulator: what each stage does for each micro-batch.
//
// The ranks of a stage do the same, so that a stage is one resource. A pass is a row of tasks on it: the tensor is
// received, layers are computed, the tensor is sent; both ends pay for a transfer, and the next stage begins when it
// has been sent. Tasks name runs of layers as stages: run k lies in stage k mod stages.
//
// What ranks of a stage exchange is part of the passes (StepTasks), and what they exchange once a step, with the update
// of the optimizer, an all-reduce behind the last pass; or they are tasks of their own (StepTasksOnLinks). An exchange
// that is shown then occupies the stage behind the computation of its layers, one that is hidden only links, beside
// that computation, and the stage goes on when both have ended. What is hidden at the end of the step runs beside the
// last pass.
#ifndef PLANWRIGHT_CORE_JOINT_STEP_STEP_TASKS_H_
#define PLANWRIGHT_CORE_JOINT_STEP_STEP_TASKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/step/link_uses.h"
#include "core/model/joint.h"
#include "core/model/task_list.h"

namespace planwright {

// So many tasks at most has StepTasks.
int64_t MostStepTasks(const JointPlan& plan);

// `plan` is costed (CostJointPlan). `names`: of the resources, by stage. The last task ends at the simulated step.
// REQUIRES: MostStepTasks fits into 32 bits. O(tasks).
TaskList StepTasks(const LayerPricer& pricer, const DeviceRow& row, const JointPlan& plan,
                   const std::vector<std::string>& names);

struct StepOnLinks {
  // Links are behind the stages among the resources.
  TaskList list;
  // So many layers of a run are a task of computation; at most those of the longest run.
  int64_t layers_per_task = 1;
};

struct TaskLimits {
  // Layers are taken together so that there are no more; whole passes may still be more.
  int64_t wanted = 250'000;
  // nullopt where there would be more; fits into 32 bits.
  int64_t most = 1'000'000;
};

// The same with exchanges as tasks; without contention the last one ends at the simulated step as well. Heeds
// interruption (interruption.h). O(tasks + layers x layers of the longest run).
std::optional<StepOnLinks> StepTasksOnLinks(const LayerPricer& pricer, const DeviceRow& row, const JointPlan& plan,
                                            const std::vector<std::string>& names, const StageLinkUses& uses,
                                            const TaskLimits& limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_STEP_STEP_TASKS_H_
