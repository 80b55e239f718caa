#include "core/partition/periodic/memory_shortage.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/index.h"
#include "core/partition/periodic/stage_costs.h"

namespace planwright {

std::optional<MemoryShortage> ShortageOfContiguous(const Chain& chain, const ChainDevices& devices) {
  if (!devices.memory_bytes.has_value()) return std::nullopt;
  const ChainStageCosts costs(chain, devices);
  const int32_t num_layers = costs.num_layers();
  // The fewest stages that hold the layers from each one on.
  constexpr int32_t kMany = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> stages(Index(num_layers) + 1, kMany);
  stages.back() = 0;
  for (int32_t next = num_layers; next > 0; --next) {
    if (stages[Index(next)] >= devices.count) continue;
    for (int32_t first = next - 1; first >= 0; --first) {
      if (!costs.Fits(first, next - 1, 1)) continue;
      stages[Index(first)] = std::min(stages[Index(first)], stages[Index(next)] + 1);
    }
  }
  const auto reached = std::find_if(stages.begin(), stages.end(), [](int32_t count) { return count != kMany; });
  const auto left_over = static_cast<int32_t>(reached - stages.begin()) - 1;
  if (left_over < 0) return std::nullopt;
  MemoryShortage shortage{left_over, std::numeric_limits<int64_t>::max(), *devices.memory_bytes};
  for (int32_t next = left_over + 1; next <= num_layers; ++next) {
    if (stages[Index(next)] >= devices.count) continue;
    shortage.needed_bytes = std::min(shortage.needed_bytes, costs.Bytes(left_over, next - 1, 1));
  }
  return shortage;
}

}  // namespace planwright
