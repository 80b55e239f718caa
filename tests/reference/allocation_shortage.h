// Why no allocation of a chain, contiguous or not, fits the memory of its devices.
#ifndef PLANWRIGHT_TESTS_REFERENCE_ALLOCATION_SHORTAGE_H_
#define PLANWRIGHT_TESTS_REFERENCE_ALLOCATION_SHORTAGE_H_

#include <cstdint>
#include <optional>

#include "core/model/chain.h"

namespace planwright {

struct AllocationShortage {
  // nullopt: all layers together.
  std::optional<int32_t> layer = std::nullopt;
  // More bytes than the available ones, of one device or, for all layers, of all devices together.
  int64_t needed_bytes = 0;
  int64_t available_bytes = 0;

  bool operator==(const AllocationShortage&) const = default;
};

// What no allocation of the chain can avoid, contiguous or not: the layer that misses most on a device of its own with
// one micro-batch, the first of equals, even if it had no buffers; or what all layers keep when a micro-batch is at the
// end of the chain, as every layer then stores it (workspace and buffers aside). nullopt: neither rules an allocation
// out. O(layers).
std::optional<AllocationShortage> ShortageOfAnyAllocation(const Chain& chain, const ChainDevices& devices);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_REFERENCE_ALLOCATION_SHORTAGE_H_
