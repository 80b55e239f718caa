// Pipelines whose devices hold several runs of layers each (INTERLEAVED): chunk k of S v lies in stage k mod S.
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_INTERLEAVED_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_INTERLEAVED_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/polling.h"
#include "core/joint/search/families.h"
#include "core/model/joint.h"

namespace planwright {

struct InterleavedResult {
  // nullopt: none is better than what was known.
  std::optional<JointPlan> plan;
  // No pipeline of the families under INTERLEAVED takes less; at most what was sought.
  int64_t bound_ps = 0;
  // Numbers of stages and chunks of which a pipeline was made.
  int64_t looked_at = 0;
};

// Looks through `families`, of one spread each, by bound, for pipelines better than `best_ps` by more than the gap.
// Stages are whole blocks on one class. Chunks whose slots take least are sought (core/joint/slots): of layers alike
// the plan meets the bound or is hardly above it, elsewhere it is a heuristic with its bound.
InterleavedResult SearchInterleaved(const JointSpace& space, const std::vector<PipelineFamily>& families,
                                    int64_t best_ps, double relative_gap, Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_INTERLEAVED_H_
