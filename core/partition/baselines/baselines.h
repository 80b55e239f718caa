// The simpler ways to run a graph that a plan is compared with (device-placement, sections 6 and 7).
//
// A baseline follows its own rule and knows the constraints of the problem only in part. What it makes is a plan where
// the problem allows it (SearchCallbacks::objection); otherwise the answer is NO_PLAN_FOUND with the reason.
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_BASELINES_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_BASELINES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/search/algorithm_row.h"
#include "core/partition/search/search.h"

namespace planwright {

// The plan of the baseline request.algorithm, for throughput without replication with the bounds that a few ten
// milliseconds prove (certify/certificates.h). REQUIRES: one of those of BaselineRows.
absl::StatusOr<SearchOutcome> SolveByBaseline(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                              const SearchCallbacks& callbacks);

// As SolveByBaseline, without bounds and telling nobody. Of `callbacks` only objective and objection are used.
absl::StatusOr<SearchOutcome> MakeBaseline(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                           const SearchCallbacks& callbacks);

// A row for each of them.
std::vector<AlgorithmRow> BaselineRows();

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_BASELINES_H_
