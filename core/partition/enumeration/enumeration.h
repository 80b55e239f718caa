// Small problems by looking at everything: the best placement, proven, or a proof that there is none.
#ifndef PLANWRIGHT_CORE_PARTITION_ENUMERATION_ENUMERATION_H_
#define PLANWRIGHT_CORE_PARTITION_ENUMERATION_ENUMERATION_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/search/algorithm_row.h"
#include "core/partition/search/search.h"

namespace planwright {

// At most how many placements the problem has (forms.h); nullopt: more than kMaxPlacements, too many to be
// counted, more than a thousand operators that need not share a device, or as many devices, or 256 where links differ,
// or of a mode that is not enumerated (NON_CONTIGUOUS where links differ, where stages keep activations by position, or
// under PERIODIC where devices differ). Some milliseconds beside O(operators + tensors).
std::optional<int64_t> CountPlacements(const SearchRequest& request);

// Heeds every setting of the problem: pins, bans, devices_to_use with max_devices, numbers of stages and replicas, ring
// orders; and device_limits. Without interruption the outcome is optimal with a bound of scope PROBLEM and method
// "enumeration", or FAILED_PRECONDITION (InfeasibilityOf): both are proofs. Work is counted in partial placements, and
// under PERIODIC in nodes of the searches for patterns too, where it ends after some seconds unless options.work_limit
// says otherwise. A problem that CountPlacements does not count is not searched: the outcome is the best of the starts,
// or DEADLINE_EXCEEDED (IsNoPlanFound).
absl::StatusOr<SearchOutcome> SolveByEnumeration(const SearchRequest& request, const SolveLimits& limits,
                                                 TaskArena& arena, const SearchCallbacks& callbacks);

AlgorithmRow EnumerationRow();

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_ENUMERATION_ENUMERATION_H_
