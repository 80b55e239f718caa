// Stages with numbers of replicas of their own on any interconnect.
//
// Equal numbers are a special case, so the search for those (parmesan_search.h) goes first. Then the exact program over
// ideals, which chooses the number of replicas of each stage, divides the graph with all pairs of devices at the median
// and at the greatest speed (uniform_links_problem.h); what it proves at the greatest speed holds on the real links.
// Its stages are mapped to devices as those with equal numbers.
//
// Source: Parmesan, section 4.2, equation (2), where the paper keeps the number of replicas constant.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_REPLICAS_PER_STAGE_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_REPLICAS_PER_STAGE_H_

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/search/algorithm_row.h"
#include "core/partition/search/search.h"

namespace planwright {

// Algorithm kParmesan with replication PER_STAGE in the limit of many micro-batches, else as SolveParmesan. REQUIRES:
// nothing is pinned or forbidden.
absl::StatusOr<SearchOutcome> SolveWithReplicasPerStage(const SearchRequest& request, const SolveLimits& limits,
                                                        TaskArena& arena, const SearchCallbacks& callbacks);

// The rows of kParmesan and kParmesanPaper.
AlgorithmRow ParmesanRow();
AlgorithmRow ParmesanPaperRow();

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_REPLICAS_PER_STAGE_H_
