#include "core/partition/lower_bounds.h"

#include <algorithm>
#include <numeric>

namespace planwright {

int64_t TrivialLoadBound(const BlockInstance& instance) {
  int64_t bound = 0;
  for (const DevicePool& pool : instance.pools) {
    bound = std::max(bound, std::accumulate(pool.time.begin(), pool.time.end(), int64_t{0}));
  }
  for (const Net& net : instance.nets) bound = SaturatingAdd(bound, SaturatingAdd(net.weight, net.weight));
  return bound;
}

std::vector<Bound> ElementaryBounds(const BlockInstance& instance, const LoadWindows& windows) {
  int64_t largest = 0;
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    int64_t least = kMaxQuantity;
    for (const DevicePool& pool : instance.pools) {
      if (pool.supported[block]) least = std::min(least, pool.time[block]);
    }
    largest = std::max(largest, least);
  }
  return {{Picoseconds(windows.WorkBound(TrivialLoadBound(instance))), "work", BoundScope::kProblem},
          {Picoseconds(largest), "largest_block", BoundScope::kProblem}};
}

}  // namespace planwright
