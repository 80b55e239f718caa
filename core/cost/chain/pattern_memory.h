// Memory of the devices of a pipeline that follows a periodic pattern (docs/cost-model.md section 7).
//
// A device keeps what is static of its layers, its largest workspace, the buffers of every cut that it shares with
// another device, and what its stages store for each micro-batch from the start of their forward to the end of their
// last pass. Only the last part depends on the pattern; it peaks when a forward pass starts.
#ifndef PLANWRIGHT_CORE_COST_CHAIN_PATTERN_MEMORY_H_
#define PLANWRIGHT_CORE_COST_CHAIN_PATTERN_MEMORY_H_

#include <cstdint>
#include <vector>

#include "core/cost/chain/chain_sums.h"
#include "core/model/chain.h"
#include "core/model/periodic_pattern.h"

namespace planwright {

// By device: all but what is stored for micro-batches. O(stages).
std::vector<int64_t> FixedBytes(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                                const ChainAllocation& allocation);

struct PatternMemory {
  // By device: the most bytes at any time.
  std::vector<int64_t> peak_bytes;
  // By stage: the most micro-batches that it stores at any time.
  std::vector<int32_t> stored;
};

// Exact. At one time, what ends makes room before what starts takes it; a stage whose passes take no time stores one
// micro-batch all the same. REQUIRES: `pattern` is one of `allocation`.
// O(stages^2).
PatternMemory MemoryOf(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                       const ChainAllocation& allocation, const PeriodicPattern& pattern);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_CHAIN_PATTERN_MEMORY_H_
