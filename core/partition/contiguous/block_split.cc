#include "core/partition/contiguous/block_split.h"

#include <algorithm>

#include "core/partition/contiguous/stage_growth.h"

namespace planwright {

int64_t SplitLoad(const BlockInstance& instance, const BlockSplit& split) {
  StageGrowth growth(instance);
  int64_t max_load = 0;
  for (const BlockSplit::Stage& stage : split.stages) {
    for (const int32_t block : stage.blocks) growth.Add(block);
    max_load = std::max(max_load, growth.Load(stage.pool, stage.replicas));
    growth.Clear();
  }
  return max_load;
}

}  // namespace planwright
