// A step of stages whose replicas take micro-batches in turn, as tasks for the simulator.
//
// Each data rank is a resource (its tensor ranks do the same). Replica r of d runs the micro-batches r, r + d, ...: as
// many forward passes as the stage may have micro-batches in flight, then backward and forward passes in turn, as
// PipeDream does. A pass receives its tensors, computes, and sends; both ends pay. Behind the last pass of all replicas
// of a stage each exchanges the gradients of the step. No order waits for itself: where a stage of d ranks holds y
// micro-batches each, (y - 1) d is less than the data ranks from it on, and y d of the stage before is at least all of
// its own and these.
#ifndef PLANWRIGHT_CORE_JOINT_ROUNDROBIN_TURN_TASKS_H_
#define PLANWRIGHT_CORE_JOINT_ROUNDROBIN_TURN_TASKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/joint.h"
#include "core/model/task_list.h"

namespace planwright {

// So many tasks at most has TurnTasks.
int64_t MostTurnTasks(const JointPlan& plan);

// `plan` is costed (CostRoundRobinPlacement). `names`: of the resources, by stage and data rank. REQUIRES:
// MostTurnTasks fits into 32 bits. O(tasks + squares of data degrees).
TaskList TurnTasks(const JointPlan& plan, const std::vector<std::vector<std::string>>& names);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_ROUNDROBIN_TURN_TASKS_H_
