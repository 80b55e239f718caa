#include "core/partition/contiguous/grouped_dp.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/base/polling.h"
#include "core/partition/contiguous/ideal_dp.h"
#include "core/partition/contiguous/ideals/chain_code.h"
#include "core/partition/contiguous/ideals/ideal_enumeration.h"
#include "core/partition/contiguous/ideals/reached_set.h"
#include "core/partition/search/load_windows.h"

namespace planwright {
namespace {

// States beyond this are more than a proof is worth.
constexpr double kMaxProvenStates = 4096;
constexpr int32_t kMaxGroups = 64;
constexpr std::size_t kPairsPerWork = 64;
// Sources choose for so many nets which to pay dearly; the others count as near.
constexpr std::size_t kMaxChoices = 4;

// Group of the source of a cut net, and whether the net may be read elsewhere.
class NetSource {
 public:
  NetSource(int32_t group, bool is_paid_far) : value_(static_cast<uint8_t>(group * 2 + (is_paid_far ? 1 : 0))) {}

  int32_t group() const { return value_ / 2; }
  bool is_paid_far() const { return value_ % 2 == 1; }
  bool operator==(const NetSource& other) const = default;

 private:
  uint8_t value_;
};

// How many stages each group holds, and what may follow.
struct State {
  struct Entrance {
    std::size_t from;
    int32_t group;
  };
  // Devices that are used up.
  int64_t devices = 0;
  std::vector<int32_t> used;
  std::vector<Entrance> entrances;

  bool IsOpen(int32_t group, const Grouping& grouping) const { return used[Index(group)] < grouping.size; }
};

// Stages of each group after one more in `group`.
std::vector<int32_t> Extended(const State& state, int32_t group, const Grouping& grouping, GroupOrder order) {
  std::vector<int32_t> used = state.used;
  ++used[Index(group)];
  // In runs, the devices of groups that are left are given up.
  if (order == GroupOrder::kRuns) std::fill_n(used.begin(), group, grouping.size);
  return used;
}

// All states, by ascending number of devices.
std::vector<State> MakeStates(const Grouping& grouping, GroupOrder order) {
  struct FewerDevices {
    bool operator()(const std::vector<int32_t>& a, const std::vector<int32_t>& b) const {
      const auto sum_a = std::accumulate(a.begin(), a.end(), int64_t{0});
      const auto sum_b = std::accumulate(b.begin(), b.end(), int64_t{0});
      return std::tie(sum_a, a) < std::tie(sum_b, b);
    }
  };
  std::map<std::vector<int32_t>, State, FewerDevices> states;
  states[std::vector<int32_t>(Index(grouping.groups), 0)];
  std::size_t position = 0;
  // What is added along the way has more devices, so it comes later.
  for (auto it = states.begin(); it != states.end(); ++it, ++position) {
    State& state = it->second;
    state.used = it->first;
    state.devices = std::accumulate(state.used.begin(), state.used.end(), int64_t{0});
    for (int32_t group = 0; group < grouping.groups; ++group) {
      // Groups are alike, so the next one is opened only after the one before it.
      const bool may_open = group == 0 || state.used[Index(group) - 1] > 0;
      if (!may_open || !state.IsOpen(group, grouping)) continue;
      states[Extended(state, group, grouping, order)].entrances.push_back({position, group});
    }
  }
  std::vector<State> sorted;
  sorted.reserve(states.size());
  for (auto& [used, state] : states) sorted.push_back(std::move(state));
  return sorted;
}

// An ideal that the stages of a state can hold.
struct Entry {
  uint32_t ideal;
  // First of its labels, one for each net that the ideal cuts.
  uint32_t labels;
  // The last stage: where it starts, its group and its load.
  uint32_t from_state;
  uint32_t from_entry;
  int32_t group;
  int64_t load;
};

// Entries of one state, by ascending ideal.
struct Reached {
  std::vector<Entry> entries;
  std::vector<NetSource> labels;
};

template <std::size_t W>
class GroupedSearch {
 public:
  GroupedSearch(const BlockInstance& instance, const ChainLayout& layout, const Grouping& grouping, GroupOrder order,
                const IdealDpOptions& options, const SolveLimits& limits, TaskArena& arena,
                const GroupedDpListener& listener)
      : instance_(instance),
        layout_(layout),
        grouping_(grouping),
        order_(order),
        options_(options),
        limits_(limits),
        arena_(arena),
        listener_(listener),
        costs_(instance, layout),
        windows_(instance),
        states_(MakeStates(grouping, order)),
        poller_(limits) {}

  IdealDpRun Run(int64_t lower_bound, int64_t objective) {
    int64_t low = lower_bound;
    int64_t high = objective;
    // A proof looks just below the incumbent first, where one refutation ends the search, then in the middle, and so
    // on. Without one in sight, targets grow from below, where passes are cheap, until one succeeds.
    bool grows = order_ == GroupOrder::kRuns;
    bool is_last = true;
    int64_t step = std::max<int64_t>(1, (high - low) / kFirstStepShare);
    while (low < high) {
      int64_t target = is_last ? high - 1 : low + (high - low) / 2;
      if (grows) target = std::min(high - 1, low + step);
      const PassEnd end = Pass(target);
      ++outcome_.passes;
      if (end == PassEnd::kRefuted && options_.prove_without_memory && costs_.has_refused_memory()) {
        outcome_.end = IdealDpEnd::kMemoryMatters;
        break;
      }
      if (end == PassEnd::kRefuted) {
        low = target + 1;
        step = SaturatingMultiply(step, kStepGrowth);
        if (order_ == GroupOrder::kAny) listener_.on_bound(low);
      } else if (end == PassEnd::kReached) {
        const int64_t best = listener_.on_split(Backtrack());
        high = std::min({high, best, split_load_});
        grows = false;
      } else {
        outcome_.end = EndOfSearch(end, limits_);
        break;
      }
      is_last = !is_last;
    }
    return outcome_;
  }

 private:
  // Windows by devices used. On one pool that many devices hold at most so much; transfers count at their least.
  std::vector<LoadWindow> WindowsAt(int64_t target) const {
    const int64_t devices = int64_t{grouping_.groups} * grouping_.size;
    std::vector<LoadWindow> windows(static_cast<std::size_t>(devices) + 1);
    for (int64_t used = 0; used <= devices; ++used) {
      LoadWindow& window = windows[static_cast<std::size_t>(used)];
      window.max_before = SaturatingMultiply(used, target);
      window.max_after = SaturatingMultiply(devices - used, target);
      window.min_weight = std::max<int64_t>(0, windows_.total_weight() - window.max_after);
      window.max_weight = std::min(windows_.total_weight(), window.max_before);
    }
    return windows;
  }

  PassEnd Pass(int64_t target) {
    target_ = target;
    const std::vector<LoadWindow> windows = WindowsAt(target);
    if (target > enumerated_for_) {
      const PassEnd end = Enumerate(target, windows);
      if (end != PassEnd::kReached) return end;
    }
    // No window holds the full ideal, or it would be the last one.
    if (table_.weights.back() != windows_.total_weight()) return PassEnd::kRefuted;
    reached_.assign(states_.size(), Reached());
    reached_[0].entries.push_back({0, 0, 0, 0, 0, 0});
    int64_t bytes = 0;
    for (std::size_t state = 1; state < states_.size(); ++state) {
      if (!Fill(state, windows[static_cast<std::size_t>(states_[state].devices)])) {
        return IsOutOfWork() ? PassEnd::kWorkLimit : PassEnd::kInterrupted;
      }
      const Reached& reached = reached_[state];
      if (!reached.entries.empty() && reached.entries.back().ideal == table_.size() - 1) {
        last_state_ = state;
        return PassEnd::kReached;
      }
      bytes += static_cast<int64_t>(reached.entries.size() * sizeof(Entry) + reached.labels.size() * sizeof(NetSource));
      if (bytes > limits_.memory_bytes / 3) return PassEnd::kTooMuchMemory;
    }
    return PassEnd::kRefuted;
  }

  bool IsOutOfWork() {
    outcome_.work += static_cast<int64_t>(pairs_ / kPairsPerWork);
    pairs_ %= kPairsPerWork;
    return outcome_.work > limits_.work;
  }

  PassEnd Enumerate(int64_t target, const std::vector<LoadWindow>& windows) {
    const EnumerationLimits enumeration_limits{options_.max_ideals, limits_.memory_bytes / 3};
    const PassEnd end = EndOfEnumeration(EnumerateIdeals<W>(instance_, layout_, windows_, windows, costs_.NeedsMemory(),
                                                            enumeration_limits, limits_, arena_, table_));
    if (end != PassEnd::kReached) return end;
    enumerated_for_ = target;
    outcome_.ideals = std::max(outcome_.ideals, static_cast<int64_t>(table_.size()));
    outcome_.work += static_cast<int64_t>(table_.size());
    return PassEnd::kReached;
  }

  // Finds the entries of `state`. False: interrupted, or out of work.
  bool Fill(std::size_t state, const LoadWindow& window) {
    const auto& weights = table_.weights;
    const auto begin = std::lower_bound(weights.begin(), weights.end(), window.min_weight) - weights.begin();
    const auto end = std::upper_bound(weights.begin(), weights.end(), window.max_weight) - weights.begin();
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(std::max(begin, end)); ++i) {
      const int64_t border = table_.borders[i];
      // Both sides of the boundary pay for its nets: an ideal is left out where either cannot do its part within the
      // target on the devices that it has.
      if (weights[i] + border > window.max_before) continue;
      if (windows_.total_weight() - weights[i] + border > window.max_after) continue;
      const std::size_t first = reached_[state].entries.size();
      for (const State::Entrance& entrance : states_[state].entrances) {
        Enter(state, entrance, static_cast<uint32_t>(i), first);
        if (poller_.ShouldStop() || IsOutOfWork()) return false;
      }
    }
    return true;
  }

  // Entries for `ideal` whose last stage comes from `entrance`.
  void Enter(std::size_t state, const State::Entrance& entrance, uint32_t ideal, std::size_t first) {
    const Reached& before = reached_[entrance.from];
    StageQuery<W> query(costs_, table_, ideal, /*pool=*/0);
    // A stage takes at least the weight between its ends: from lighter starts it takes longer than the target.
    const int64_t min_weight = table_.weights[ideal] - target_;
    const auto begin = std::partition_point(before.entries.begin(), before.entries.end(), [&](const Entry& entry) {
      return table_.weights[entry.ideal] < min_weight;
    });
    for (auto entry = begin; entry != before.entries.end() && entry->ideal < ideal; ++entry) {
      ++pairs_;
      if (poller_.ShouldStop()) return;
      const ChainCode<W>& start = table_.codes[entry->ideal];
      if (!IsSubset(start, query.code(), layout_.top_bits())) continue;
      const int64_t offset = table_.borders[entry->ideal] - table_.times[0][entry->ideal];
      // Surcharges for other groups only add to it.
      const int64_t near_load = query.base() + offset - query.Correction(start);
      if (near_load > target_) continue;
      AddStage(state, entrance, static_cast<std::size_t>(entry - before.entries.begin()), ideal, near_load, first);
    }
  }

  int64_t Surcharge(int32_t net) const { return instance_.nets[Index(net)].far_surcharge; }

  bool IsTouched(int32_t net, uint32_t from, uint32_t to) const {
    const auto& blocks = instance_.nets[Index(net)].blocks;
    return std::any_of(blocks.begin(), blocks.end(), [&](int32_t block) {
      return layout_.Contains(table_.codes[to], block) && !layout_.Contains(table_.codes[from], block);
    });
  }

  void AddStage(std::size_t state, const State::Entrance& entrance, std::size_t from_entry, uint32_t ideal,
                int64_t near_load, std::size_t first) {
    const Reached& before = reached_[entrance.from];
    const Entry& from = before.entries[from_entry];
    const auto nets_before = table_.CutNets(from.ideal);
    int64_t load = near_load;
    for (std::size_t i = 0; i < nets_before.size(); ++i) {
      const NetSource label = before.labels[from.labels + i];
      if (label.group() == entrance.group || Surcharge(nets_before[i]) == 0) continue;
      if (!IsTouched(nets_before[i], from.ideal, ideal)) continue;
      // The source paid for readers of its own group alone; another entry of it has paid for others, if it can.
      if (!label.is_paid_far()) return;
      load += Surcharge(nets_before[i]);
    }
    if (load > target_ || !costs_.Fits(table_, from.ideal, ideal, /*pool=*/0)) return;
    const State& next = states_[state];
    const bool stays_open = next.IsOpen(entrance.group, grouping_);
    bool others_open = false;
    for (int32_t group = 0; group < grouping_.groups; ++group) {
      others_open |= group != entrance.group && next.IsOpen(group, grouping_);
    }
    // Labels of the nets cut by the new ideal: kept, or of nets that the stage sends.
    labels_.clear();
    choices_.clear();
    const auto nets = table_.CutNets(ideal);
    for (std::size_t i = 0; i < nets.size(); ++i) {
      const auto known = std::find(nets_before.begin(), nets_before.end(), nets[i]);
      if (known != nets_before.end()) {
        labels_.push_back(before.labels[from.labels + static_cast<std::size_t>(known - nets_before.begin())]);
        continue;
      }
      const bool is_free = Surcharge(nets[i]) == 0;
      labels_.emplace_back(entrance.group, is_free || others_open);
      if (is_free || !others_open) continue;
      if (!stays_open) {
        load += Surcharge(nets[i]);
      } else if (choices_.size() < kMaxChoices) {
        choices_.push_back(i);
      }
    }
    if (load > target_) return;
    const Entry entry{ideal,          0,   static_cast<uint32_t>(entrance.from), static_cast<uint32_t>(from_entry),
                      entrance.group, load};
    Choose(state, entry, 0, first);
  }

  // Adds `entry` for every way to pay for the nets from the `next` choice on, the dearest first: what that allows, the
  // others allow too.
  void Choose(std::size_t state, Entry entry, std::size_t next, std::size_t first) {
    if (next == choices_.size()) {
      Add(state, entry, first);
      return;
    }
    const std::size_t position = choices_[next];
    const int64_t surcharge = Surcharge(table_.CutNets(entry.ideal)[position]);
    if (entry.load + surcharge <= target_) {
      Entry dear = entry;
      dear.load += surcharge;
      Choose(state, dear, next + 1, first);
    }
    const NetSource paid = labels_[position];
    labels_[position] = NetSource(paid.group(), false);
    Choose(state, entry, next + 1, first);
    labels_[position] = paid;
  }

  // Whether an entry with labels at `known` can do all that labels_ allow.
  bool Covers(const std::vector<NetSource>& all, std::size_t known, std::span<const int32_t> nets) const {
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const NetSource& other = all[known + i];
      if (other == labels_[i] || Surcharge(nets[i]) == 0) continue;
      if (other.group() != labels_[i].group() || !other.is_paid_far()) return false;
    }
    return true;
  }

  // `first`: entries of `state` from there on have the same ideal. What can follow an entry depends on its labels only,
  // so one is left out where another covers it.
  void Add(std::size_t state, Entry entry, std::size_t first) {
    Reached& reached = reached_[state];
    const auto nets = table_.CutNets(entry.ideal);
    for (std::size_t i = first; i < reached.entries.size(); ++i) {
      ++pairs_;
      if (Covers(reached.labels, reached.entries[i].labels, nets)) return;
    }
    entry.labels = static_cast<uint32_t>(reached.labels.size());
    reached.labels.insert(reached.labels.end(), labels_.begin(), labels_.end());
    reached.entries.push_back(entry);
  }

  // The split behind the full ideal of the last pass; its load is in split_load_.
  GroupedSplit Backtrack() {
    GroupedSplit split;
    split_load_ = 0;
    const Entry* entry = &reached_[last_state_].entries.back();
    while (entry->ideal != 0) {
      const Entry& before = reached_[entry->from_state].entries[entry->from_entry];
      GroupedSplit::Stage& stage = split.stages.emplace_back();
      stage.group = entry->group;
      stage.blocks = layout_.BlocksBetween(table_.codes[before.ideal], table_.codes[entry->ideal]);
      split_load_ = std::max(split_load_, entry->load);
      entry = &before;
    }
    std::reverse(split.stages.begin(), split.stages.end());
    return split;
  }

  const BlockInstance& instance_;
  const ChainLayout& layout_;
  const Grouping grouping_;
  const GroupOrder order_;
  const IdealDpOptions& options_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const GroupedDpListener& listener_;
  const StageCosts<W> costs_;
  const LoadWindows windows_;
  const std::vector<State> states_;
  Poller poller_;

  IdealDpRun outcome_;
  IdealTable<W> table_;
  int64_t enumerated_for_ = -1;
  // The last pass.
  int64_t target_ = 0;
  std::vector<Reached> reached_;
  std::size_t last_state_ = 0;
  int64_t split_load_ = 0;
  std::size_t pairs_ = 0;
  // The stage at hand.
  std::vector<NetSource> labels_;
  std::vector<std::size_t> choices_;
};

}  // namespace

bool CanGroup(const BlockInstance& instance, const Grouping& grouping, GroupOrder order) {
  if (grouping.groups < 2 || grouping.groups > kMaxGroups) return false;
  if (!instance.rule.is_additive() || instance.rule.replicates || instance.pools.size() != 1) return false;
  double states = 1;
  for (int32_t group = 0; group < grouping.groups; ++group) states *= grouping.size + 1.0;
  return order == GroupOrder::kRuns || states <= kMaxProvenStates;
}

IdealDpRun SolveByGroupedDp(const BlockInstance& instance, const Grouping& grouping, GroupOrder order,
                            int64_t lower_bound, int64_t objective, const IdealDpOptions& options,
                            const SolveLimits& limits, TaskArena& arena, const GroupedDpListener& listener) {
  const ChainLayout layout(instance.precedence, FirstNumbers(Index(instance.num_blocks())));
  const auto run = [&]<std::size_t W>() {
    return GroupedSearch<W>(instance, layout, grouping, order, options, limits, arena, listener)
        .Run(lower_bound, objective);
  };
  // Wider graphs have too many ideals for pairs of them.
  return WithWords<4>(layout.num_words(), run).value_or(IdealDpRun{.end = IdealDpEnd::kTooManyIdeals});
}

}  // namespace planwright
