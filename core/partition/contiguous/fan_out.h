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
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_FAN_OUT_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_FAN_OUT_H_

#include <cstdint>
#include <optional>

#include "core/base/limits.h"
#include "core/partition/search/block_instance.h"

namespace planwright {

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

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_FAN_OUT_H_
