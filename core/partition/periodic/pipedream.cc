#include "core/partition/periodic/pipedream.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/partition/periodic/stage_costs.h"
#include "core/partition/search/slowest_piece.h"

namespace planwright {
namespace {

ChainAllocation AllocationOf(const std::vector<int32_t>& ends) {
  ChainAllocation allocation;
  int32_t first = 0;
  for (const int32_t end : ends) {
    allocation.push_back({first, end - 1, static_cast<int32_t>(allocation.size())});
    first = end;
  }
  return allocation;
}

}  // namespace

std::optional<PeriodicAllocation> PipedreamPartition(const Chain& chain, const ChainDevices& devices) {
  const ChainStageCosts costs(chain, devices);
  const int32_t max_stages = std::min(devices.count, costs.num_layers());
  const LeastSlowestCuts cuts(costs.num_layers(), max_stages, [&](int32_t first, int32_t next, int32_t behind) {
    if (!costs.Fits(first, next - 1, behind + 1)) return LeastSlowestCuts::kNever;
    const Picoseconds link = first > 0 ? costs.LinkLoad(first) : Picoseconds(0);
    const int64_t load = std::max(costs.Load(first, next - 1), link).count();
    return load < kMaxQuantity ? load : LeastSlowestCuts::kNever;
  });
  int32_t best = 0;
  for (int32_t stages = 1; stages <= max_stages; ++stages) {
    if (cuts.Slowest(stages) < cuts.Slowest(best)) best = stages;
  }
  if (best == 0) return std::nullopt;
  const Picoseconds load(cuts.Slowest(best));
  return PeriodicAllocation{AllocationOf(cuts.EndsOf(best)), std::max(load, Picoseconds(1))};
}

}  // namespace planwright
