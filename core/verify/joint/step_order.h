// When a step of a pipeline ends, by the longest path through its tasks.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_STEP_ORDER_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_STEP_ORDER_H_

#include <cstdint>
#include <vector>

#include "core/model/joint.h"

namespace planwright::verify {

struct StepRun {
  int64_t forward_ps = 0;
  // Under ZERO_BUBBLE_H1 without the gradients of weights.
  int64_t backward_ps = 0;
  // Under ZERO_BUBBLE_H1 alone.
  int64_t weights_ps = 0;
};

// What decides a closed form.
struct StepSums {
  // The time of one micro-batch in all stages, and in the busiest one.
  int64_t sum_ps = 0;
  int64_t longest_ps = 0;
  // The longest of each part of the passes of any run.
  StepRun most;
};

// The closed form of a step without its end (docs/joint-search.md, section 2) of orders but INTERLEAVED, at most 2^62.
int64_t ClosedFormPs(const StepSums& sums, PipelineOrder order, int64_t num_devices, int64_t micro_batches);

// That of INTERLEAVED, slot by slot: in the n-th of either kind the device s places from the front of it does the n -
// s-th pass of its list, and a slot lasts as long as its longest pass. `runs` as in EndsOfStep. O(runs x
// num_devices). REQUIRES: num_devices divides micro_batches.
int64_t SlotsPs(const std::vector<StepRun>& runs, int64_t num_devices, int64_t micro_batches);

// `runs`: of the model in the order of its layers; run r lies on device r mod `num_devices`. When each device has ended
// its last task; of orders but INTERLEAVED one run is on each device. O(runs x micro_batches).
std::vector<int64_t> EndsOfStep(const std::vector<StepRun>& runs, PipelineOrder order, int64_t num_devices,
                                int64_t micro_batches);

}  // namespace planwright::verify

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_STEP_ORDER_H_
