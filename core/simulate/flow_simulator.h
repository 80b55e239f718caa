// Simulation of tasks that use several links at the same time.
//
// Resources with an order run their tasks in that order, one at a time; all other tasks begin as soon as what they wait
// for has ended. A task with link uses is a flow: it proceeds at a share r <= 1 of the speed that it has alone, and
// takes r times its shares of its links meanwhile. Rates are max-min fair (progressive filling; Bertsekas and Gallager,
// Data Networks, 1992, section 6.5.2): those of all flows grow together until a link is full, whose flows then keep
// theirs, and so on. Whenever a flow begins or ends, the rates of those are found again that are joined to it by links
// which can be full at all.
//
// Times are whole picoseconds: what a flow has done is rounded down whenever its rate changes, and its end up, so that
// no task is shorter than it is alone, and one that is never slowed exactly as long. Orders being fixed, no task ever
// ends earlier than it would without contention. The same list gives the same timeline, always.
#ifndef PLANWRIGHT_CORE_SIMULATE_FLOW_SIMULATOR_H_
#define PLANWRIGHT_CORE_SIMULATE_FLOW_SIMULATOR_H_

#include "core/model/task_list.h"
#include "core/simulate/timeline.h"

namespace planwright {

// REQUIRES: FindCycle(list) is empty; durations add up to at most kMaxQuantity. Heeds interruption (interruption.h).
// With F flows and K overfull links that a begin or an end is joined to, and U uses of these links by these flows,
// which use at most W links each, O(precedences + tasks (log tasks + min(K, F) U (log F + W))): each round of filling
// looks at all of them, and fills a link at least. Without overfull links O(precedences + tasks (log tasks + uses of
// the links of a flow)).
Timeline SimulateFlows(const TaskList& list);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SIMULATE_FLOW_SIMULATOR_H_
