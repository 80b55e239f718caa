// Stages for a general device topology: partition, then device mapping, over all numbers of stages and replicas.
//
// For every shape (S stages with R replicas each) there is a bound that needs no search, so shapes are tried in rounds
// by ascending bound and left out once they cannot beat the best placement. A round partitions its shapes quickly
// (stage_partition.h), on all threads, once for each speed that pairs of devices are assumed to have
// (uniform_links_problem.h), and maps the most promising ones of each to devices (core/mapping). At the end the shapes
// of the best placements are partitioned by the exact program, and as PipeDream does it (pipedream_stages.h), and
// mapped with what is left of the work.
//
// Source: Parmesan: Efficient Partitioning and Mapping Flow for DNN Training on General Device Topology. The search
// over S and R is in its missing Appendix E; this one is ours, and so are the second speed and PipeDream's stages.
// kParmesanPaper counts communication by equation (3) literally and does without both.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_PARMESAN_SEARCH_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_PARMESAN_SEARCH_H_

#include "core/partition/search/search.h"

namespace planwright {

// Algorithms kParmesan and kParmesanPaper: MAX_THROUGHPUT, CONTIGUOUS, replication NONE or UNIFORM, any interconnect
// but host_staged. Heeds request.device_limits: which devices stay idle is up to the mapping. Work: devices moved on
// trial by mappings, ideals enumerated or queried. Bounds of scope PROBLEM hold for all shapes; those of the mapping
// are GIVEN_PARTITION. The same outcome for any arena unless the clock or a stop request ends it.
absl::StatusOr<SearchOutcome> SolveParmesan(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                            const SearchCallbacks& callbacks);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_PARMESAN_SEARCH_H_
