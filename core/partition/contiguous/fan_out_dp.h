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
#include <optional>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/contiguous/block_split.h"
#include "core/partition/contiguous/ideal_dp.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/load_windows.h"

namespace planwright {

// What the producers of widely read tensors must pay on a uniform interconnect.
//
// There a producer pays once for every other device that reads its tensor, while the dynamic programs charge each net
// once per device. If the consumers of a tensor must spread over at least r stages in any split with loads at most T,
// at least r - 1 of them are on other devices, so the producer's stage pays at least (r - 2) transfers more than the
// net says. Added to the time of the producer's block, this keeps the programs a valid bound for such splits, and makes
// them exact where the consumers spread no further than they must (an attention mask that every layer reads). That
// needs loads that are sums, for transfers may hide behind compute otherwise, and stages on one device each, for
// replicas hold as much between them as no stage at most T does.
//
// r comes from contiguity, for consumers that follow each other, in two ways. A stage that holds two of them holds
// everything on the paths between, so they are covered greedily by stages of load at most T. And a stage that holds
// none lies in a gap between two of them: with K devices, stages of load at most T for the consumers and stages no
// larger than the widest gap for the rest must take all the work (one device pool only).
//
// `instance` with the times of producers raised by what every split with loads at most `max_load` must pay beyond its
// nets; nullopt when there is nothing to raise, where loads are no sums or stages may have replicas, or with more than
// kMaxFanOutBlocks blocks. O(blocks^2 / 64 + consumers of tensors with several readers x blocks); looks at no more
// tensors when the second term reaches kMaxFanOutWork.
//
// Interrupted by `limits` it raises less, which is as valid.
std::optional<BlockInstance> WithFanOutCosts(const BlockInstance& instance, int64_t max_load,
                                             const SolveLimits& limits);

inline constexpr int32_t kMaxFanOutBlocks = 8192;
inline constexpr int64_t kMaxFanOutWork = 10'000'000;

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
