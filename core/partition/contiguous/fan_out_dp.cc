#include "core/partition/contiguous/fan_out_dp.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/base/polling.h"
#include "core/graph/digraph.h"
#include "core/partition/contiguous/ideal_dp.h"
#include "core/partition/contiguous/ideals/chain_code.h"
#include "core/partition/contiguous/ideals/ideal_enumeration.h"
#include "core/partition/contiguous/ideals/reached_set.h"

namespace planwright {
namespace {

constexpr int64_t kStepsPerWork = 64;
// More labels are a sign of many more to come.
constexpr std::size_t kMaxLabels = std::size_t{1} << 20U;

// A fan-out that a boundary cuts.
struct OpenFanOut {
  static constexpr int32_t kNotYet = -1;

  int32_t fan_out;
  // The stage of its producer, as a position in Label::loads.
  int32_t stage;
  // Stages that have read it. Only before the producer comes; 0 afterwards.
  int32_t readers;

  bool operator==(const OpenFanOut& other) const = default;
};

struct Label {
  // Ascending by fan-out; stages are numbered as they come up here.
  std::vector<OpenFanOut> open;
  // [i]: the load of the stage that `open` numbers i.
  std::vector<int64_t> loads;
  // The last stage: where it starts, its pool, and the label that it continues (-1: none).
  uint32_t from = 0;
  std::size_t pool = 0;
  int32_t previous = -1;

  bool Dominates(const Label& other) const {
    return open == other.open && std::equal(loads.begin(), loads.end(), other.loads.begin(),
                                            [](int64_t mine, int64_t its) { return mine <= its; });
  }
};

// What a stage does with a fan-out.
struct Role {
  bool produces = false;
  bool reads = false;
  // Readers are left behind the stage.
  bool remains = false;
};

template <std::size_t W>
class FanOutSearch {
 public:
  FanOutSearch(const BlockInstance& instance, const ChainLayout& layout, const LoadWindows& windows,
               const IdealDpOptions& options, const SolveLimits& limits, TaskArena& arena,
               const FanOutDpListener& listener)
      : instance_(instance),
        layout_(layout),
        windows_(windows),
        options_(options),
        limits_(limits),
        arena_(arena),
        listener_(listener),
        costs_(instance, layout),
        roles_(instance.fan_outs.size()) {
    for (const FanOut& fan_out : instance.fan_outs) num_pins_ += static_cast<int64_t>(fan_out.consumers.size()) + 1;
  }

  // Just below the objective first, for a proof; halfway to the bound after every success.
  IdealDpRun Run(int64_t lower_bound, int64_t objective) {
    bool was_reached = false;
    while (lower_bound < objective) {
      const int64_t target = was_reached ? lower_bound + (objective - lower_bound) / 2 : objective - 1;
      const PassEnd end = Pass(target);
      ++outcome_.passes;
      was_reached = end == PassEnd::kReached;
      if (was_reached) {
        objective = std::min(target, listener_.on_split(Backtrack()));
      } else if (end == PassEnd::kRefuted) {
        lower_bound = target + 1;
        listener_.on_bound(lower_bound);
      } else {
        outcome_.end = EndOfSearch(end, limits_);
        break;
      }
    }
    outcome_.work = steps_ / kStepsPerWork;
    return outcome_;
  }

 private:
  // Labels of the ideals of one state.
  using Cell = std::vector<int32_t>;
  struct Row {
    std::vector<uint32_t> ideals;
    std::vector<Cell> cells;
  };

  PassEnd Pass(int64_t target) {
    target_ = target;
    const std::vector<LoadWindow> windows = windows_.At(target);
    const EnumerationLimits enumeration_limits{options_.max_ideals, limits_.memory_bytes / 3};
    const PassEnd end = EndOfEnumeration(EnumerateIdeals<W>(instance_, layout_, windows_, windows, costs_.NeedsMemory(),
                                                            enumeration_limits, limits_, arena_, table_));
    if (end != PassEnd::kReached) return end;
    outcome_.ideals = std::max(outcome_.ideals, static_cast<int64_t>(table_.size()));
    labels_.assign(1, Label());
    rows_.assign(windows.size(), Row());
    rows_.front() = {{0}, {{0}}};
    Poller poller(limits_);
    for (std::size_t state = 1; state < windows.size(); ++state) {
      const PassEnd filled = Fill(state, windows[state], poller);
      if (filled != PassEnd::kRefuted) return filled;
    }
    return PassEnd::kRefuted;
  }

  // kRefuted: the full ideal is not reached with these devices.
  PassEnd Fill(std::size_t state, const LoadWindow& window, Poller& poller) {
    for (uint32_t to = 1; to < table_.size(); ++to) {
      if (table_.weights[to] < window.min_weight || table_.weights[to] > window.max_weight) continue;
      Cell cell;
      for (std::size_t pool = 0; pool < windows_.states().num_pools(); ++pool) {
        if (windows_.states().used(state, pool) == 0) continue;
        const Row& row = rows_[windows_.states().without(state, pool)];
        const int64_t lightest = table_.weights[to] - windows_.StageCapacity(pool, 1, target_);
        const auto first = std::partition_point(row.ideals.begin(), row.ideals.end(),
                                                [&](uint32_t from) { return table_.weights[from] < lightest; });
        for (auto i = static_cast<std::size_t>(first - row.ideals.begin()); i < row.ideals.size(); ++i) {
          ++steps_;
          Continue(row.cells[i], row.ideals[i], to, pool, poller, cell);
          if (poller.ShouldStop(/*units=*/4)) return PassEnd::kInterrupted;
        }
        if (steps_ / kStepsPerWork > limits_.work) return PassEnd::kWorkLimit;
        if (labels_.size() > kMaxLabels) return PassEnd::kTooMuchMemory;
      }
      if (cell.empty()) continue;
      if (to + 1 == table_.size() && table_.weights[to] == windows_.total_weight()) {
        last_label_ = cell.front();
        return PassEnd::kReached;
      }
      rows_[state].ideals.push_back(to);
      rows_[state].cells.push_back(std::move(cell));
    }
    return PassEnd::kRefuted;
  }

  // Carries the labels of `from` over a stage to `to`; an interruption leaves some out.
  void Continue(const Cell& labels, uint32_t from, uint32_t to, std::size_t pool, Poller& poller, Cell& cell) {
    if (from == to || !IsSubset(table_.codes[from], table_.codes[to], layout_.top_bits())) return;
    const int64_t load = costs_.Load(table_, from, to, pool, 1);
    if (load > target_ || !costs_.Fits(table_, from, to, pool)) return;
    if (poller.ShouldStop(4 * num_pins_)) return;
    FindRoles(table_.codes[from], table_.codes[to]);
    steps_ += num_pins_;
    for (const int32_t previous : labels) {
      // The label is made, and compared with all of the cell.
      if (poller.ShouldStop(static_cast<int64_t>(64 + 8 * roles_.size() + 8 * cell.size()))) return;
      steps_ += static_cast<int64_t>(roles_.size());
      std::optional<Label> label = Extended(labels_[Index(previous)], load);
      if (!label.has_value()) continue;
      label->from = from;
      label->pool = pool;
      label->previous = previous;
      Keep(*std::move(label), cell);
    }
  }

  void Keep(Label label, Cell& cell) {
    const auto dominates = [&](int32_t other) { return labels_[Index(other)].Dominates(label); };
    if (std::any_of(cell.begin(), cell.end(), dominates)) return;
    std::erase_if(cell, [&](int32_t other) { return label.Dominates(labels_[Index(other)]); });
    cell.push_back(static_cast<int32_t>(labels_.size()));
    labels_.push_back(std::move(label));
  }

  void FindRoles(const ChainCode<W>& from, const ChainCode<W>& to) {
    const auto is_inside = [&](int32_t block) { return layout_.Contains(to, block) && !layout_.Contains(from, block); };
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      const FanOut& fan_out = instance_.fan_outs[i];
      Role& role = roles_[i] = {is_inside(fan_out.producer), false, false};
      for (const int32_t consumer : fan_out.consumers) {
        role.reads = role.reads || is_inside(consumer);
        role.remains = role.remains || !layout_.Contains(to, consumer);
      }
    }
  }

  // The label after a stage with these roles and this load by nets; nullopt: a load is above the target.
  std::optional<Label> Extended(const Label& label, int64_t load) const {
    std::vector<int64_t> loads = label.loads;
    // The stage itself.
    const auto own = static_cast<int32_t>(loads.size());
    loads.push_back(load);
    std::vector<OpenFanOut> open;
    auto known = label.open.begin();
    for (int32_t fan_out = 0; Index(fan_out) < roles_.size(); ++fan_out) {
      const Role& role = roles_[Index(fan_out)];
      OpenFanOut entry{fan_out, OpenFanOut::kNotYet, 0};
      const bool was_open = known != label.open.end() && known->fan_out == fan_out;
      if (was_open) entry = *known++;
      const int64_t weight = instance_.fan_outs[Index(fan_out)].weight;
      if (role.produces) {
        // Nets pay for one stage that reads.
        loads[Index(own)] += weight * std::max(0, entry.readers + (role.remains ? 1 : 0) - 1);
        entry = {fan_out, own, 0};
      } else if (entry.stage != OpenFanOut::kNotYet) {
        if (role.reads && role.remains) loads[Index(entry.stage)] += weight;
      } else if (role.reads) {
        ++entry.readers;
      }
      const bool is_awaited = entry.stage == OpenFanOut::kNotYet && entry.readers > 0;
      if (is_awaited || (entry.stage != OpenFanOut::kNotYet && role.remains)) open.push_back(entry);
    }
    if (std::any_of(loads.begin(), loads.end(), [&](int64_t sum) { return sum > target_; })) return std::nullopt;
    return Renumbered(std::move(open), loads);
  }

  static Label Renumbered(std::vector<OpenFanOut> open, const std::vector<int64_t>& loads) {
    Label label;
    std::vector<int32_t> number_of(loads.size(), OpenFanOut::kNotYet);
    for (OpenFanOut& entry : open) {
      if (entry.stage == OpenFanOut::kNotYet) continue;
      int32_t& number = number_of[Index(entry.stage)];
      if (number == OpenFanOut::kNotYet) {
        number = static_cast<int32_t>(label.loads.size());
        label.loads.push_back(loads[Index(entry.stage)]);
      }
      entry.stage = number;
    }
    label.open = std::move(open);
    return label;
  }

  // The split behind the last label.
  BlockSplit Backtrack() const {
    BlockSplit split;
    auto to = static_cast<uint32_t>(table_.size() - 1);
    for (int32_t position = last_label_; position > 0; position = labels_[Index(position)].previous) {
      const Label& label = labels_[Index(position)];
      BlockSplit::Stage& stage = split.stages.emplace_back();
      stage.pool = label.pool;
      stage.blocks = layout_.BlocksBetween(table_.codes[label.from], table_.codes[to]);
      to = label.from;
    }
    std::reverse(split.stages.begin(), split.stages.end());
    split.max_load = SplitLoad(instance_, split);
    return split;
  }

  const BlockInstance& instance_;
  const ChainLayout& layout_;
  const LoadWindows& windows_;
  const IdealDpOptions& options_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const FanOutDpListener& listener_;
  const StageCosts<W> costs_;

  IdealDpRun outcome_;
  int64_t steps_ = 0;
  int64_t target_ = 0;
  IdealTable<W> table_;
  // The first one is that of the empty ideal.
  std::vector<Label> labels_;
  std::vector<Row> rows_;
  int32_t last_label_ = 0;
  // Blocks in fan-outs, counted in each.
  int64_t num_pins_ = 0;
  // By fan-out, of the stage at hand.
  std::vector<Role> roles_;
};

// Counts the stages that consumers need at least.
class StageCounter {
 public:
  StageCounter(const BlockInstance& instance, int64_t max_load)
      : instance_(instance),
        max_load_(max_load),
        after_(instance.precedence, FirstNumbers(instance.operators.size())),
        least_times_(instance.operators.size(), kMaxQuantity) {
    for (const DevicePool& pool : instance.pools) {
      for (std::size_t block = 0; block < least_times_.size(); ++block) {
        if (pool.supported[block]) least_times_[block] = std::min(least_times_[block], pool.time[block]);
      }
    }
    for (const int64_t time : least_times_) total_time_ = SaturatingAdd(total_time_, time);
  }

  // At least so many stages hold one of `consumers` (ascending, hence in topological order); fewer are known when it is
  // interrupted.
  int64_t StagesFor(const std::vector<int32_t>& consumers, Poller& poller) const {
    std::vector<int32_t> chain;
    for (const int32_t consumer : consumers) {
      if (chain.empty() || after_.Reaches(chain.back(), consumer)) chain.push_back(consumer);
    }
    return std::max(GreedyCover(chain, poller), WorkCover(chain, poller));
  }

 private:
  int64_t GreedyCover(const std::vector<int32_t>& chain, Poller& poller) const {
    int64_t stages = 1;
    int32_t first = chain.front();
    for (const int32_t consumer : chain) {
      // The consumers so far need as many stages.
      if (poller.ShouldStop(instance_.num_blocks())) break;
      const int64_t time = SumIf([&](int32_t block) { return IsWithin(first, block, consumer); });
      if (time <= max_load_) continue;
      ++stages;
      first = consumer;
    }
    return stages;
  }

  // Whether every stage that holds `first` and `last` holds `block`.
  bool IsWithin(int32_t first, int32_t block, int32_t last) const {
    return (block == first || after_.Reaches(first, block)) && (block == last || after_.Reaches(block, last));
  }

  int64_t WorkCover(const std::vector<int32_t>& chain, Poller& poller) const {
    if (instance_.pools.size() != 1) return 1;
    const auto devices = static_cast<int64_t>(instance_.pools.front().devices.size());
    const std::optional<int64_t> widest = WidestGap(chain, poller);
    if (!widest.has_value()) return 1;
    const int64_t gap = std::min(max_load_, *widest);
    int64_t stages = 1;
    while (stages < devices && SaturatingAdd(SaturatingMultiply(stages, max_load_),
                                             SaturatingMultiply(devices - stages, gap)) < total_time_) {
      ++stages;
    }
    return stages;
  }

  // The most work of a stage that comes after one consumer, before the next and holds none: it has nothing that comes
  // before the one or after the other. nullopt: interrupted.
  std::optional<int64_t> WidestGap(const std::vector<int32_t>& chain, Poller& poller) const {
    int64_t widest = 0;
    for (std::size_t i = 0; i <= chain.size(); ++i) {
      if (poller.ShouldStop(instance_.num_blocks())) return std::nullopt;
      widest = std::max(widest, SumIf([&](int32_t block) {
                          const bool is_early = i > 0 && (block == chain[i - 1] || after_.Reaches(block, chain[i - 1]));
                          const bool is_late =
                              i < chain.size() && (block == chain[i] || after_.Reaches(chain[i], block));
                          return !is_early && !is_late;
                        }));
    }
    return widest;
  }

  template <typename Predicate>
  int64_t SumIf(Predicate predicate) const {
    int64_t sum = 0;
    for (int32_t block = 0; block < instance_.num_blocks(); ++block) {
      if (predicate(block)) sum = SaturatingAdd(sum, least_times_[Index(block)]);
    }
    return sum;
  }

  const BlockInstance& instance_;
  const int64_t max_load_;
  const ReachabilityMatrix after_;
  std::vector<int64_t> least_times_;
  int64_t total_time_ = 0;
};

}  // namespace

bool CanCountReaders(const BlockInstance& instance) {
  const LoadRule& rule = instance.rule;
  return !instance.fan_outs.empty() && rule.is_additive() && !rule.replicates && !rule.has_phases;
}

IdealDpRun SolveByFanOutDp(const BlockInstance& instance, const LoadWindows& windows, int64_t lower_bound,
                           int64_t objective, const IdealDpOptions& options, const SolveLimits& limits,
                           TaskArena& arena, const FanOutDpListener& listener) {
  const ChainLayout layout(instance.precedence, FirstNumbers(Index(instance.num_blocks())));
  const auto run = [&]<std::size_t W>() {
    return FanOutSearch<W>(instance, layout, windows, options, limits, arena, listener).Run(lower_bound, objective);
  };
  // Wider graphs have too many ideals for pairs of them.
  return WithWords<4>(layout.num_words(), run).value_or(IdealDpRun{.end = IdealDpEnd::kTooManyIdeals});
}

std::optional<BlockInstance> WithFanOutCosts(const BlockInstance& instance, int64_t max_load,
                                             const SolveLimits& limits) {
  if (instance.fan_outs.empty() || instance.num_blocks() > kMaxFanOutBlocks) return std::nullopt;
  if (!instance.rule.is_additive() || instance.rule.replicates) return std::nullopt;
  Poller poller(limits);
  if (poller.ShouldStopNow()) return std::nullopt;
  const StageCounter counter(instance, max_load);
  std::optional<BlockInstance> raised;
  int64_t work = 0;
  for (const FanOut& fan_out : instance.fan_outs) {
    work += static_cast<int64_t>(fan_out.consumers.size()) * instance.num_blocks();
    if (work > kMaxFanOutWork || poller.ShouldStop()) break;
    const int64_t beyond_net = counter.StagesFor(fan_out.consumers, poller) - 2;
    if (beyond_net <= 0) continue;
    if (!raised.has_value()) raised = instance;
    for (DevicePool& pool : raised->pools) {
      int64_t& time = pool.time[Index(fan_out.producer)];
      if (pool.supported[Index(fan_out.producer)]) {
        time = SaturatingAdd(time, SaturatingMultiply(beyond_net, fan_out.weight));
      }
    }
  }
  return raised;
}

}  // namespace planwright
