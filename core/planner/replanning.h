// Planning again after devices have disappeared or joined, with few stages moved.
//
// A stage has moved if a device of it did not hold all of its operators before: their weights must be brought there.
#ifndef PLANWRIGHT_CORE_PLANNER_REPLANNING_H_
#define PLANWRIGHT_CORE_PLANNER_REPLANNING_H_

#include <cstdint>
#include <vector>

#include "core/model/problem.h"
#include "core/partition/search/search.h"

namespace planwright {

// Stages of `after` that have moved since `before`. O(operators + devices of stages x stages of a device).
int32_t CountMovedStages(const Placement& before, const Placement& after);

struct Repairs {
  std::vector<SearchStart> starts;
  // There was no time for all of them: others might have been found.
  bool is_cut = false;
};

// Feasible placements that keep what is left of problem.start_from where it is: every stage on the devices of its own
// that are still there, with others that are idle for those that are missing, or, where it has none left, as a part of
// the stage before or behind it; with replication UNIFORM for several numbers of replicas. Idle devices are chosen by
// the objective. Contiguous ones also with operators passed on to neighbouring stages. At most a few thousand
// objectives are asked for; where an InterruptionScope ends it, those that were found by then. REQUIRES: the problem
// has a placement to start from; MAX_THROUGHPUT, not PERIODIC.
Repairs RepairedPlacements(const SearchRequest& request, const SearchCallbacks& callbacks);

// `best` is the outcome of a search that knew `repaired`. What is planned: of these placements and that of the search,
// among those whose objective is at most (1 + replan_tolerance) times the best one's, the one that moves the fewest
// stages, and of those the fastest. Bounds that speak of another placement are left out.
SearchOutcome ChooseFewMoves(const ResolvedProblem& problem, const std::vector<SearchStart>& repaired,
                             const SearchCallbacks& callbacks, SearchOutcome best);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_REPLANNING_H_
