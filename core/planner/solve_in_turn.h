// Several searches for one plan, plainly one after the other: what AUTO stands for.
//
// Each search starts from the best placement so far and gets an equal share of the time that is left; the best
// placement and the best bound of scope PROBLEM of all are the answer, and the first bound that meets a placement, or
// comes as close as was asked for, ends them all. Enumeration takes its turn only where it is known to end soon.
// Parmesan's search, which ends long before its limits, runs again in rounds with other seeds, other orders of the
// operators and other numbers of clusters. Annealing of stages goes on with other seeds, for a second or two, where
// there is a plan more than 1 % above its bound; not for targets, nor where work is limited. Each search does as much
// work as options.work_limit says, else an amount that grows with the size of the problem: some tenths of a second for
// 50 operators, some seconds at most.
#ifndef PLANWRIGHT_CORE_PLANNER_SOLVE_IN_TURN_H_
#define PLANWRIGHT_CORE_PLANNER_SOLVE_IN_TURN_H_

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/search/search.h"

namespace planwright {

// A SolveFunction: runs AlgorithmsInTurn on the devices that the problem and request.device_limits allow, whatever
// request.algorithm is. options.work_limit holds for each of the algorithms. The outcome's algorithm and fallback are
// those of the search that first came to its placement, its counters those of all with the work in sum. MIN_DEVICES is
// taken for MAX_THROUGHPUT. Errors: FAILED_PRECONDITION (InfeasibilityOf) as soon as one search proves it; else, with
// the words of the search that says the most, DEADLINE_EXCEEDED (IsNoPlanFound) that says which limit was spent,
// CANCELLED, RESOURCE_EXHAUSTED.
absl::StatusOr<SearchOutcome> SolveInTurn(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                          const SearchCallbacks& callbacks);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_SOLVE_IN_TURN_H_
