// What no step of an interleaved pipeline takes less, task by task.
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_INTERLEAVED_BOUND_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_INTERLEAVED_BOUND_H_

#include <cstdint>
#include <vector>

#include "core/base/polling.h"
#include "core/joint/search/families.h"

namespace planwright {

// Over all pipelines of `families`, of one spread each, under INTERLEAVED: a device works through all micro-batches,
// behind what must come before and with what must follow (core/joint/dealing). At most `known_ps`. Interrupted: less
// than could be, 0 before there is any bound.
int64_t BoundInterleaved(const JointSpace& space, const std::vector<PipelineFamily>& families, int64_t known_ps,
                         Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_INTERLEAVED_BOUND_H_
