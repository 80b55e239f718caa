#include "tests/reference/allocation_shortage.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/base/units.h"
#include "core/partition/periodic/stage_costs.h"

namespace planwright {
namespace {

// By layer: the least that a stage with it stores for a micro-batch: it may begin with any layer before.
std::vector<int64_t> LeastStoredBytes(const Chain& chain) {
  std::vector<int64_t> bytes;
  int64_t least_received = std::numeric_limits<int64_t>::max();
  for (const ChainLayer& layer : chain.layers) {
    least_received = std::min(least_received, layer.received_bytes);
    bytes.push_back(least_received + layer.stored_bytes);
  }
  return bytes;
}

}  // namespace

std::optional<AllocationShortage> ShortageOfAnyAllocation(const Chain& chain, const ChainDevices& devices) {
  if (!devices.memory_bytes.has_value()) return std::nullopt;
  const std::vector<int64_t> stored_bytes = LeastStoredBytes(chain);
  AllocationShortage shortage{.available_bytes = *devices.memory_bytes};
  for (std::size_t i = 0; i < chain.layers.size(); ++i) {
    const ChainLayer& layer = chain.layers[i];
    const int64_t needed = layer.static_bytes + layer.workspace_bytes + stored_bytes[i];
    if (needed <= std::max(shortage.needed_bytes, shortage.available_bytes)) continue;
    shortage.layer = static_cast<int32_t>(i);
    shortage.needed_bytes = needed;
  }
  if (shortage.layer.has_value()) return shortage;

  const ChainStageCosts costs(chain, devices);
  const int32_t last = costs.num_layers() - 1;
  shortage.needed_bytes = costs.StaticBytes(0, last) + (chain.has_backward ? costs.StoredBytes(0, last) : 0);
  shortage.available_bytes = SaturatingMultiply(*devices.memory_bytes, devices.count);
  return shortage.needed_bytes > shortage.available_bytes ? std::optional(shortage) : std::nullopt;
}

}  // namespace planwright
