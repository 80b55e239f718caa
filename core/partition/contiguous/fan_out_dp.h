// The exact contiguous split where producers pay for every device that reads their tensors, on small instances.
//
// The cost of a stage then depends on how later operators are split, so the program of ideal_dp.h has a bound only.
// Here a pass for a target T keeps *labels* for an ideal and the devices that hold it: for every fan-out that the ideal
// cuts, in which stage its producer is (or, if it comes later, how many stages have read it so far), and the loads of
// these stages, with the one reading stage more that is certain while readers are left. Of labels with equal stages
// those with no smaller load are dropped. A pass that does not reach the full ideal proves that the optimum is above T.
//
// Exact for SERIAL loads on single devices (docs/cost-model.md section 4). Work: 64 steps of some nanoseconds are a
// unit; a pair of ideals takes one, and one for every block of a fan-out where they can bound a stage. The number of
// labels can grow exponentially with the fan-outs that cross a boundary.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_FAN_OUT_DP_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_FAN_OUT_DP_H_

#include <cstdint>
#include <functional>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/contiguous/block_split.h"
#include "core/partition/contiguous/ideal_dp.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/load_windows.h"

namespace planwright {

struct FanOutDpListener {
  // A split that may be better. Returns the least objective known, this split's included.
  std::function<int64_t(const BlockSplit&)> on_split;
  // A proven bound.
  std::function<void(int64_t)> on_bound;
};

// Whether SolveByFanOutDp can treat the instance: there are fan-outs, and loads are sums. It is exact for blocks that
// are not merged (MergeRule::kNever): merging is proven to lose nothing where devices pay once.
bool CanCountReaders(const BlockInstance& instance);

// Searches between `lower_bound` (proven, at least the work bound) and `objective`, the least one known. limits.work
// counts from 0 here. kProven: the bound meets the best objective known. The outcome is the same every time unless the
// clock or a stop request ends it.
// REQUIRES: CanCountReaders.
IdealDpRun SolveByFanOutDp(const BlockInstance& instance, const LoadWindows& windows, int64_t lower_bound,
                           int64_t objective, const IdealDpOptions& options, const SolveLimits& limits,
                           TaskArena& arena, const FanOutDpListener& listener);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_FAN_OUT_DP_H_
