// Pipelines under GPIPE or ZERO_BUBBLE_H1: families, and under the latter numbers of stages, by bound (phase_pass.h).
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_PHASED_SEARCH_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_PHASED_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/polling.h"
#include "core/joint/search/families.h"
#include "core/joint/search/phase_pass.h"
#include "core/model/joint.h"

namespace planwright {

struct PhasedResult {
  // nullopt: none is better than what was known.
  std::optional<PhasePipeline> best;
  // The position of the family of `best`.
  std::size_t family = 0;
  // No pipeline of the families under the order takes less; at most what was sought.
  int64_t bound_ps = 0;
  int64_t looked_at = 0;
  int64_t labels = 0;
};

// The best pipeline under `order` of `families`, of one spread each, if it is better than `best_ps` by more than the
// gap; exact within ALIGNED_PLACES. ZERO_BUBBLE_H1 has at least as many micro-batches as stages.
PhasedResult SearchPhased(const JointSpace& space, PipelineOrder order, const std::vector<PipelineFamily>& families,
                          int64_t best_ps, double relative_gap, Poller& poller);

// No step of such a pipeline takes less task by task: at most `known_ps`; 0 where the poller ended it.
int64_t BoundPhased(const JointSpace& space, PipelineOrder order, const std::vector<PipelineFamily>& families,
                    int64_t known_ps, Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_PHASED_SEARCH_H_
