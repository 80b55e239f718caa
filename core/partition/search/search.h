// What every search for a placement is given, gives back, and tells while it runs.
#ifndef PLANWRIGHT_CORE_PARTITION_SEARCH_SEARCH_H_
#define PLANWRIGHT_CORE_PARTITION_SEARCH_SEARCH_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/cost/terms/cost_table.h"
#include "core/model/device_selection.h"
#include "core/model/plan.h"
#include "core/model/problem.h"

namespace planwright {

struct SearchStart {
  Placement placement;
  // Stable name of the method.
  std::string made_by;
};

// The problem is supported.
struct SearchRequest : PlanningInput {
  const SolverOptions& options;
  // What to run: options.algorithm, or one of those that AUTO stands for. kAuto only where a search is to choose
  // itself.
  Algorithm algorithm = Algorithm::kIdealDp;
  // Feasible placements; the outcome is never worse than any of them.
  std::vector<SearchStart> starts;
  // Whoever asks only wants to know whether a placement takes at most this, and stops the search when it is known. A
  // search may look there first.
  std::optional<Picoseconds> target = std::nullopt;
  // How many devices a placement may use, beside those that it must not use at all, which `cluster` does not hold. Each
  // limit speaks of whole device classes. Searches that do not heed them are given the devices to use.
  std::vector<DeviceLimit> device_limits = {};
};

struct SearchOutcome {
  Placement placement;
  Picoseconds objective{0};
  // Ascending; the last one of scope PROBLEM is the best.
  std::vector<Bound> bounds;
  StopReason stop_reason = StopReason::kExhausted;
  // Stable name of what was asked for: "ideal_dp", "linearized_dp", ...
  std::string algorithm;
  // What made the placement when the algorithm could not finish; else empty.
  std::string fallback;
  // Units that were spent, of searches that share their limit with others; else 0.
  int64_t work = 0;
  // MIN_DEVICES: fewer are proven to miss the target.
  std::optional<int64_t> devices_needed;
  // Counts of the search for people, e.g. "ideals", "moves".
  std::map<std::string, int64_t> counters;
};

// What the caller provides. Calls come one at a time; on which thread is up to the search.
struct SearchCallbacks {
  // The true objective of a feasible placement.
  std::function<Picoseconds(const Placement&)> objective;
  std::function<void(std::string_view phase)> on_phase;
  // A better placement was found, by `algorithm`. `so_far` is the outcome if the search were stopped now.
  std::function<void(const SearchOutcome& so_far, int64_t work, std::string_view algorithm)> on_incumbent;
  std::function<void(const Bound&)> on_bound;
  // What keeps a placement from being feasible, as a sentence without a full stop; empty: nothing does. For searches
  // that do not know every rule.
  std::function<std::string(const Placement&)> objection = [](const Placement&) { return std::string(); };

  // Returns these callbacks for a search whose progress nobody is to hear of.
  SearchCallbacks Silenced() const {
    SearchCallbacks silent = *this;
    silent.on_phase = [](std::string_view) {};
    silent.on_incumbent = [](const SearchOutcome&, int64_t, std::string_view) {};
    silent.on_bound = [](const Bound&) {};
    return silent;
  }
};

// A search. Errors: FAILED_PRECONDITION (InfeasibilityOf) with a proof; DEADLINE_EXCEEDED (IsNoPlanFound), CANCELLED or
// RESOURCE_EXHAUSTED when it had to stop before it found a placement.
using SolveFunction = absl::StatusOr<SearchOutcome> (*)(const SearchRequest& request, const SolveLimits& limits,
                                                        TaskArena& arena, const SearchCallbacks& callbacks);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEARCH_SEARCH_H_
