#include "core/partition/periodic/shared_device_stages.h"

#include <optional>

namespace planwright {

ChainAllocation NumberDevices(const std::vector<SpecialStage>& stages) {
  ChainAllocation allocation;
  std::optional<int32_t> special;
  int32_t num_devices = 0;
  for (const SpecialStage& stage : stages) {
    const bool is_known = stage.is_special && special.has_value();
    const int32_t device = is_known ? *special : num_devices++;
    if (stage.is_special) special = device;
    allocation.push_back({stage.first, stage.next - 1, device});
  }
  return allocation;
}

}  // namespace planwright
