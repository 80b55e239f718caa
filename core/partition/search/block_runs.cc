#include "core/partition/search/block_runs.h"

#include <algorithm>
#include <limits>

#include "core/base/index.h"
#include "core/graph/chain.h"

namespace planwright {
namespace {

// Total weight of the nets that each boundary of the order cuts; boundary i is before the i-th block.
std::vector<int64_t> Borders(const BlockInstance& instance, const std::vector<int32_t>& order) {
  std::vector<int64_t> borders(order.size() + 1, 0);
  std::vector<std::size_t> pins_before(instance.nets.size(), 0);
  int64_t cut = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const int32_t net : instance.nets_of[Index(order[i])]) {
      const Net& data = instance.nets[Index(net)];
      const std::size_t before = ++pins_before[Index(net)];
      cut += data.weight * ((before == 1 ? 1 : 0) - (before == data.blocks.size() ? 1 : 0));
    }
    borders[i + 1] = cut;
  }
  return borders;
}

// Returns the time of each block, in the order, on the pool where it is quickest; 0 where no pool supports it.
std::vector<double> Weights(const BlockInstance& instance, const std::vector<int32_t>& order) {
  constexpr double kNone = std::numeric_limits<double>::max();
  std::vector<double> weights(order.size(), kNone);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const DevicePool& pool : instance.pools) {
      const std::size_t block = Index(order[i]);
      if (pool.supported[block]) weights[i] = std::min(weights[i], static_cast<double>(pool.time[block]));
    }
    if (weights[i] == kNone) weights[i] = 0;
  }
  return weights;
}

}  // namespace

std::vector<int32_t> RunsOf(const BlockInstance& instance, const std::vector<int32_t>& order, std::size_t max_runs) {
  const std::vector<int32_t> runs = RunsOfOrder(Weights(instance, order), Borders(instance, order), max_runs);
  std::vector<int32_t> run_of(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) run_of[Index(order[i])] = runs[i];
  return run_of;
}

}  // namespace planwright
