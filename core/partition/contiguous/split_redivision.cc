#include "core/partition/contiguous/split_redivision.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/graph/topological_order.h"
#include "core/partition/contiguous/linearized_dp.h"

namespace planwright {
namespace {

// A random topological order that goes through the stages of `split` one after the other.
std::vector<int32_t> RandomOrder(const BlockInstance& instance, const BlockSplit& split, RandomStream& random) {
  std::vector<int64_t> priority(instance.operators.size());
  for (int64_t& value : priority) value = static_cast<int64_t>(random.Next() >> 1U);
  std::vector<std::size_t> stage_of(instance.operators.size());
  for (std::size_t stage = 0; stage < split.stages.size(); ++stage) {
    for (const int32_t block : split.stages[stage].blocks) stage_of[static_cast<std::size_t>(block)] = stage;
  }
  std::vector<int32_t> order = DepthFirstTopologicalOrder(instance.precedence, priority);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return stage_of[static_cast<std::size_t>(a)] < stage_of[static_cast<std::size_t>(b)];
  });
  return order;
}

}  // namespace

BlockSplit RedivideAlongOrders(const BlockInstance& instance, const LoadWindows& windows, BlockSplit split,
                               int64_t lower_bound, int max_failures, const SolveLimits& limits, RandomStream& random,
                               int64_t& rounds) {
  for (int failures = 0; failures < max_failures && split.max_load > lower_bound; ++rounds) {
    const std::vector<int32_t> order = RandomOrder(instance, split, random);
    bool was_interrupted = false;
    std::optional<BlockSplit> better =
        LinearizedSplit(instance, windows, order, split.max_load - 1, limits, was_interrupted);
    if (was_interrupted || CheckInterruption(limits).has_value()) break;
    failures = better.has_value() ? 0 : failures + 1;
    if (better.has_value()) split = *std::move(better);
  }
  return split;
}

}  // namespace planwright
