// Why no allocation of a chain fits the memory of its devices: which layer, and how many bytes are missing.
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_MEMORY_SHORTAGE_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_MEMORY_SHORTAGE_H_

#include <cstdint>
#include <optional>

#include "core/model/chain.h"

namespace planwright {

struct MemoryShortage {
  // nullopt: all layers together.
  std::optional<int32_t> layer = std::nullopt;
  // More bytes than the available ones, of one device or, for all layers, of all devices together.
  int64_t needed_bytes = 0;
  int64_t available_bytes = 0;

  bool operator==(const MemoryShortage&) const = default;
};

// What no allocation of the chain can avoid, contiguous or not: the layer that misses most on a device of its own with
// one micro-batch, the first of equals, even if it had no buffers; or what all layers keep when a micro-batch is at the
// end of the chain, as every layer then stores it (workspace and buffers aside). nullopt: neither rules an allocation
// out. O(layers).
std::optional<MemoryShortage> ShortageOfAnyAllocation(const Chain& chain, const ChainDevices& devices);

// Where contiguous allocations end, if ContiguousOptimum finds none: stages with one micro-batch each are packed from
// the last layer on, as far as the devices reach. The layer is the first that is left over, and the bytes are those of
// the smallest stage that would begin with it. nullopt: there is a contiguous allocation. O(devices x layers^2).
std::optional<MemoryShortage> ShortageOfContiguous(const Chain& chain, const ChainDevices& devices);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_MEMORY_SHORTAGE_H_
