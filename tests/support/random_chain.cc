#include "tests/support/random_chain.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/index.h"
#include "core/base/units.h"

namespace planwright {
namespace {

// 0 once in eight times.
int64_t SometimesZero(int64_t max, RandomStream& random) { return random.Below(8) == 0 ? 0 : random.Between(0, max); }

// Divides the layers into `stages` stages, all of them on device 0.
ChainAllocation MakeRandomStages(int32_t layers, int32_t stages, RandomStream& random) {
  std::vector<int32_t> starts;
  for (int32_t layer = 1; layer < layers; ++layer) starts.push_back(layer);
  for (std::size_t i = starts.size(); i > 1; --i) std::swap(starts[i - 1], starts[random.Below(i)]);
  starts.resize(Index(stages) - 1);
  std::sort(starts.begin(), starts.end());
  ChainAllocation allocation;
  int32_t first = 0;
  for (const int32_t start : starts) {
    allocation.push_back({first, start - 1, 0});
    first = start;
  }
  allocation.push_back({first, layers - 1, 0});
  return allocation;
}

}  // namespace

Chain MakeRandomChain(const RandomChainOptions& options, RandomStream& random) {
  Chain chain;
  chain.has_backward = options.has_backward;
  for (int32_t layer = 0; layer < options.layers; ++layer) {
    const Picoseconds forward(SometimesZero(options.max_time, random));
    const Picoseconds backward(options.has_backward ? SometimesZero(options.max_time, random) : 0);
    chain.layers.push_back({forward, backward, SometimesZero(20, random), SometimesZero(30, random),
                            random.Below(3) == 0 ? random.Between(0, 10) : 0});
    if (layer == 0) continue;
    const Picoseconds send(SometimesZero(options.max_time / 2, random));
    chain.cuts.push_back({send, options.has_backward ? send : Picoseconds(0), SometimesZero(5, random)});
  }
  chain.layers.front().forward += Picoseconds(1);
  return chain;
}

ChainAllocation MakeRandomAllocation(int32_t layers, int32_t devices, int32_t max_stages_per_device,
                                     RandomStream& random) {
  const int32_t most = std::min(layers, devices * max_stages_per_device);
  ChainAllocation allocation = MakeRandomStages(layers, static_cast<int32_t>(random.Between(1, most)), random);
  std::vector<int32_t> stages_of(Index(devices), 0);
  for (ChainStage& stage : allocation) {
    do {
      stage.device = static_cast<int32_t>(random.Below(static_cast<uint64_t>(devices)));
    } while (stages_of[Index(stage.device)] == max_stages_per_device);
    ++stages_of[Index(stage.device)];
  }
  return allocation;
}

ChainAllocation MakeRandomContiguousAllocation(int32_t layers, int32_t max_devices, RandomStream& random) {
  const auto stages = static_cast<int32_t>(random.Between(1, std::min(layers, max_devices)));
  ChainAllocation allocation = MakeRandomStages(layers, stages, random);
  for (int32_t stage = 0; stage < stages; ++stage) allocation[Index(stage)].device = stage;
  return allocation;
}

int64_t BytesWithBatches(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation,
                         double batches) {
  std::vector<double> bytes(Index(devices.count), 0);
  for (const auto& [first, last, device] : allocation) {
    bytes[Index(device)] += batches * static_cast<double>(chain.layers[Index(first)].received_bytes);
    for (int32_t layer = first; layer <= last; ++layer) {
      const ChainLayer& held = chain.layers[Index(layer)];
      bytes[Index(device)] += static_cast<double>(held.static_bytes + held.workspace_bytes) +
                              batches * static_cast<double>(held.stored_bytes);
    }
  }
  return static_cast<int64_t>(*std::max_element(bytes.begin(), bytes.end()));
}

}  // namespace planwright
