// The integer programs as a search: MAX_THROUGHPUT, contiguous and not, and MIN_LATENCY.
//
// The heuristic of the mode makes a plan first, which becomes the upper bound on the objective variable: that is what
// the solver's presolve and cuts live on. Then the solver looks for something better, and its bound becomes the plan's.
// An independent check of the other algorithms, and a tool for proofs on small graphs; on large ones the others find
// better plans sooner.
#ifndef PLANWRIGHT_CORE_PARTITION_MIP_MIP_SEARCH_H_
#define PLANWRIGHT_CORE_PARTITION_MIP_MIP_SEARCH_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/cost/terms/cost_table.h"
#include "core/partition/mip/integer_program.h"
#include "core/partition/search/algorithm_row.h"
#include "core/partition/search/search.h"

namespace planwright {

// Nodes of the search tree of a request that sets no limit.
inline constexpr int64_t kDefaultMipNodes = 1'000;

// Work: nodes. One thread, whatever the arena. REQUIRES: HasMipSolver(); MAX_THROUGHPUT on host_staged or uniform
// without replication, in the limit of many micro-batches, not GPIPE, or MIN_LATENCY.
absl::StatusOr<SearchOutcome> SolveByMip(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                         const SearchCallbacks& callbacks);

// The program that SolveByMip would solve, without a heuristic plan: the upper bound allows every plan.
// RESOURCE_EXHAUSTED: it would have more than kMaxMipEntries entries. REQUIRES: as SolveByMip, but no solver.
inline constexpr int64_t kMaxMipEntries = 20'000'000;
absl::StatusOr<IntegerProgram> IntegerProgramOf(const PlanningInput& input);

// The program in the form of the paper. Errors as above. REQUIRES: as BuildPrintedProgram.
absl::StatusOr<IntegerProgram> PrintedProgramOf(const PlanningInput& input);

AlgorithmRow MipRow();

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_MIP_MIP_SEARCH_H_
