#include "core/partition/periodic/madpipe.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/base/known.h"
#include "core/partition/periodic/stage_costs.h"
#include "core/schedule/delay.h"
#include "core/schedule/least_period.h"

namespace planwright {
namespace {

constexpr int32_t kNone = -1;

// A way to run the layers from some layer on. Of two, the one with no larger number is at least as good.
struct State {
  int32_t normal_devices = 0;
  Picoseconds special_load{0};
  Delay delay;
  // Memory of the special device: what is always there, and that with the largest addition that some moment brings.
  int64_t special_bytes = 0;
  int64_t special_peak_bytes = 0;
  // The stage in front, and the position of the state behind it in the frontier of stage.next.
  SpecialStage stage;
  int32_t behind = kNone;
};

// The numbers of a state of a frontier, for comparisons.
struct StateKey {
  int64_t delay = 0;
  int64_t normal_devices = 0;
  int64_t special_load = 0;
  int64_t special_bytes = 0;
  int64_t special_peak_bytes = 0;
  std::size_t position = 0;

  auto operator<=>(const StateKey&) const = default;

  // REQUIRES: this one comes before `other` in the order of keys.
  bool Dominates(const StateKey& other) const {
    return normal_devices <= other.normal_devices && special_load <= other.special_load &&
           special_bytes <= other.special_bytes && special_peak_bytes <= other.special_peak_bytes;
  }
};

class MadpipeProgram {
 public:
  MadpipeProgram(const Chain& chain, const ChainDevices& devices, SpecialMemory memory, const SolveLimits& limits)
      : devices_(devices), tight_(memory == SpecialMemory::kTight), limits_(limits), costs_(chain, devices) {
    frontiers_.resize(Index(costs_.num_layers()) + 1);
  }

  // Stages in the order of the chain; nullopt: the period is not possible, or the limits have ended the search.
  std::optional<std::vector<SpecialStage>> Decide(Picoseconds period) {
    for (std::vector<State>& frontier : frontiers_) frontier.clear();
    frontiers_.back().emplace_back();
    for (int32_t next = costs_.num_layers(); next > 0; --next) {
      if (states_ >= limits_.work || CheckInterruption(limits_).has_value()) return std::nullopt;
      states_ += static_cast<int64_t>(frontiers_[Index(next)].size());
      KeepBest(frontiers_[Index(next)], period);
      for (std::size_t i = 0; i < frontiers_[Index(next)].size(); ++i) AddStages(next, i, period);
      if (!frontiers_.front().empty()) return StagesOf(frontiers_.front().front());
    }
    return std::nullopt;
  }

  // The least period at which these very stages are possible. REQUIRES: `known`, at which they are.
  Picoseconds LeastPeriodOf(const std::vector<SpecialStage>& stages, Picoseconds known) const {
    Picoseconds load(1);
    Picoseconds special_load(0);
    for (const SpecialStage& stage : stages) {
      const Picoseconds own = costs_.Load(stage.first, stage.next - 1);
      if (stage.is_special) special_load += own;
      load = std::max({load, own, special_load});
      if (stage.first > 0) load = std::max(load, costs_.LinkLoad(stage.first));
    }
    return Known(LeastPeriod(load, known, [&](Picoseconds period) {
      return ArePossible(stages, period) ? std::optional(period) : std::nullopt;
    }));
  }

 private:
  // Drops states that another one dominates, of equal ones all but the first.
  void KeepBest(std::vector<State>& frontier, Picoseconds period) {
    keys_.clear();
    for (const State& state : frontier) {
      keys_.push_back({state.delay.Length(period).count(), state.normal_devices, state.special_load.count(),
                       state.special_bytes, state.special_peak_bytes, keys_.size()});
    }
    std::sort(keys_.begin(), keys_.end());
    std::size_t kept = 0;
    for (const StateKey& key : keys_) {
      const auto end = keys_.begin() + static_cast<std::ptrdiff_t>(kept);
      if (std::none_of(keys_.begin(), end, [&](const StateKey& other) { return other.Dominates(key); })) {
        keys_[kept++] = key;
      }
    }
    best_.clear();
    for (std::size_t i = 0; i < kept; ++i) best_.push_back(frontier[keys_[i].position]);
    frontier.swap(best_);
  }

  // Every stage that ends before the layer `next`, in front of state `i` of its frontier.
  void AddStages(int32_t next, std::size_t i, Picoseconds period) {
    const State behind = frontiers_[Index(next)][i];
    for (int32_t first = next - 1; first >= 0; --first) {
      if (costs_.Load(first, next - 1) > period) return;
      for (const bool is_special : {false, true}) {
        std::optional<State> state = InFront(behind, {first, next, is_special}, period);
        if (!state.has_value() || !CanFinish(*state, first, period)) continue;
        state->behind = static_cast<int32_t>(i);
        frontiers_[Index(first)].push_back(*state);
      }
    }
  }

  // `behind` with one more stage; nullopt: it does not fit. REQUIRES: its load is at most the period.
  std::optional<State> InFront(const State& behind, const SpecialStage& stage, Picoseconds period) const {
    if (stage.first > 0 && costs_.LinkLoad(stage.first) > period) return std::nullopt;
    const int32_t last = stage.next - 1;
    const Picoseconds load = costs_.Load(stage.first, last);
    State state = behind;
    state.stage = stage;
    state.delay = costs_.InFront(stage.first, last, behind.delay, period);
    const int32_t batches = costs_.Batches(state.delay);
    if (stage.is_special) {
      state.special_load += load;
      if (state.special_load > period || !AddSpecialBytes(stage, batches, state)) return std::nullopt;
    } else {
      ++state.normal_devices;
      const bool is_left = state.normal_devices < devices_.count;
      if (!is_left || !costs_.Fits(stage.first, last, batches)) return std::nullopt;
    }
    if (stage.first > 0) state.delay = costs_.AcrossCut(stage.first, state.delay, period);
    return state;
  }

  // False: more than there is.
  bool AddSpecialBytes(const SpecialStage& stage, int32_t batches, State& state) const {
    const int32_t last = stage.next - 1;
    const int64_t stored = costs_.StoredBytes(stage.first, last);
    const int64_t addition = (tight_ ? stored : 0) + costs_.WorkspaceBytes(stage.first, last);
    const int64_t bytes =
        SaturatingAdd(state.special_bytes, StageBytes(costs_.ResidentBytes(stage.first, last), stored, batches - 1));
    const int64_t largest = std::max(state.special_peak_bytes - state.special_bytes, addition);
    state.special_bytes = bytes;
    state.special_peak_bytes = SaturatingAdd(bytes, largest);
    return !devices_.memory_bytes.has_value() || state.special_peak_bytes <= *devices_.memory_bytes;
  }

  // Whether time and memory are left for the layers before `first`, were they evenly divisible.
  bool CanFinish(const State& state, int32_t first, Picoseconds period) const {
    if (first == 0) return true;
    const int64_t devices_left = devices_.count - 1 - state.normal_devices;
    const Picoseconds time_left = period - state.special_load;
    if (costs_.Load(0, first - 1) - time_left > Picoseconds(SaturatingMultiply(period.count(), devices_left))) {
      return false;
    }
    if (!devices_.memory_bytes.has_value()) return true;
    const int64_t needed =
        StageBytes(costs_.StaticBytes(0, first - 1), costs_.StoredBytes(0, first - 1), costs_.Batches(state.delay) - 1);
    const int64_t left = *devices_.memory_bytes - state.special_bytes;
    return needed - left <= SaturatingMultiply(*devices_.memory_bytes, devices_left);
  }

  bool ArePossible(const std::vector<SpecialStage>& stages, Picoseconds period) const {
    std::optional<State> state(std::in_place);
    for (std::size_t i = stages.size(); i-- > 0 && state.has_value();) state = InFront(*state, stages[i], period);
    return state.has_value();
  }

  std::vector<SpecialStage> StagesOf(const State& front) const {
    std::vector<SpecialStage> stages;
    for (const State* state = &front; state->behind != kNone;
         state = &frontiers_[Index(state->stage.next)][Index(state->behind)]) {
      stages.push_back(state->stage);
    }
    return stages;
  }

  const ChainDevices devices_;
  const bool tight_;
  const SolveLimits& limits_;
  const ChainStageCosts costs_;
  // Looked at in all decisions so far.
  int64_t states_ = 0;
  // By first layer.
  std::vector<std::vector<State>> frontiers_;
  // Buffers of KeepBest, kept for their memory.
  std::vector<StateKey> keys_;
  std::vector<State> best_;
};

}  // namespace

ChainAllocation NumberDevices(const std::vector<SpecialStage>& stages) {
  ChainAllocation allocation;
  std::optional<int32_t> special;
  int32_t num_devices = 0;
  for (const SpecialStage& stage : stages) {
    const bool is_known = stage.is_special && special.has_value();
    const int32_t device = is_known ? *special : num_devices++;
    if (stage.is_special) special = device;
    allocation.push_back({stage.first, stage.next - 1, device});
  }
  return allocation;
}

std::optional<PeriodicAllocation> MadpipeOptimum(const Chain& chain, const ChainDevices& devices, SpecialMemory memory,
                                                 const SolveLimits& limits) {
  const PeriodRange range = PeriodsOf(chain, devices);
  // A contiguous allocation is one of those with a special device.
  const std::optional<PeriodicAllocation> contiguous = ContiguousOptimum(chain, devices);
  MadpipeProgram program(chain, devices, memory, limits);
  std::vector<SpecialStage> best;
  const Picoseconds high = contiguous.has_value() ? contiguous->period : range.high;
  const std::optional<Picoseconds> period = LeastPeriod(range.low, high, [&](Picoseconds target) {
    std::optional<std::vector<SpecialStage>> found = program.Decide(target);
    if (!found.has_value()) return std::optional<Picoseconds>();
    best = std::move(*found);
    return std::optional(program.LeastPeriodOf(best, target));
  });
  if (!period.has_value()) return std::nullopt;
  return PeriodicAllocation{NumberDevices(best), *period};
}

std::optional<ChainAllocation> MadpipeAllocation(const Chain& chain, const ChainDevices& devices, SpecialMemory memory,
                                                 Picoseconds period, const SolveLimits& limits) {
  const std::optional<std::vector<SpecialStage>> stages = MadpipeProgram(chain, devices, memory, limits).Decide(period);
  return stages.has_value() ? std::optional(NumberDevices(*stages)) : std::nullopt;
}

}  // namespace planwright
