// A stage that grows block by block: its work, its memory, and whether it can run somewhere.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_BLOCK_SPLIT_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_BLOCK_SPLIT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/partition/search/block_instance.h"

namespace planwright {

// Not thread-safe. `instance` outlives the object.
class StageGrowth {
 public:
  explicit StageGrowth(const BlockInstance& instance);

  // REQUIRES: the stage does not hold `block`. O(nets of the block).
  void Add(int32_t block);
  // Back to the empty stage. O(nets of its blocks).
  void Clear();

  // Compute of the stage on `pool`, without transfers.
  int64_t Compute(std::size_t pool) const { return compute_[pool]; }
  // Load of the stage on `replicas` devices of `pool`, nets paid once.
  int64_t Load(std::size_t pool, int64_t replicas) const;
  // Whether a device of `pool` can run and hold it. Larger stages need not fail where smaller ones do, for nets close.
  bool Fits(std::size_t pool) const;
  // Bytes that its memory leaves of a device of `pool`, which are negative where it does not hold it; kMaxQuantity:
  // unlimited.
  int64_t Room(std::size_t pool) const;
  // Whether no stage that holds this one fits.
  bool IsTooLarge(std::size_t pool) const;

 private:
  bool ExceedsMemory(std::size_t pool, int64_t buffer_bytes) const;

  const BlockInstance& instance_;
  std::vector<int32_t> blocks_;
  // By net: pins inside the stage, and whether its producer is.
  std::vector<std::size_t> pins_inside_;
  std::vector<bool> holds_producer_;
  // By pool.
  std::vector<int64_t> compute_;
  std::vector<int64_t> backward_compute_;
  std::vector<int32_t> unsupported_;
  // What cut nets cost.
  MicroBatchWork transfers_;
  MemorySums memory_;
  int64_t buffer_bytes_ = 0;
  int64_t workspace_ = 0;
  int64_t parameter_bytes_ = 0;
};

// A contiguous split of the blocks: what the dynamic programs hand over.
struct BlockSplit {
  struct Stage {
    std::size_t pool = 0;
    // Not empty, ascending.
    std::vector<int32_t> blocks;
    // Devices of the pool.
    int64_t replicas = 1;
  };
  // In pipeline order.
  std::vector<Stage> stages;
  // Max load of the stages by LoadRule, in picoseconds, nets paid once per device.
  int64_t max_load = 0;
};

// Max load of the stages of `split`, computed anew; LoadRule::kNone if one exceeds the cap. O(blocks x pools + pins).
int64_t SplitLoad(const BlockInstance& instance, const BlockSplit& split);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_BLOCK_SPLIT_H_
