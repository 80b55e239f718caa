#include "core/cost/chain/pattern_memory.h"

#include <algorithm>
#include <cstddef>

#include "core/base/index.h"
#include "core/base/units.h"

namespace planwright {
namespace {

// When micro-batch 0 is stored.
struct Storage {
  Picoseconds begin{0};
  Picoseconds end{0};
};

std::vector<Storage> StorageOf(const Chain& chain, const ChainSums& sums, const ChainAllocation& allocation,
                               const PeriodicPattern& pattern) {
  std::vector<Storage> storage(allocation.size());
  for (const PatternTask& task : pattern.tasks) {
    const auto& [first, last, device] = allocation[task.stage.index()];
    const Picoseconds start = task.start + task.shift * pattern.period;
    Storage& stored = storage[task.stage.index()];
    if (task.operation == PatternOperation::kForward) {
      stored.begin = start;
      if (!chain.has_backward) stored.end = start + sums.forward(first, last);
    }
    if (task.operation == PatternOperation::kBackward) stored.end = start + sums.backward(first, last);
  }
  return storage;
}

// How many multiples of `period` from `time` on are not after `now`, less those of micro-batches before 0: differences
// of two such numbers count micro-batches.
int64_t RepeatsUntil(Picoseconds now, Picoseconds time, Picoseconds period) {
  const Picoseconds since = now - time;
  return since / period - (since % period < Picoseconds(0) ? 1 : 0);
}

}  // namespace

std::vector<int64_t> FixedBytes(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                                const ChainAllocation& allocation) {
  std::vector<int64_t> bytes(Index(devices.count), 0);
  std::vector<int64_t> workspace(Index(devices.count), 0);
  for (std::size_t stage = 0; stage < allocation.size(); ++stage) {
    const auto& [first, last, device] = allocation[stage];
    bytes[Index(device)] += sums.static_bytes(first, last);
    workspace[Index(device)] = std::max(workspace[Index(device)], sums.workspace_bytes(first, last));
    if (stage + 1 == allocation.size() || allocation[stage + 1].device == device) continue;
    bytes[Index(device)] += chain.cuts[Index(last)].buffer_bytes;
    bytes[Index(allocation[stage + 1].device)] += chain.cuts[Index(last)].buffer_bytes;
  }
  for (std::size_t device = 0; device < bytes.size(); ++device) bytes[device] += workspace[device];
  return bytes;
}

PatternMemory MemoryOf(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                       const ChainAllocation& allocation, const PeriodicPattern& pattern) {
  const std::vector<Storage> storage = StorageOf(chain, sums, allocation, pattern);
  const std::vector<int64_t> fixed = FixedBytes(chain, sums, devices, allocation);
  PatternMemory memory{fixed, std::vector<int32_t>(allocation.size(), 1)};
  // Where a micro-batch turns back, all stages of a device store it.
  for (const auto& [first, last, device] : allocation) {
    if (chain.has_backward) memory.peak_bytes[Index(device)] += sums.stored_bytes(first, last);
  }
  for (std::size_t starting = 0; starting < allocation.size(); ++starting) {
    const int32_t device = allocation[starting].device;
    const Picoseconds now = storage[starting].begin;
    int64_t bytes = fixed[Index(device)];
    for (std::size_t stage = 0; stage < allocation.size(); ++stage) {
      if (allocation[stage].device != device) continue;
      const int64_t stored = RepeatsUntil(now, storage[stage].begin, pattern.period) -
                             RepeatsUntil(now, storage[stage].end, pattern.period);
      memory.stored[stage] = std::max(memory.stored[stage], static_cast<int32_t>(stored));
      bytes += stored * sums.stored_bytes(allocation[stage].first_layer, allocation[stage].last_layer);
    }
    memory.peak_bytes[Index(device)] = std::max(memory.peak_bytes[Index(device)], bytes);
  }
  return memory;
}

}  // namespace planwright
