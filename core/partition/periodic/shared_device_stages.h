// Allocations with one special device, as MadPipe's programs build them: stages from the last to the first.
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_SHARED_DEVICE_STAGES_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_SHARED_DEVICE_STAGES_H_

#include <cstdint>
#include <vector>

#include "core/model/chain.h"

namespace planwright {

// The layers first .. next - 1, on the special device or on one of their own.
struct SpecialStage {
  int32_t first = 0;
  int32_t next = 0;
  bool is_special = false;
};

// Numbers devices in the order of their first stage. `stages`: in the order of the chain.
ChainAllocation NumberDevices(const std::vector<SpecialStage>& stages);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_SHARED_DEVICE_STAGES_H_
