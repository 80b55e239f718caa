// A contiguous split of the blocks: what the dynamic programs hand over.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_BLOCK_SPLIT_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_BLOCK_SPLIT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/partition/search/block_instance.h"

namespace planwright {

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
