#include "core/partition/search/lower_bounds.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/interruption.h"

namespace planwright {
namespace {

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
