// Seeded random chains, allocations and devices for tests of pipelines under memory.
#ifndef PLANWRIGHT_TESTS_SUPPORT_RANDOM_CHAIN_H_
#define PLANWRIGHT_TESTS_SUPPORT_RANDOM_CHAIN_H_

#include <cstdint>

#include "core/base/random.h"
#include "core/model/chain.h"

namespace planwright {

struct RandomChainOptions {
  int32_t layers = 6;
  // Times of a pass of a layer are in 0 .. this, those of a transfer in 0 .. half of it.
  int64_t max_time = 20;
  bool has_backward = true;
};

// Bytes are up to about 30 a layer; some are 0, as are some times. The sum of all times is not 0.
Chain MakeRandomChain(const RandomChainOptions& options, RandomStream& random);

// A random number of stages, at most `max_stages_per_device` of them on a device. REQUIRES: layers >= 1.
ChainAllocation MakeRandomAllocation(int32_t layers, int32_t devices, int32_t max_stages_per_device,
                                     RandomStream& random);

// One stage per device, in the order of the devices.
ChainAllocation MakeRandomContiguousAllocation(int32_t layers, int32_t max_devices, RandomStream& random);

// Bytes with which a device holds the allocation if each of its stages stores `batches` micro-batches: the largest
// device. Memory limits around that for small `batches` bind.
int64_t BytesWithBatches(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation,
                         double batches);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_RANDOM_CHAIN_H_
