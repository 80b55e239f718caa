// The form of an interleaved pipeline whose layers are dealt out.
#ifndef PLANWRIGHT_CORE_JOINT_DEALING_INTERLEAVING_H_
#define PLANWRIGHT_CORE_JOINT_DEALING_INTERLEAVING_H_

#include <algorithm>
#include <cstdint>

#include "core/joint/cost/stage_cost.h"
#include "core/joint/slots/chunk_slots.h"

namespace planwright {

// Most micro-batches in flight in a stage.
inline int64_t InFlightOf(const SlotShape& shape, int64_t stage) {
  return HeldBy(PipelineOrder::kInterleaved, shape.micro_batches, shape.num_stages - stage, shape.num_stages,
                shape.chunks)
      .whole;
}

struct Interleaving {
  int32_t num_stages = 2;
  // How many each stage has.
  int32_t chunks = 2;
  int64_t micro_batches = 1;
  // What a chunk pays at least at each of its ends that is no end of the model: towards the neighbouring stage, and
  // from the last stage back to the first one.
  int64_t cut_ps = 0;
  int64_t wrap_ps = 0;
  // What the first and the last stage take at least to add up what both have, at the end of a step.
  int64_t first_ends_ps = 0;
  int64_t last_ends_ps = 0;

  SlotShape shape() const { return {num_stages, chunks, micro_batches}; }
  int64_t least_cut_ps() const { return std::min(cut_ps, wrap_ps); }
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_DEALING_INTERLEAVING_H_
