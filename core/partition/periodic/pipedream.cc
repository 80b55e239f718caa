#include "core/partition/periodic/pipedream.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/index.h"
#include "core/base/units.h"
#include "core/partition/periodic/stage_costs.h"

namespace planwright {
namespace {

constexpr Picoseconds kImpossible(kMaxQuantity);

// The best way to run the layers from some layer on with some number of stages.
struct Tail {
  Picoseconds load = kImpossible;
  int32_t next = 0;
};

// [stages][first layer].
using Tails = std::vector<std::vector<Tail>>;

void AddStages(const ChainStageCosts& costs, int32_t next, int32_t batches, const std::vector<Tail>& behind,
               std::vector<Tail>& tails) {
  for (int32_t first = next - 1; first >= 0; --first) {
    if (!costs.Fits(first, next - 1, batches)) continue;
    Picoseconds load = std::max(behind[Index(next)].load, costs.Load(first, next - 1));
    if (first > 0) load = std::max(load, costs.LinkLoad(first));
    if (load < tails[Index(first)].load) tails[Index(first)] = {load, next};
  }
}

ChainAllocation AllocationOf(const Tails& tails, int32_t stages) {
  ChainAllocation allocation;
  int32_t first = 0;
  for (int32_t device = 0; device < stages; ++device) {
    const int32_t next = tails[Index(stages - device)][Index(first)].next;
    allocation.push_back({first, next - 1, device});
    first = next;
  }
  return allocation;
}

}  // namespace

std::optional<PeriodicAllocation> PipedreamPartition(const Chain& chain, const ChainDevices& devices,
                                                     PipedreamMemory memory) {
  const ChainStageCosts costs(chain, devices);
  const int32_t num_layers = costs.num_layers();
  const int32_t max_stages = std::min(devices.count, num_layers);
  Tails tails(Index(max_stages) + 1, std::vector<Tail>(Index(num_layers) + 1));
  tails[0].back().load = Picoseconds(0);
  int32_t best = 0;
  for (int32_t stages = 1; stages <= max_stages; ++stages) {
    const int32_t batches = memory == PipedreamMemory::kByDepth ? stages : devices.count;
    for (int32_t next = num_layers; next > 0; --next) {
      if (tails[Index(stages) - 1][Index(next)].load == kImpossible) continue;
      AddStages(costs, next, batches, tails[Index(stages) - 1], tails[Index(stages)]);
    }
    if (tails[Index(stages)].front().load < tails[Index(best)].front().load) best = stages;
  }
  const Picoseconds load = tails[Index(best)].front().load;
  if (load == kImpossible) return std::nullopt;
  return PeriodicAllocation{AllocationOf(tails, best), std::max(load, Picoseconds(1))};
}

}  // namespace planwright
