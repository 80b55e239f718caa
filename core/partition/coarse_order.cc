#include "core/partition/coarse_order.h"

#include <algorithm>
#include <limits>

#include "core/base/index.h"

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

// Of each block on the pool where it is quickest, and a little for blocks that take no time.
std::vector<double> Weights(const BlockInstance& instance) {
  std::vector<double> weights(Index(instance.num_blocks()), std::numeric_limits<double>::max());
  double sum = 0;
  for (std::size_t block = 0; block < weights.size(); ++block) {
    for (const DevicePool& pool : instance.pools) {
      if (pool.supported[block]) weights[block] = std::min(weights[block], static_cast<double>(pool.time[block]));
    }
    if (weights[block] == std::numeric_limits<double>::max()) weights[block] = 0;
    sum += weights[block];
  }
  const double least = std::max(sum, 1.0) / static_cast<double>(weights.size());
  for (double& weight : weights) weight += least;
  return weights;
}

}  // namespace

std::vector<int32_t> RunsOf(const BlockInstance& instance, const std::vector<int32_t>& order, std::size_t max_runs) {
  const std::vector<int64_t> borders = Borders(instance, order);
  const std::vector<double> weights = Weights(instance);
  double total = 0;
  for (const double weight : weights) total += weight;

  // The cheapest boundary of each bucket; 0: none yet.
  std::vector<std::size_t> cheapest(max_runs - 1, 0);
  double sum = 0;
  for (std::size_t boundary = 1; boundary < order.size() && !cheapest.empty(); ++boundary) {
    sum += weights[Index(order[boundary - 1])];
    const auto bucket = static_cast<std::size_t>(sum / total * static_cast<double>(cheapest.size()));
    std::size_t& best = cheapest[std::min(bucket, cheapest.size() - 1)];
    if (best == 0 || borders[boundary] < borders[best]) best = boundary;
  }
  std::vector<bool> is_cut(order.size(), false);
  for (const std::size_t boundary : cheapest) is_cut[boundary] = boundary > 0;
  std::vector<int32_t> run_of(order.size(), 0);
  int32_t run = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (is_cut[i]) ++run;
    run_of[Index(order[i])] = run;
  }
  return run_of;
}

}  // namespace planwright
