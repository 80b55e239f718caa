// Layers alike dealt out to interleaved chunks, one by one, where what a chunk takes depends on what its stage holds.
#ifndef PLANWRIGHT_CORE_JOINT_SLOTS_LAYER_DEALING_H_
#define PLANWRIGHT_CORE_JOINT_SLOTS_LAYER_DEALING_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/polling.h"
#include "core/joint/slots/chunk_slots.h"
#include "core/joint/slots/cut_shifts.h"

namespace planwright {

// The passes of the chunks of a stage that have so many layers each; empty: the stage does not hold them.
using PassesOfStage = std::function<std::vector<LayerPasses>(int32_t stage, const std::vector<int32_t>& layers)>;

struct DealQuestion {
  // By chunk.
  std::vector<int32_t> fewest;
  // Of all chunks together.
  int32_t num_layers = 0;
  PassesOfStage passes_of;
  SlotShape shape;
};

// How many layers each chunk has; empty: nothing that was looked at is held, or `poller` has ended it. Each layer goes
// where the slots of both kinds grow least, the rearmost such chunk (of very many not); of that and of `starts`, which
// have as many layers, the best ones are improved: layers move from chunk to chunk while the slots take less. A local
// optimum, or less where so many moves take too long.
std::vector<int32_t> DealLayers(const DealQuestion& question, std::vector<std::vector<int32_t>> starts, Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SLOTS_LAYER_DEALING_H_
