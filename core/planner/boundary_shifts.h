// Better balanced stages on the same devices.
//
// Where no idle device takes the place of one that has failed, its operators go to the stages beside it, which are then
// the busiest by far. Here a run of operators passes from the end of the busiest stage to the stage behind it, or from
// its beginning to the one before, again and again, like heat: each step moves one stage more at most, so what there is
// on the way trades the stages that move for the time per micro-batch. Bisection finds the length of a run.
#ifndef PLANWRIGHT_CORE_PLANNER_BOUNDARY_SHIFTS_H_
#define PLANWRIGHT_CORE_PLANNER_BOUNDARY_SHIFTS_H_

#include <vector>

#include "core/model/problem.h"
#include "core/partition/search/search.h"

namespace planwright {

// Feasible placements on the devices of `placement`, each faster than it and than those before. At most a few hundred
// placements are costed. REQUIRES: `placement` is feasible; MAX_THROUGHPUT, CONTIGUOUS.
std::vector<Placement> ShiftBoundaries(const SearchRequest& request, const SearchCallbacks& callbacks,
                                       Placement placement);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_BOUNDARY_SHIFTS_H_
