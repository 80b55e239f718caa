// A step of a joint plan, task by task: when each stage has done all its micro-batches.
#ifndef PLANWRIGHT_CORE_JOINT_COST_STEP_SIMULATION_H_
#define PLANWRIGHT_CORE_JOINT_COST_STEP_SIMULATION_H_

#include <cstdint>
#include <vector>

#include "core/model/joint.h"

namespace planwright {

// Passes of one run of layers with the transfers at its ends.
struct ChunkTimes {
  int64_t forward_ps = 0;
  // Under ZERO_BUBBLE_H1 without the gradients of weights.
  int64_t backward_ps = 0;
  // Only under ZERO_BUBBLE_H1; else part of backward_ps.
  int64_t weights_ps = 0;
};

// By stage, then by its chunks in the order of the layers. All stages have as many chunks.
using PipelineTimes = std::vector<std::vector<ChunkTimes>>;

struct StepShape {
  PipelineOrder order = PipelineOrder::kOneFOneB;
  int64_t num_stages = 1;
  // How many every stage has.
  int64_t chunks = 1;
  int64_t micro_batches = 1;

  int64_t runs() const { return num_stages * chunks; }
  // How many one stage has.
  int64_t tasks() const { return (order == PipelineOrder::kZeroBubble ? 3 : 2) * micro_batches * chunks; }
};

struct StepTask {
  // kWeights is a task of its own under ZERO_BUBBLE_H1, and else part of kBackward.
  enum class Pass { kForward, kBackward, kWeights };
  Pass pass = Pass::kForward;
  // The chunk's number among those of the whole pipeline, and among those of its stage.
  int64_t run = 0;
  int64_t chunk = 0;
  int64_t micro_batch = 0;
};

// The number-th task of a stage. 1F1B and INTERLEAVED: forward passes until as many micro-batches are in flight as the
// order says, then one of each pass in turn, then the backward passes that are left. GPIPE: all forward passes, then
// the backward passes, the last micro-batch first. ZERO_BUBBLE_H1: 1F1B where stage s makes the gradients of weights of
// a micro-batch s micro-batches late (Qi et al. 2023, section 2.1). O(1).
StepTask StepTaskAt(const StepShape& shape, int64_t stage, int64_t number);

// When each stage has ended its last task. Of several chunks Megatron's interleaving, for which the number of stages
// divides `micro_batches` (Narayanan et al. 2021, section 2.2); ZERO_BUBBLE_H1 needs as many of them as stages. A stage
// works on one task at a time, in its own fixed order; a task waits for that of the neighbour it reads from. O(stages x
// chunks x micro-batches).
std::vector<int64_t> SimulateStep(const PipelineTimes& times, PipelineOrder order, int64_t micro_batches);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_STEP_SIMULATION_H_
