#include "core/partition/contiguous/linearized_dp.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/graph/digraph.h"
#include "core/partition/contiguous/block_split.h"
#include "core/partition/contiguous/interval_costs.h"
#include "core/partition/search/load_windows.h"

namespace planwright {
namespace {

// The largest end such that [start, end) has load at most max_load on a device of `pool` and fits, and its load; the
// end is `start` when there is none. `stage` is empty before and after.
struct Filling {
  std::size_t end = 0;
  int64_t load = 0;
};
Filling FillDevice(const BlockInstance& instance, const std::vector<int32_t>& order, std::size_t start,
                   std::size_t pool, int64_t max_load, StageGrowth& stage) {
  Filling furthest{start, 0};
  for (std::size_t end = start; end < order.size();) {
    stage.Add(order[end++]);
    if (stage.Compute(pool) > instance.rule.ComputeBudget(max_load) || stage.IsTooLarge(pool)) break;
    const int64_t load = stage.Load(pool, 1);
    if (load <= max_load && stage.Fits(pool)) furthest = {end, load};
  }
  stage.Clear();
  return furthest;
}

void AddStage(BlockSplit& split, std::size_t pool, int64_t replicas, const std::vector<int32_t>& order,
              std::size_t start, std::size_t end) {
  BlockSplit::Stage& stage = split.stages.emplace_back();
  stage.pool = pool;
  stage.replicas = replicas;
  stage.blocks.assign(order.begin() + static_cast<std::ptrdiff_t>(start),
                      order.begin() + static_cast<std::ptrdiff_t>(end));
  std::sort(stage.blocks.begin(), stage.blocks.end());
}

std::optional<BlockSplit> FillGreedily(const BlockInstance& instance, const std::vector<int32_t>& order,
                                       int64_t max_load, StageGrowth& stage) {
  std::vector<std::size_t> left = Mapped(instance.pools, [&](const DevicePool& pool) { return pool.devices.size(); });
  BlockSplit split;
  std::size_t start = 0;
  while (start < order.size()) {
    Filling filling{start, 0};
    for (std::size_t pool = 0; pool < left.size() && filling.end == start; ++pool) {
      if (left[pool] == 0) continue;
      filling = FillDevice(instance, order, start, pool, max_load, stage);
      if (filling.end == start) continue;
      --left[pool];
      AddStage(split, pool, /*replicas=*/1, order, start, filling.end);
      split.max_load = std::max(split.max_load, filling.load);
    }
    if (filling.end == start) return std::nullopt;
    start = filling.end;
  }
  return split;
}

// States between two looks at the limits: each may take a pass over all positions.
constexpr std::size_t kStatesPerCheck = 256;

// The dynamic program. Value (state, position): the least max load of a split of the blocks before the position over
// exactly the devices of the state, each with a stage or a replica of one.
class Program {
 public:
  Program(const BlockInstance& instance, const LoadWindows& windows, const std::vector<int32_t>& order,
          int64_t max_load, const SolveLimits& limits, std::span<const std::size_t> first_starts,
          std::span<const int64_t> more_stored)
      : instance_(instance),
        windows_(windows),
        order_(order),
        max_load_(max_load),
        limits_(limits),
        first_starts_(first_starts),
        more_stored_(more_stored),
        costs_(instance, order) {
    for (const int32_t block : order) {
      linear_before_.push_back(linear_before_.back() + instance.memory.linear[Index(block)]);
    }
  }

  std::optional<BlockSplit> Run(bool& was_interrupted) {
    was_interrupted = !AllocateRows();
    if (was_interrupted) return std::nullopt;
    rows_[0].At(0) = {0, 0, 0};
    loads_.resize(order_.size() + 1);
    for (std::size_t end = 1; end <= order_.size(); ++end) {
      // Even ends without states take a look at every state.
      was_interrupted = CheckInterruption(limits_).has_value() || !ExtendTo(end);
      if (was_interrupted) return std::nullopt;
    }
    return Best();
  }

 private:
  struct Entry {
    int64_t value = IntervalCosts::kInfeasible;
    uint32_t start = 0;
    // kMaxStates leaves room for few pools and fewer than 2^24 devices.
    uint32_t pool : 8 = 0;
    uint32_t replicas : 24 = 0;
  };
  // The entries of one state: positions first .. first + entries.size() - 1.
  struct Row {
    std::size_t first = 0;
    std::vector<Entry> entries;

    std::size_t end() const { return first + entries.size(); }
    Entry& At(std::size_t position) { return entries[position - first]; }
    const Entry& At(std::size_t position) const { return entries[position - first]; }
  };

  // False: they take too much memory, which is known before any is taken; or interrupted.
  bool AllocateRows() {
    std::vector<int64_t> weight_before(1, 0);
    for (const int32_t block : order_) weight_before.push_back(weight_before.back() + windows_.weight(block));
    std::vector<std::size_t> lengths;
    int64_t bytes = 0;
    for (const LoadWindow& window : windows_.At(max_load_)) {
      const auto low = std::lower_bound(weight_before.begin(), weight_before.end(), window.min_weight);
      const auto high = std::upper_bound(low, weight_before.end(), window.max_weight);
      rows_.emplace_back().first = static_cast<std::size_t>(low - weight_before.begin());
      lengths.push_back(static_cast<std::size_t>(high - low));
      bytes += (high - low) * static_cast<int64_t>(sizeof(Entry));
      if (bytes > limits_.memory_bytes) return false;
    }
    for (std::size_t state = 0; state < rows_.size(); ++state) {
      if (CheckInterruption(limits_).has_value()) return false;
      rows_[state].entries.resize(lengths[state]);
    }
    // No device at all reaches the empty prefix only.
    rows_[0].first = 0;
    rows_[0].entries.assign(1, Entry());
    for (std::size_t state = 1; state < rows_.size(); ++state) {
      if (!rows_[state].entries.empty()) by_first_.push_back(state);
    }
    return true;
  }

  std::vector<std::size_t> StatesAt(std::size_t position) const {
    std::vector<std::size_t> states;
    for (const std::size_t state : by_first_) {
      if (position >= rows_[state].first && position < rows_[state].end()) states.push_back(state);
    }
    return states;
  }

  // Fills the entries at `end`. False: interrupted.
  bool ExtendTo(std::size_t end) {
    const std::vector<std::size_t> states = StatesAt(end);
    costs_.MoveTo(end);
    if (states.empty()) return true;
    for (std::size_t pool = 0; pool < windows_.states().num_pools(); ++pool) {
      const int64_t max_replicas = MaxReplicas(pool, states);
      for (int64_t replicas = 1; replicas <= max_replicas; ++replicas) {
        if (replicas > 1 && CheckInterruption(limits_).has_value()) return false;
        const std::size_t least_start = first_starts_.empty() ? 0 : first_starts_[end];
        const std::size_t first = std::max(least_start, costs_.Loads(pool, replicas, max_load_, loads_));
        for (std::size_t i = 0; i < states.size(); ++i) {
          if ((i + 1) % kStatesPerCheck == 0 && CheckInterruption(limits_).has_value()) return false;
          Extend(states[i], pool, replicas, first, end);
        }
      }
    }
    return true;
  }

  // The most devices of `pool` that the last stage can have in one of `states`.
  int64_t MaxReplicas(std::size_t pool, const std::vector<std::size_t>& states) const {
    int64_t most = 0;
    for (const std::size_t state : states) most = std::max(most, windows_.states().used(state, pool));
    return std::min(most, instance_.max_replicas(pool));
  }

  // Bytes that a stage that ends a pipeline on the devices of `state` keeps for each byte of linear memory, beside the
  // first.
  int64_t MoreStored(std::size_t state) const {
    if (more_stored_.empty()) return 0;
    std::size_t behind = more_stored_.size() - 1;
    for (std::size_t pool = 0; pool < windows_.states().num_pools(); ++pool) {
      behind -= static_cast<std::size_t>(windows_.states().used(state, pool));
    }
    return more_stored_[behind];
  }

  void Extend(std::size_t state, std::size_t pool, int64_t replicas, std::size_t first_start, std::size_t end) {
    if (windows_.states().used(state, pool) < replicas) return;
    const Row& from = rows_[windows_.states().without(state, pool, replicas)];
    Entry& entry = rows_[state].At(end);
    const int64_t more_stored = MoreStored(state);
    const std::size_t begin = std::max(first_start, from.first);
    for (std::size_t start = begin; start < std::min(end, from.end()); ++start) {
      const int64_t value = std::max(from.At(start).value, loads_[start]);
      if (value >= entry.value) continue;
      const int64_t linear = linear_before_[end] - linear_before_[start];
      if (more_stored > 0 && SaturatingMultiply(more_stored, linear) > costs_.Room(start)) continue;
      entry = {value, static_cast<uint32_t>(start), static_cast<uint8_t>(pool),
               static_cast<uint32_t>(replicas) & 0xFFFFFFU};
    }
  }

  std::optional<BlockSplit> Best() const {
    const std::size_t end = order_.size();
    std::optional<std::size_t> best;
    for (std::size_t state = instance_.uses_all_devices ? rows_.size() - 1 : 0; state < rows_.size(); ++state) {
      if (rows_[state].entries.empty() || rows_[state].first > end || rows_[state].end() <= end) continue;
      const int64_t value = rows_[state].At(end).value;
      if (value <= max_load_ && (!best.has_value() || value < rows_[*best].At(end).value)) best = state;
    }
    if (!best.has_value()) return std::nullopt;
    return Backtrack(*best);
  }

  BlockSplit Backtrack(std::size_t state) const {
    BlockSplit split;
    std::size_t position = order_.size();
    split.max_load = rows_[state].At(position).value;
    while (position > 0) {
      const Entry& entry = rows_[state].At(position);
      const std::size_t pool = entry.pool;
      AddStage(split, pool, entry.replicas, order_, std::size_t{entry.start}, position);
      position = std::size_t{entry.start};
      state = windows_.states().without(state, pool, entry.replicas);
    }
    std::reverse(split.stages.begin(), split.stages.end());
    return split;
  }

  const BlockInstance& instance_;
  const LoadWindows& windows_;
  const std::vector<int32_t>& order_;
  const int64_t max_load_;
  const SolveLimits& limits_;
  const std::span<const std::size_t> first_starts_;
  const std::span<const int64_t> more_stored_;
  // By position.
  std::vector<int64_t> linear_before_{0};
  IntervalCosts costs_;
  // By start, for the end and pool at hand.
  std::vector<int64_t> loads_;
  std::vector<Row> rows_;
  std::vector<std::size_t> by_first_;
};

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

std::optional<BlockSplit> GreedySplit(const BlockInstance& instance, const std::vector<int32_t>& order,
                                      int64_t lower_bound) {
  StageGrowth stage(instance);
  int64_t low = lower_bound;
  int64_t high = TrivialLoadBound(instance);
  std::optional<BlockSplit> best = FillGreedily(instance, order, high, stage);
  if (!best.has_value()) return best;
  // Precise enough for a first plan; greedy filling is not monotone in the target anyway.
  const auto is_close = [&] { return high - low <= high / 1024; };
  for (high = best->max_load; low < high && !is_close();) {
    const int64_t middle = low + (high - low) / 2;
    std::optional<BlockSplit> split = FillGreedily(instance, order, middle, stage);
    if (split.has_value()) {
      high = split->max_load;
      best = std::move(split);
    } else {
      low = middle + 1;
    }
  }
  return best;
}

std::optional<BlockSplit> LinearizedSplit(const BlockInstance& instance, const LoadWindows& windows,
                                          const std::vector<int32_t>& order, int64_t max_load,
                                          const SolveLimits& limits, bool& was_interrupted,
                                          std::span<const std::size_t> first_starts,
                                          std::span<const int64_t> more_stored) {
  return Program(instance, windows, order, max_load, limits, first_starts, more_stored).Run(was_interrupted);
}

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
