#include "core/partition/search/load_windows.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/interruption.h"

namespace planwright {
namespace {

__extension__ using Wide = __int128;

std::vector<int64_t> BlockWeights(const BlockInstance& instance) {
  std::vector<int64_t> weights(instance.operators.size(), 0);
  for (std::size_t block = 0; block < weights.size(); ++block) {
    for (const DevicePool& pool : instance.pools) {
      if (!pool.supported[block]) continue;
      weights[block] = pool.time[block];
      break;
    }
  }
  return weights;
}

// Units of polling.
constexpr std::size_t kUnitsPerLoad = 16;

// A stage that holds `block` alone and lies on devices of `pool`: transfers may be none.
ReplicaWork WorkOf(const BlockInstance& instance, std::size_t pool, std::size_t block) {
  ReplicaWork stage;
  const int64_t backward = instance.rule.has_phases ? instance.pools[pool].backward_time[block] : 0;
  stage.work.forward.compute = Picoseconds(instance.pools[pool].time[block] - backward);
  stage.work.backward.compute = Picoseconds(backward);
  if (!instance.parameter_bytes.empty()) stage.parameter_bytes = instance.parameter_bytes[block];
  return stage;
}

// The number of replicas on which loads are least.
struct LeastLoad {
  int64_t load = LoadRule::kNone;
  int64_t replicas = 1;
};

LeastLoad LeastLoadOf(const BlockInstance& instance, const ReplicaWork& stage, int64_t max_replicas) {
  InterruptionPoint(kUnitsPerLoad * static_cast<std::size_t>(max_replicas));
  LeastLoad least;
  for (int64_t replicas = 1; replicas <= max_replicas; ++replicas) {
    const int64_t load = instance.rule.Load(stage, replicas);
    if (load < least.load) least = {load, replicas};
  }
  return least;
}

// The least load of the block for which it is greatest. Most blocks are seen to have less on the number of replicas
// that was best for the one before, so few are looked at on all of them.
int64_t LargestLeastLoad(const BlockInstance& instance) {
  int64_t largest = 0;
  std::vector<int64_t> likely(instance.pools.size(), 1);
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    InterruptionPoint(kUnitsPerLoad * instance.pools.size());
    int64_t least = kMaxQuantity;
    for (std::size_t pool = 0; pool < instance.pools.size() && least > largest; ++pool) {
      if (!instance.pools[pool].supported[block]) continue;
      const ReplicaWork stage = WorkOf(instance, pool, block);
      least = std::min(least, instance.rule.Load(stage, likely[pool]));
      if (least <= largest) break;
      const LeastLoad found = LeastLoadOf(instance, stage, instance.max_replicas(pool));
      likely[pool] = found.replicas;
      least = std::min(least, found.load);
    }
    largest = std::max(largest, least);
  }
  return largest;
}

}  // namespace

StateSpace::StateSpace(const BlockInstance& instance) {
  for (const DevicePool& pool : instance.pools) {
    strides_.push_back(size_);
    const auto devices = static_cast<int64_t>(pool.devices.size());
    device_counts_.push_back(instance.rule.replicates ? devices : std::min<int64_t>(devices, instance.num_blocks()));
    size_ = static_cast<std::size_t>(SaturatingMultiply(static_cast<int64_t>(size_), device_counts_.back() + 1));
  }
}

Capacity::Capacity(const std::vector<int64_t>& times, const std::vector<int64_t>& values,
                   const std::vector<bool>& usable, bool spare_rate)
    : times_(1, 0), values_(1, 0), spare_rate_(spare_rate) {
  std::vector<std::size_t> items;
  for (std::size_t i = 0; i < times.size(); ++i) {
    // With a spare rate, items of lower rate never pay.
    if (usable[i] && values[i] > 0 && (!spare_rate || values[i] > times[i])) items.push_back(i);
  }
  std::sort(items.begin(), items.end(), [&](std::size_t a, std::size_t b) {
    const Wide left = static_cast<Wide>(values[a]) * times[b];
    const Wide right = static_cast<Wide>(values[b]) * times[a];
    return left != right ? left > right : a < b;
  });
  for (const std::size_t item : items) {
    times_.push_back(times_.back() + times[item]);
    values_.push_back(values_.back() + values[item]);
  }
}

int64_t Capacity::At(int64_t budget) const {
  const auto beyond = std::upper_bound(times_.begin(), times_.end(), budget);
  const auto taken = static_cast<std::size_t>(beyond - times_.begin()) - 1;
  const int64_t spare = budget - times_[taken];
  int64_t extra = spare_rate_ ? spare : 0;
  if (beyond != times_.end()) {
    const Wide value = values_[taken + 1] - values_[taken];
    const int64_t time = times_[taken + 1] - times_[taken];
    extra = static_cast<int64_t>((value * spare + time - 1) / time);
  }
  return SaturatingAdd(values_[taken], extra);
}

LoadWindows::LoadWindows(const BlockInstance& instance)
    : rule_(instance.rule), states_(instance), weights_(BlockWeights(instance)) {
  total_weight_ = std::accumulate(weights_.begin(), weights_.end(), int64_t{0});
  // A device that does not pay takes over the payments for all nets of its blocks.
  std::vector<int64_t> weights_with_nets = weights_;
  for (const Net& net : instance.nets) {
    for (const int32_t block : net.blocks) {
      int64_t& weight = weights_with_nets[static_cast<std::size_t>(block)];
      weight = SaturatingAdd(weight, net.weight);
    }
  }
  for (const DevicePool& pool : instance.pools) {
    compute_.emplace_back(pool.time, weights_, pool.supported, /*spare_rate=*/false);
    with_border_.emplace_back(pool.time, pool.pays_transfers ? weights_ : weights_with_nets, pool.supported,
                              /*spare_rate=*/pool.pays_transfers);
  }
}

int64_t LoadWindows::Sum(const std::vector<Capacity>& capacities, std::size_t state, int64_t device_budget) const {
  int64_t sum = 0;
  for (std::size_t pool = 0; pool < capacities.size(); ++pool) {
    const int64_t budget = SaturatingMultiply(states_.used(state, pool), device_budget);
    if (budget > 0 || states_.used(state, pool) > 0) sum = SaturatingAdd(sum, capacities[pool].At(budget));
  }
  return sum;
}

int64_t LoadWindows::ComputeOfAllDevices(int64_t device_budget) const {
  int64_t sum = 0;
  for (std::size_t pool = 0; pool < compute_.size(); ++pool) {
    sum = SaturatingAdd(sum, compute_[pool].At(SaturatingMultiply(states_.devices(pool), device_budget)));
  }
  return sum;
}

std::vector<LoadWindow> LoadWindows::At(int64_t max_load) const {
  const int64_t budget = rule_.ComputeBudget(max_load);
  const bool pays_in_turn = rule_.overlap == Overlap::kSerial;
  std::vector<LoadWindow> windows(states_.size());
  for (std::size_t state = 0; state < windows.size(); ++state) {
    const std::size_t rest = states_.complement(state);
    LoadWindow& window = windows[state];
    window.min_weight = std::max<int64_t>(0, total_weight_ - Sum(compute_, rest, budget));
    window.max_weight = std::min(total_weight_, Sum(compute_, state, budget));
    window.max_before = pays_in_turn ? Sum(with_border_, state, budget) : kMaxQuantity;
    window.max_after = pays_in_turn ? Sum(with_border_, rest, budget) : kMaxQuantity;
  }
  return windows;
}

int64_t LoadWindows::WorkBound(int64_t upper) const {
  int64_t low = 0;
  while (low < upper) {
    const int64_t middle = low + (upper - low) / 2;
    if (ComputeOfAllDevices(rule_.ComputeBudget(middle)) >= total_weight_) {
      upper = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

int64_t TrivialLoadBound(const BlockInstance& instance) {
  int64_t bound = 0;
  for (const DevicePool& pool : instance.pools) {
    bound = std::max(bound, std::accumulate(pool.time.begin(), pool.time.end(), int64_t{0}));
  }
  for (const Net& net : instance.nets) bound = SaturatingAdd(bound, SaturatingAdd(net.weight, net.weight));
  if (!instance.rule.ring.has_value()) return bound;
  const int64_t parameter_bytes =
      std::accumulate(instance.parameter_bytes.begin(), instance.parameter_bytes.end(), int64_t{0});
  int64_t longest = 0;
  for (std::size_t pool = 0; pool < instance.pools.size(); ++pool) {
    longest = std::max(longest, instance.rule.AllReduceLoad(parameter_bytes, instance.max_replicas(pool)));
  }
  return SaturatingAdd(bound, longest);
}

std::vector<Bound> ElementaryBounds(const BlockInstance& instance, const LoadWindows& windows) {
  return {{Picoseconds(windows.WorkBound(TrivialLoadBound(instance))), "work", BoundScope::kProblem},
          {Picoseconds(LargestLeastLoad(instance)), "largest_block", BoundScope::kProblem}};
}

}  // namespace planwright
