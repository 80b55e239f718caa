#include "core/partition/block_split.h"

#include <algorithm>

namespace planwright {

int64_t SplitLoad(const BlockInstance& instance, const BlockSplit& split) {
  std::vector<std::size_t> pins_inside(instance.nets.size(), 0);
  int64_t max_load = 0;
  for (const BlockSplit::Stage& stage : split.stages) {
    const DevicePool& pool = instance.pools[stage.pool];
    int64_t load = 0;
    for (const int32_t block : stage.blocks) {
      const auto b = static_cast<std::size_t>(block);
      load += pool.time[b];
      if (!pool.pays_transfers) continue;
      for (const int32_t net : instance.nets_of[b]) {
        const auto n = static_cast<std::size_t>(net);
        const std::size_t inside = ++pins_inside[n];
        if (inside == 1) load += instance.nets[n].weight;
        if (inside == instance.nets[n].blocks.size()) load -= instance.nets[n].weight;
      }
    }
    for (const int32_t block : stage.blocks) {
      for (const int32_t net : instance.nets_of[static_cast<std::size_t>(block)]) {
        pins_inside[static_cast<std::size_t>(net)] = 0;
      }
    }
    max_load = std::max(max_load, load);
  }
  return max_load;
}

}  // namespace planwright
