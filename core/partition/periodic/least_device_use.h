// What a device needs at least to hold stages of a chain at some period (allocation_annealer.h says why).
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_LEAST_DEVICE_USE_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_LEAST_DEVICE_USE_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/base/units.h"
#include "core/cost/chain/chain_sums.h"

namespace planwright {

// Plain value; nothing is held at first.
class LeastDeviceUse {
 public:
  // The layers first .. last as a stage that stores `batches` micro-batches when its forward pass starts, at least; 0
  // without backward passes, where a stage lets go before the next one starts. Stages come from the last to the first.
  void AddStage(const ChainSums& sums, int32_t first, int32_t last, int32_t batches) {
    const int64_t stored = sums.stored_bytes(first, last);
    load_ += sums.compute(first, last);
    kept_bytes_ += sums.static_bytes(first, last) + std::max(0, batches - 1) * stored;
    workspace_bytes_ = std::max(workspace_bytes_, sums.workspace_bytes(first, last));
    if (batches == 0 || std::exchange(group_batches_, batches) != batches) group_bytes_ = 0;
    group_bytes_ += stored;
    largest_group_bytes_ = std::max(largest_group_bytes_, group_bytes_);
  }

  // Adds the buffer on one side of a cut.
  void AddBuffer(int64_t bytes) { kept_bytes_ += bytes; }

  Picoseconds load() const { return load_; }
  // Bytes at its peak.
  int64_t bytes() const { return kept_bytes_ + workspace_bytes_ + largest_group_bytes_; }

 private:
  Picoseconds load_{0};
  // Static bytes, buffers, and all micro-batches but one of each stage: there at any time.
  int64_t kept_bytes_ = 0;
  int64_t workspace_bytes_ = 0;
  // On top of that, one micro-batch more of each stage of a group: stages that store as many. The one at hand.
  int32_t group_batches_ = 0;
  int64_t group_bytes_ = 0;
  int64_t largest_group_bytes_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_LEAST_DEVICE_USE_H_
