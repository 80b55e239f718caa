// Iterative refinement: single blocks change stages until no move helps (Parmesan, section 4.3).
//
// A move takes a block on a boundary to a neighbouring stage. It is valid if the stages of all that come before and
// after the block still do, if the new stage runs and holds it, and if the old one keeps a block. The paper's criteria
// are in its missing Appendix C; here
//   1. a move must lower the largest load among the stages whose loads it changes;
//   2. the busiest stage is looked at first, then the next ones, until one has such a move;
//   3. of its moves the one that leaves the lowest such load is made; ties by the smaller sum, then block, then stage.
// By 1 the loads, sorted, fall lexicographically with each move: the largest never grows, and it ends. A stage that is
// not the busiest may pass blocks on, so that the busiest finds room afterwards.
//
// Loads are exact: each tensor is paid for by every stage that reads it (core/partition/noncontiguous/net_state.h),
// where the dynamic program counts it once.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_REFINEMENT_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_REFINEMENT_H_

#include <cstdint>

#include "core/base/limits.h"
#include "core/graph/digraph.h"
#include "core/partition/noncontiguous/net_state.h"

namespace planwright {

// Makes at most `max_moves` moves, fewer where the limits stop it, and returns how many. The devices of `state` are the
// stages, in pipeline order; `precedence` is that of its groups, and goes forward. O(moves x blocks of the stages
// looked at x degree).
int32_t RefineStages(const Digraph& precedence, int32_t max_moves, const SolveLimits& limits, NetState& state);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_REFINEMENT_H_
