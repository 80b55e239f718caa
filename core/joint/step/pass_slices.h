// What the passes of a stage consist of, a few layers at a time: computation and exchanges.
#ifndef PLANWRIGHT_CORE_JOINT_STEP_PASS_SLICES_H_
#define PLANWRIGHT_CORE_JOINT_STEP_PASS_SLICES_H_

#include <cstdint>
#include <vector>

#include "core/joint/cost/layer_parts.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/stage_cost.h"
#include "core/model/joint.h"

namespace planwright {

// A part of a pass: layers compute, with hidden exchanges beside that, then the stage waits for the exchanges that are
// shown. Those of tensor, context and expert ranks come one after the other, as do those among data ranks; neither has
// more hidden time than the computation takes.
struct PassSlice {
  int64_t compute_ps = 0;
  PassExchanges exchanges;

  int64_t shown_ps() const;
  // What the pass takes of it where every exchange has links of its own.
  int64_t total_ps() const { return compute_ps + shown_ps(); }
};

// Of a run of layers, in the order in which they are done.
struct ChunkSlices {
  std::vector<PassSlice> forward;
  // Under ZERO_BUBBLE_H1 without the gradients of weights.
  std::vector<PassSlice> backward;
};

// Once a step, behind the last pass of a stage: exchanges, the sum of both ends of the pipeline, and the update.
struct StepEndSlice {
  PassExchanges exchanges;
  int64_t ends_ps = 0;
  int64_t update_ps = 0;
};

struct StageSlices {
  // In the order of the layers.
  std::vector<ChunkSlices> chunks;
  StepEndSlice end;
};

// By stage, layer by layer. The slices of a pass take what CostChunks says of it, to the picosecond. `plan` is costed.
std::vector<StageSlices> SlicesOf(const LayerPricer& pricer, const DeviceRow& row, const JointPlan& plan);

// `count` slices as one, again and again from the first on.
void JoinSlices(int64_t count, std::vector<StageSlices>& stages);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_STEP_PASS_SLICES_H_
