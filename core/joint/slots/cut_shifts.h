// Cuts of a chain of layers into interleaved chunks, moved while their slots take less.
#ifndef PLANWRIGHT_CORE_JOINT_SLOTS_CUT_SHIFTS_H_
#define PLANWRIGHT_CORE_JOINT_SLOTS_CUT_SHIFTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/polling.h"
#include "core/joint/slots/chunk_slots.h"

namespace planwright {

// Passes of one layer.
struct LayerPasses {
  int64_t forward = 0;
  int64_t backward = 0;
};

// A chain of layers with what a cut before each of them costs either side, half in each pass; 0 at the two ends.
struct LayerChain {
  std::vector<LayerPasses> layers;
  std::vector<int64_t> cut;

  int64_t TimeOf(std::size_t layer) const { return layers[layer].forward + layers[layer].backward; }
};

// `cuts`: where chunks begin, and behind the last one. One cut, or two, four, ... that follow each other, move by a
// layer as long as the slots of both kinds take less with it; a local optimum, or less where so many moves take too
// long. Of the same input always the same unless `poller` ends it. O(chunks) for a move.
std::vector<int32_t> WithCutsShifted(const LayerChain& chain, std::vector<int32_t> cuts, const SlotShape& shape,
                                     Poller& poller);

// The layers [first, end).
struct LayerRun {
  int32_t first = 0;
  int32_t end = 0;
};

// The passes of the chunks of a stage; empty: the stage does not hold them.
using PassesOfRuns = std::function<std::vector<LayerPasses>(int32_t stage, const std::vector<LayerRun>& runs)>;

// The same where what a chunk takes depends on what else its stage holds; up to sixteen cuts move together. Where some
// stage does not hold the chunks of `cuts` they stay.
std::vector<int32_t> WithCutsShifted(const PassesOfRuns& passes_of, std::vector<int32_t> cuts, const SlotShape& shape,
                                     Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SLOTS_CUT_SHIFTS_H_
