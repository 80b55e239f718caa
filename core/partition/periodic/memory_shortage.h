// Why no contiguous allocation of a chain fits the memory of its devices: which layer, and how many bytes are missing.
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_MEMORY_SHORTAGE_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_MEMORY_SHORTAGE_H_

#include <cstdint>
#include <optional>

#include "core/model/chain.h"

namespace planwright {

struct MemoryShortage {
  int32_t layer = 0;
  // More bytes than the available ones of one device.
  int64_t needed_bytes = 0;
  int64_t available_bytes = 0;

  bool operator==(const MemoryShortage&) const = default;
};

// Where contiguous allocations end, if ContiguousOptimum finds none: stages with one micro-batch each are packed from
// the last layer on, as far as the devices reach. The layer is the first that is left over, and the bytes are those of
// the smallest stage that would begin with it. nullopt: there is a contiguous allocation. O(devices x layers^2).
std::optional<MemoryShortage> ShortageOfContiguous(const Chain& chain, const ChainDevices& devices);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_MEMORY_SHORTAGE_H_
