// What slots of interleaved chunks take at least where what a chunk takes depends on what else its stage holds.
#ifndef PLANWRIGHT_CORE_JOINT_SLOTS_STAGE_LEVELS_H_
#define PLANWRIGHT_CORE_JOINT_SLOTS_STAGE_LEVELS_H_

#include <cstdint>
#include <vector>

#include "core/base/polling.h"
#include "core/joint/slots/chunk_slots.h"

namespace planwright {

// A stage that holds so many of the layers that are dealt out, in one of several ways.
struct StageOption {
  int32_t layers = 0;
  // What both passes of a chunk take at least, by how many of these layers it has; kCannotBe.
  std::vector<int64_t> chunk;
  // Likewise of the chunk with an end of the model; empty: the stage has none.
  std::vector<int64_t> end_chunk;
};

inline constexpr int64_t kCannotBe = int64_t{1} << 62;

// What the slots of both kinds take at least, over all ways to deal `num_layers` out; at most `needed_ps`. `stages`:
// the options of each; what is not among them takes no less than is needed. Interrupted, or where it takes too long: 0.
// O(options x (layers + num_layers)) for each pair of times that is looked at.
//
// With q groups slots take at least the integral of G(r) = (q - 1) min(N, r + S - 1) + r + S - 1 over all times, r
// chunks being longer than the time (SlotsOfLevel in chunk_slots.cc). min(N, r + S - 1) is N up to some first time, and
// r + S - 1 from there to that of the longest chunk, the last. For two given times the integral falls apart into a term
// for each chunk, (q - 1) max(0, its time - first) + its time, so that the least of all deals is a table over stages by
// number of layers. The least over all pairs of times is the bound.
int64_t LeastDealtSlotsPs(const std::vector<std::vector<StageOption>>& stages, int32_t num_layers,
                          const SlotShape& shape, int64_t needed_ps, Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SLOTS_STAGE_LEVELS_H_
