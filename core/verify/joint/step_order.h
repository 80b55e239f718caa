// When a step of a pipeline ends, by the longest path through its tasks.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_STEP_ORDER_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_STEP_ORDER_H_

#include <cstdint>
#include <vector>

namespace planwright::verify {

struct StepRun {
  int64_t forward_ps = 0;
  int64_t backward_ps = 0;
};

// `runs`: of the model in the order of its layers; run r lies on device r mod `num_devices`. When each device has ended
// its last task, under 1F1B (one run on each device) or INTERLEAVED. O(runs x micro_batches).
std::vector<int64_t> EndsOfStep(const std::vector<StepRun>& runs, int64_t num_devices, int64_t micro_batches);

}  // namespace planwright::verify

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_STEP_ORDER_H_
