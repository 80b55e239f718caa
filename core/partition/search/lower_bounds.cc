#include "core/partition/search/lower_bounds.h"

#include <algorithm>
#include <numeric>

namespace planwright {
namespace {

// The least load of a stage that holds `block` and lies on devices of `pool`: transfers may be none.
int64_t LeastLoad(const BlockInstance& instance, std::size_t pool, std::size_t block) {
  ReplicaWork stage;
  const int64_t backward = instance.rule.has_phases ? instance.pools[pool].backward_time[block] : 0;
  stage.work.forward.compute = Picoseconds(instance.pools[pool].time[block] - backward);
  stage.work.backward.compute = Picoseconds(backward);
  if (!instance.parameter_bytes.empty()) stage.parameter_bytes = instance.parameter_bytes[block];
  int64_t least = LoadRule::kNone;
  for (int64_t replicas = 1; replicas <= instance.max_replicas(pool); ++replicas) {
    least = std::min(least, instance.rule.Load(stage, replicas));
  }
  return least;
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
  int64_t largest = 0;
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    int64_t least = kMaxQuantity;
    for (std::size_t pool = 0; pool < instance.pools.size(); ++pool) {
      if (instance.pools[pool].supported[block]) least = std::min(least, LeastLoad(instance, pool, block));
    }
    largest = std::max(largest, least);
  }
  return {{Picoseconds(windows.WorkBound(TrivialLoadBound(instance))), "work", BoundScope::kProblem},
          {Picoseconds(largest), "largest_block", BoundScope::kProblem}};
}

}  // namespace planwright
