// Families and spreads that others make needless.
//
// A stage whose ranks are spread in one way costs no more than the same stage on as many devices in another way where
// no number of any layer is greater (LayerPrice): its passes, what it keeps in each mode, its state, the end of its
// step and what it receives. Closed forms, simulated steps (the order of the passes of a device is fixed) and memory
// are monotone in all of these, so for every pipeline of the second way there is one of the first in the same places
// that is as good. So (t, c, d) with s samples is never needed where (t, 1, c d) with s / c samples takes no longer and
// may be chosen.
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_DOMINANCE_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_DOMINANCE_H_

#include <vector>

#include "core/base/polling.h"
#include "core/joint/search/families.h"

namespace planwright {

// `families`, of one list, in their order without those, and without those of their spreads, that others with as many
// micro-batches make needless; of equals the first stays. Bounds of families stay as they are. Where the poller says so
// it ends early, and less is left out. O((ways + pairs of ways with equally many micro-batches) x places x kinds) at
// worst, most pairs end with the first layer; memory for the prices of all ways with equally many micro-batches.
std::vector<PipelineFamily> WithoutNeedless(const JointSpace& space, std::vector<PipelineFamily> families,
                                            Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_DOMINANCE_H_
