#include "core/partition/periodic/contiguous_optimum.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/base/units.h"
#include "core/partition/periodic/stage_costs.h"
#include "core/partition/search/slowest_piece.h"
#include "core/schedule/delay.h"
#include "core/schedule/least_period.h"
#include "core/schedule/one_f_one_b_star.h"

namespace planwright {
namespace {

// The best known way to run the layers from some layer on with some number of stages.
struct Tail {
  bool is_possible = false;
  // The delay in front of the cut before the first of these layers.
  Delay delay;
  // First layer of the next stage.
  int32_t next = 0;
};

class ContiguousProgram {
 public:
  ContiguousProgram(const Chain& chain, const ChainDevices& devices)
      : costs_(chain, devices),
        num_layers_(costs_.num_layers()),
        max_stages_(std::min(devices.count, num_layers_)),
        tails_(Index(max_stages_ + 1) * Index(num_layers_ + 1)) {}

  // An allocation with the fewest stages; nullopt: the period is not possible.
  std::optional<ChainAllocation> Decide(Picoseconds period) {
    std::fill(tails_.begin(), tails_.end(), Tail{});
    At(0, num_layers_).is_possible = true;
    for (int32_t stages = 1; stages <= max_stages_; ++stages) {
      const int32_t last_start = LastStart(max_stages_ - stages, period);
      for (int32_t next = num_layers_; next > 0; --next) {
        if (IsWorthwhile(stages - 1, next)) AddStages(stages, next, last_start, period);
      }
      if (At(stages, 0).is_possible) return AllocationOf(stages);
    }
    return std::nullopt;
  }

 private:
  Tail& At(int32_t stages, int32_t first) { return tails_[Index(stages) * Index(num_layers_ + 1) + Index(first)]; }

  // The last layer in front of which so many stages may do all the work.
  int32_t LastStart(int32_t stages, Picoseconds period) const {
    const Picoseconds most(SaturatingMultiply(period.count(), stages));
    int32_t first = num_layers_ - 1;
    while (first > 0 && costs_.Load(0, first - 1) > most) --first;
    return first;
  }

  // False: there is no such tail, or one stage less does as well.
  bool IsWorthwhile(int32_t stages, int32_t first) {
    const Tail& tail = At(stages, first);
    if (!tail.is_possible || stages == 0) return tail.is_possible;
    const Tail& shorter = At(stages - 1, first);
    return !shorter.is_possible || tail.delay < shorter.delay;
  }

  // Every stage that ends before the layer `next` and starts no later than `last_start`, in front of the `stages` - 1
  // from `next` on.
  void AddStages(int32_t stages, int32_t next, int32_t last_start, Picoseconds period) {
    const Delay behind = At(stages - 1, next).delay;
    for (int32_t first = std::min(next - 1, last_start); first >= 0; --first) {
      const Picoseconds load = costs_.Load(first, next - 1);
      if (load > period) return;
      if (first > 0 && costs_.LinkLoad(first) > period) continue;
      const Delay delay = costs_.InFront(first, next - 1, behind, period);
      if (!costs_.Fits(first, next - 1, costs_.Batches(delay))) continue;
      const Delay in_front = first > 0 ? costs_.AcrossCut(first, delay, period) : delay;
      Tail& tail = At(stages, first);
      if (!tail.is_possible || in_front < tail.delay) tail = {true, in_front, next};
    }
  }

  ChainAllocation AllocationOf(int32_t stages) {
    ChainAllocation allocation;
    int32_t first = 0;
    for (int32_t device = 0; device < stages; ++device) {
      const int32_t next = At(stages - device, first).next;
      allocation.push_back({first, next - 1, device});
      first = next;
    }
    return allocation;
  }

  const ChainStageCosts costs_;
  const int32_t num_layers_;
  const int32_t max_stages_;
  // By number of stages, then by first layer.
  std::vector<Tail> tails_;
};

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

std::optional<PeriodicAllocation> ContiguousOptimum(const Chain& chain, const ChainDevices& devices) {
  const PeriodRange range = PeriodsOf(chain, devices);
  ContiguousProgram program(chain, devices);
  PeriodicAllocation best;
  const std::optional<Picoseconds> period = LeastPeriod(range.low, range.high, [&](Picoseconds target) {
    std::optional<ChainAllocation> found = program.Decide(target);
    if (!found.has_value()) return std::optional<Picoseconds>();
    best.period = *SmallestPeriod(chain, *found, devices);
    best.allocation = std::move(*found);
    return std::optional(best.period);
  });
  return period.has_value() ? std::optional(best) : std::nullopt;
}

std::optional<MemoryShortage> ShortageOfContiguous(const Chain& chain, const ChainDevices& devices) {
  if (!devices.memory_bytes.has_value()) return std::nullopt;
  const ChainStageCosts costs(chain, devices);
  const int32_t num_layers = costs.num_layers();
  // The fewest stages that hold the layers from each one on.
  constexpr int32_t kMany = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> stages(Index(num_layers) + 1, kMany);
  stages.back() = 0;
  for (int32_t next = num_layers; next > 0; --next) {
    if (stages[Index(next)] >= devices.count) continue;
    for (int32_t first = next - 1; first >= 0; --first) {
      if (!costs.Fits(first, next - 1, 1)) continue;
      stages[Index(first)] = std::min(stages[Index(first)], stages[Index(next)] + 1);
    }
  }
  const auto reached = std::find_if(stages.begin(), stages.end(), [](int32_t count) { return count != kMany; });
  const auto left_over = static_cast<int32_t>(reached - stages.begin()) - 1;
  if (left_over < 0) return std::nullopt;
  MemoryShortage shortage{left_over, std::numeric_limits<int64_t>::max(), *devices.memory_bytes};
  for (int32_t next = left_over + 1; next <= num_layers; ++next) {
    if (stages[Index(next)] >= devices.count) continue;
    shortage.needed_bytes = std::min(shortage.needed_bytes, costs.Bytes(left_over, next - 1, 1));
  }
  return shortage;
}

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
