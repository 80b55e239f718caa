// MIN_DEVICES: the fewest devices with which a plan meets the target period.
//
// What k devices can do, k + 1 can, because a plan may leave devices idle; so the count is found by bisection, and one
// refutation, of one device less, is the whole proof. Each step asks a throughput search to decide the target, no more:
// it is stopped at the first plan within the target, or at the first bound above it. All devices come first: they say
// whether the target can be met at all, and their plan may leave many idle. From below, the work of the graph says how
// many are needed at least; the count rises from there in steps that double until a plan is found, for the bound is
// usually close, and is then bisected. A step that cannot be decided within half of the time that is left counts as
// missed but not as refuted: then the plan is the best one found and is not proven.
//
// Counts are those of CountedDevices: several accelerator classes count alike. Source: bisection on a monotone
// predicate.
#ifndef PLANWRIGHT_CORE_PLANNER_DEVICES_FEWEST_DEVICES_H_
#define PLANWRIGHT_CORE_PLANNER_DEVICES_FEWEST_DEVICES_H_

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/search/search.h"

namespace planwright {

// `solve` is the search of MAX_THROUGHPUT, which heeds problem.devices_to_use and request.device_limits. The outcome's
// bounds are those on the time with all devices (PROBLEM) and, where the number is proven, one of scope kFewerDevices
// above the target. Its counters say "device_counts_tried", "devices_used", as counted, and "devices_needed", the least
// number that is not refuted. REQUIRES: request.problem is MIN_DEVICES with a target period. Errors:
// FAILED_PRECONDITION (InfeasibilityOf) with a proof that no plan on all devices meets the target; DEADLINE_EXCEEDED
// (IsNoPlanFound) without one; RESOURCE_EXHAUSTED; CANCELLED.
absl::StatusOr<SearchOutcome> SolveFewestDevices(SolveFunction solve, const SearchRequest& request,
                                                 const SolveLimits& limits, TaskArena& arena,
                                                 const SearchCallbacks& callbacks);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_DEVICES_FEWEST_DEVICES_H_
