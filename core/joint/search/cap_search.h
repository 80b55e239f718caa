// The pipeline of the least closed form among those of one set of options and one number of micro-batches: intervals of
// the longest stage, best first, each closed or narrowed by a pass (StagePass).
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_CAP_SEARCH_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_CAP_SEARCH_H_

#include <cstdint>
#include <optional>

#include "core/base/polling.h"
#include "core/joint/search/stage_pass.h"

namespace planwright {

struct CapSearchResult {
  // nullopt: none is better than what was known.
  std::optional<StagePipeline> pipeline;
  // No pipeline takes less; at most what is sought.
  int64_t bound_ps = 0;
  int64_t passes = 0;
};

// What a proof is worth: of `step_ps` that much less is not sought.
int64_t Sought(int64_t step_ps, double relative_gap);

// Looks for pipelines better than `best_ps`, until none is by more than the gap. Where `poller` ends it, with the bound
// that is proven by then.
CapSearchResult SearchCaps(StagePass& pass, int64_t micro_batches, int64_t best_ps, double relative_gap,
                           Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_CAP_SEARCH_H_
