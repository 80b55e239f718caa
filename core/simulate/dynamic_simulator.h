// Discrete-event simulation: resources run what is ready, links are shared.
//
// A resource with an order runs its tasks in that order, one at a time, and waits for the next one even while others
// are ready; tasks of it that the order leaves out take no time and run as soon as they can. A resource without one
// takes, of the tasks that are ready, the one that has been so for longest (of equals the first of the list). Links
// without an order either do the same or run everything at once at equal shares. What happens at one time
// is worked off in batches: all ends, then all starts that they allow, so that the outcome does not depend on the order
// of equal events.
#ifndef PLANWRIGHT_CORE_SIMULATE_DYNAMIC_SIMULATOR_H_
#define PLANWRIGHT_CORE_SIMULATE_DYNAMIC_SIMULATOR_H_

#include "core/model/task_list.h"
#include "core/simulate/timeline.h"

namespace planwright {

// REQUIRES: FindCycle(list) is empty; orders list every task of their resource that takes time; the durations add up to
// at most kMaxQuantity. O(tasks log(tasks that wait for one resource or share one link) + precedences + events log
// resources).
Timeline SimulateTasks(const TaskList& list, Contention contention);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SIMULATE_DYNAMIC_SIMULATOR_H_
