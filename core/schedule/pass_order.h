// The order in which a device runs its passes under each synchronous schedule, as published.
//
// p stages, m micro-batches, F and B the times of a pass. Where all stages take alike, transfers take no time and
// nothing is replicated, a step takes
//   GPIPE           (m + p - 1)(F + B)              Huang et al., GPipe, 2019, section 2.3
//   ONE_F_ONE_B     the same, with at most p - s micro-batches in stage s: Narayanan et al., PipeDream, 2019, section
//                   3.2 (1F1B, round-robin among replicas), flushed: Fan et al., DAPPLE, 2021
//   INTERLEAVED     m (F + B) + (p - 1)(F + B) / v with v stages on each of p devices, F and B of a device: Narayanan
//                   et al., Efficient large-scale language model training on GPU clusters using Megatron-LM, 2021, 2.2
//   CHIMERA         2m + p - 2 passes where F = B, m a multiple of p; m = p: p F + 2 (p - 1) B where F <= B. Li,
//                   Hoefler, Chimera: efficiently training large-scale neural networks with bidirectional pipelines,
//                   2021, section 3
//   ZERO_BUBBLE_H1  m (F + B + W) + (p - 1)(F + B - W) where F = B = W, B the part for the input and W that for the
//                   weights: Qi et al., Zero bubble pipeline parallelism, 2023, section 2.3
#ifndef PLANWRIGHT_CORE_SCHEDULE_PASS_ORDER_H_
#define PLANWRIGHT_CORE_SCHEDULE_PASS_ORDER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/task_list.h"

namespace planwright {

using PassOrder = std::vector<PassTask>;

// In each, `micro_batches` are those that one copy of `stage` works on, ascending. Without `training` there are only
// forward passes, in their order.

// All forward passes, then all backward passes, last micro-batch first.
PassOrder GpipeOrder(int32_t stage, std::span<const int32_t> micro_batches, bool training);

// `in_flight` forward passes, then a backward and a forward pass in turn. REQUIRES: in_flight >= 1.
PassOrder OneFOneBOrder(int32_t stage, std::span<const int32_t> micro_batches, int32_t in_flight, bool training);

// As above, with split backward passes: the part for the weights follows `lag` micro-batches after that for the input,
// so that in_flight + lag micro-batches are kept. lag = s in stage s makes that p everywhere.
PassOrder ZeroBubbleOrder(int32_t stage, std::span<const int32_t> micro_batches, int32_t in_flight, int32_t lag);

// The order of device `device` of `devices`, which holds the stages device + i x devices. REQUIRES: `micro_batches` is
// a multiple of `devices`.
PassOrder InterleavedOrder(int32_t device, int32_t devices, int32_t stages_per_device, int32_t micro_batches,
                           bool training);

// The order of device `device` of `stages`, which holds its stage of the pipeline down and the mirrored one of that up.
// Unit k of the schedule takes the micro-batches k p .. (k + 1) p - 1, the first half down, the others up. Each pass
// has a slot of time in which its pipeline alone would run it under 1F1B if F = B; the slots of the two pipelines never
// meet because p is even, and units follow each other every 2p slots. REQUIRES: `stages` is even.
PassOrder ChimeraOrder(int32_t device, int32_t stages, int32_t micro_batches, bool training);

// The copy of a stage that works on the micro-batch under Chimera: 0 down, 1 up.
int32_t ChimeraCopy(int32_t stages, int32_t micro_batch);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_PASS_ORDER_H_
