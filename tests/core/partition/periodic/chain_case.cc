#include "tests/core/partition/periodic/chain_case.h"

#include <cstddef>
#include <utility>

#include "core/base/random.h"
#include "tests/support/random_chain.h"

namespace planwright {

namespace {

// Stages keep what comes to them, and of their layers nothing but a little.
void Recompute(RandomStream& random, Chain& chain) {
  for (std::size_t i = 0; i < chain.layers.size(); ++i) {
    ChainLayer& layer = chain.layers[i];
    if (i > 0) layer.received_bytes = std::exchange(layer.stored_bytes, 0);
    if (random.Below(4) == 0) layer.stored_bytes = random.Between(0, 5);
  }
}

}  // namespace

ChainCase MakeChainCase(uint64_t seed, int32_t max_layers) {
  RandomStream random(seed);
  const RandomChainOptions options{.layers = static_cast<int32_t>(random.Between(1, max_layers)),
                                   .has_backward = seed % 10 != 9};
  ChainCase made{MakeRandomChain(options, random), {}};
  made.devices.count = static_cast<int32_t>(random.Between(1, 5));
  made.devices.full_duplex = random.Below(3) == 0;
  if (seed % 4 == 0) {
    for (ChainCut& cut : made.chain.cuts) cut.send_forward = cut.send_backward = Picoseconds(0);
  }
  if (seed % 7 == 6) Recompute(random, made.chain);
  if (seed % 4 == 1) return made;
  const ChainAllocation allocation = MakeRandomContiguousAllocation(options.layers, made.devices.count, random);
  made.devices.memory_bytes = BytesWithBatches(made.chain, made.devices, allocation, 0.9 + 2 * random.Unit());
  return made;
}

std::vector<std::vector<int32_t>> AllCuts(int32_t layers) {
  std::vector<std::vector<int32_t>> all;
  for (uint32_t mask = 0; mask < uint32_t{1} << (layers - 1); ++mask) {
    std::vector<int32_t>& cuts = all.emplace_back();
    for (int32_t layer = 1; layer < layers; ++layer) {
      if ((mask >> (layer - 1) & 1) != 0) cuts.push_back(layer);
    }
  }
  return all;
}

Chain MakeThreeLayers() {
  Chain chain;
  chain.layers.assign(3, {.forward = Picoseconds(1), .static_bytes = 10, .stored_bytes = 5});
  chain.cuts.assign(2, {.buffer_bytes = 4});
  return chain;
}

void ScaleTimes(int64_t factor, Chain& chain) {
  for (ChainLayer& layer : chain.layers) {
    layer.forward *= factor;
    layer.backward *= factor;
  }
  for (ChainCut& cut : chain.cuts) {
    cut.send_forward *= factor;
    cut.send_backward *= factor;
  }
}

}  // namespace planwright
