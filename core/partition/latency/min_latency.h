// Least latency of one micro-batch: elementary proofs and bounds, simple plans at once, then annealing in rounds.
//
// A round is a fixed number of slices, which may run at the same time: from the starts in turn at the full temperature,
// and from the best assignment so far at a lower one. Every slice has a random stream of its own and all of a round
// begin with what the rounds before it found, so the plan does not depend on the number of threads. Slices grow from
// round to round: the search is anytime and still cools slowly where it has the work to.
#ifndef PLANWRIGHT_CORE_PARTITION_LATENCY_MIN_LATENCY_H_
#define PLANWRIGHT_CORE_PARTITION_LATENCY_MIN_LATENCY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/search/algorithm_row.h"
#include "core/partition/search/search.h"

namespace planwright {

// Work (see AnnealingSlice) of a request that sets no limit: a few seconds of one core.
inline constexpr int64_t kDefaultLatencyWork = 250'000'000;

// No plan has more subgraphs of one pass on an accelerator than this, whatever the problem allows: more slots make the
// search slower, and a device that changes its subgraph often pays for it in transfers.
inline constexpr int32_t kMaxSubgraphsSearched = 4;

// REQUIRES: MIN_LATENCY, host_staged.
absl::StatusOr<SearchOutcome> SolveMinLatency(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                              const SearchCallbacks& callbacks);

AlgorithmRow LatencyAnnealingRow();

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_LATENCY_MIN_LATENCY_H_
