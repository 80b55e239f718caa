// A search on some devices of the cluster, as if there were no others.
#ifndef PLANWRIGHT_CORE_PLANNER_DEVICES_DEVICE_SUBSET_SEARCH_H_
#define PLANWRIGHT_CORE_PLANNER_DEVICES_DEVICE_SUBSET_SEARCH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/search/search.h"

namespace planwright {

// Runs `solve` on the part of request.cluster that `devices` make, for the objective MAX_THROUGHPUT in place of
// MIN_DEVICES. Placements are named back before anybody sees them: callbacks and outcome speak of the whole cluster.
// Starts that use other devices are left out. Bounds hold for plans on `devices`, and on any other selected devices
// that differ from them only in their places in a hierarchy. REQUIRES: `devices` ascending, not empty.
// Errors: those of `solve`.
absl::StatusOr<SearchOutcome> SolveOnSubset(SolveFunction solve, const SearchRequest& request,
                                            const std::vector<DeviceId>& devices, const SolveLimits& limits,
                                            TaskArena& arena, const SearchCallbacks& callbacks);

// What SolveUntilDecided was asked for.
enum class Decision { kReached, kRefuted, kOpen };

struct DecidedSearch {
  Decision decision = Decision::kOpen;
  // kReached: the first placement found within the target. kOpen: what the search ended with.
  absl::StatusOr<SearchOutcome> outcome = absl::UnknownError("no search yet");
  // No plan takes less; 0: nothing is proven. Proven impossible at any speed: kMaxQuantity.
  Picoseconds lower_bound{0};
  std::string bound_method;
  // The least objective that was found; nullopt: no plan was.
  std::optional<Picoseconds> best_found;
};

// Runs `solve`, but only until it is known whether a plan takes at most `target`. The answer does not depend on when
// the search notices that it may stop. `callbacks` are not told of incumbents.
DecidedSearch SolveUntilDecided(SolveFunction solve, const SearchRequest& request, Picoseconds target,
                                const SolveLimits& limits, TaskArena& arena, const SearchCallbacks& callbacks);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_DEVICES_DEVICE_SUBSET_SEARCH_H_
