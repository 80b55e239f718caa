#include "core/joint/stages/stage_table.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <utility>

#include "core/base/interruption.h"
#include "core/base/known.h"
#include "core/base/units.h"
#include "core/joint/cost/layer_modes.h"

namespace planwright {
namespace {

// Of times by segment.
constexpr std::size_t kPage = 256;
constexpr auto kFullMode = static_cast<std::size_t>(LayerRecomputation::kFull);

std::vector<int64_t> PrefixSums(const std::vector<int32_t>& kinds, const std::vector<LayerPrice>& prices,
                                int64_t (*value)(const LayerPrice&)) {
  std::vector<int64_t> sums(kinds.size() + 1, 0);
  for (std::size_t layer = 0; layer < kinds.size(); ++layer) {
    sums[layer + 1] = sums[layer] + value(prices[static_cast<std::size_t>(kinds[layer])]);
  }
  return sums;
}

// Of one layer; nullopt: every mode computes it again whole. `again`: it may be.
std::optional<int64_t> LeastKeptBytesOf(const LayerGroup& group, bool again) {
  std::optional<int64_t> least;
  for (std::size_t mode = 0; mode < group.modes.size(); ++mode) {
    const std::optional<LayerMode>& own = group.modes[mode];
    if (!own.has_value() || (mode == kFullMode && !again)) continue;
    least = std::min(least.value_or(own->kept_bytes), own->kept_bytes);
  }
  return least;
}

std::vector<KindCount> KindCountsOf(std::span<const int32_t> by_kind) {
  std::vector<KindCount> counts;
  for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
    if (by_kind[kind] > 0) counts.push_back({static_cast<int32_t>(kind), by_kind[kind]});
  }
  return counts;
}

}  // namespace

SegmentNumbers::SegmentNumbers(const std::vector<int32_t>& kinds) : num_layers_(static_cast<int32_t>(kinds.size())) {
  const auto num_kinds = static_cast<std::size_t>(1 + *std::max_element(kinds.begin(), kinds.end()));
  numbers_.assign(kinds.size() * kinds.size(), -1);
  // By first layer: layers by kind, and what a stage receives and sends, -1 at the ends of the model.
  std::vector<std::vector<int32_t>> keys(kinds.size(), std::vector<int32_t>(num_kinds + 2, 0));
  for (std::size_t length = 1; length <= kinds.size(); ++length) {
    std::map<std::vector<int32_t>, int32_t> known;
    for (std::size_t first = 0; first + length <= kinds.size(); ++first) {
      InterruptionPoint(/*units=*/64 + num_kinds);
      const std::size_t last = first + length - 1;
      std::vector<int32_t>& key = keys[first];
      ++key[static_cast<std::size_t>(kinds[last])];
      key[num_kinds] = first == 0 ? -1 : kinds[first - 1];
      key[num_kinds + 1] = last + 1 == kinds.size() ? -1 : kinds[last];
      const auto [entry, is_new] = known.try_emplace(key, static_cast<int32_t>(counts_.size()));
      if (is_new) counts_.push_back(KindCountsOf(std::span(key).first(num_kinds)));
      numbers_[first * kinds.size() + last] = entry->second;
    }
  }
}

std::optional<SegmentNumbers> NumberSegments(const std::vector<int32_t>& kinds, const SolveLimits& limits) {
  if (CheckInterruption(limits).has_value()) return std::nullopt;
  const InterruptionScope scope(&limits);
  try {
    return SegmentNumbers(kinds);
  } catch (const Interrupted&) {
    return std::nullopt;
  }
}

StageTable::StageTable(const SegmentNumbers& segments, const std::vector<int32_t>& kinds,
                       std::vector<LayerPrice> prices, const std::vector<LayerRecomputation>& allowed,
                       int64_t memory_bytes, std::optional<FirstLayers> first_layers_again)
    : segments_(segments),
      kinds_(kinds),
      prices_(std::move(prices)),
      memory_bytes_(memory_bytes),
      first_layers_again_(first_layers_again) {
  for (const LayerPrice& price : prices_) groups_.push_back({.modes = AllowedModes(price, allowed)});
  next_barred_.assign(kinds_.size() + 1, segments_.num_layers());
  for (int32_t layer = segments_.num_layers(); layer-- > 0;) {
    const auto at = static_cast<std::size_t>(layer);
    next_barred_[at] = PriceOf(layer).can_run ? next_barred_[at + 1] : layer;
  }
  base_ = PrefixSums(kinds_, prices_, [](const LayerPrice& price) { return price.forward_ps + price.backward_ps; });
  forward_ = PrefixSums(kinds_, prices_, [](const LayerPrice& price) { return price.forward_ps; });
  weights_ = PrefixSums(kinds_, prices_, [](const LayerPrice& price) { return price.weights_ps; });
  step_end_ = PrefixSums(kinds_, prices_, [](const LayerPrice& price) { return price.step_end_ps; });
  state_ = PrefixSums(kinds_, prices_, [](const LayerPrice& price) { return price.state_bytes(); });
}

int64_t StageTable::MostExtraPs(int32_t layer) const {
  int64_t most = 0;
  for (const auto& mode : groups_[static_cast<std::size_t>(kinds_[static_cast<std::size_t>(layer)])].modes) {
    if (mode.has_value()) most = std::max(most, mode->extra_ps);
  }
  return most;
}

LongestPasses StageTable::PassesPs(int32_t first, int32_t end, bool is_split) const {
  const auto sum = [&](const std::vector<int64_t>& sums) {
    return sums[static_cast<std::size_t>(end)] - sums[static_cast<std::size_t>(first)];
  };
  const int64_t forward = sum(forward_);
  const int64_t weights = is_split ? sum(weights_) : 0;
  return {forward, BasePs(first, end) - forward - weights, weights};
}

std::vector<LayerRecomputation> StageTable::FirstLayersAgain(int32_t first, int32_t end) const {
  std::vector<LayerRecomputation> modes(static_cast<std::size_t>(end - first), LayerRecomputation::kNone);
  const auto& [count, ends] = Known(first_layers_again_);
  const int32_t begin = std::max(first, ends);
  const int32_t stop = std::min({end, begin + count, segments_.num_layers() - ends});
  for (int32_t layer = begin; layer < stop; ++layer) {
    if (!PriceOf(layer).modes[kFullMode].has_value()) continue;
    modes[static_cast<std::size_t>(layer - first)] = LayerRecomputation::kFull;
  }
  return modes;
}

int64_t StageTable::FirstLayersExtraPs(int32_t first, int32_t end, const HeldMicroBatches& held) const {
  const std::vector<LayerRecomputation> modes = FirstLayersAgain(first, end);
  int64_t extra = 0;
  int64_t kept = 0;
  bool is_any_full = false;
  for (int32_t layer = first; layer < end; ++layer) {
    const auto chosen = modes[static_cast<std::size_t>(layer - first)];
    const LayerPrice& price = PriceOf(layer);
    const auto& mode = price.modes[static_cast<std::size_t>(chosen)];
    if (!mode.has_value()) return kDoesNotFit;
    extra += mode->extra_ps;
    kept = SaturatingAdd(kept, held.BytesOf(mode->kept_bytes, price.weights_kept_bytes));
    is_any_full = is_any_full || chosen == LayerRecomputation::kFull;
  }
  const Budget budget = BudgetOf({{first, end}});
  return kept > (is_any_full ? budget.full_bytes : budget.bytes) ? kDoesNotFit : extra;
}

int64_t StageTable::TimePs(int32_t first, int32_t end, int64_t in_flight) {
  if (first_layers_again_.has_value()) return TimePs(first, end, HeldMicroBatches{.whole = in_flight});
  int64_t& extra = KnownExtraPs(in_flight, segments_.Of(first, end));
  if (extra < 0) extra = ChosenExtraPs(first, end, {.whole = in_flight});
  return extra == kDoesNotFit ? kDoesNotFit : BasePs(first, end) + extra;
}

int64_t& StageTable::KnownExtraPs(int64_t in_flight, int32_t segment) {
  const auto at = static_cast<std::size_t>(in_flight);
  const std::size_t number = static_cast<std::size_t>(segment) / kPage;
  if (extra_.size() <= at) extra_.resize(at + 1);
  if (extra_[at].size() <= number) extra_[at].resize(number + 1);
  std::vector<int64_t>& page = extra_[at][number];
  if (page.empty()) page.assign(kPage, -1);
  return page[static_cast<std::size_t>(segment) % kPage];
}

int64_t StageTable::TimePs(int32_t first, int32_t end, const HeldMicroBatches& held) {
  int64_t extra = 0;
  if (first_layers_again_.has_value()) {
    extra = FirstLayersExtraPs(first, end, held);
  } else {
    const auto [known, is_new] = extra_held_[held].try_emplace(segments_.Of(first, end), 0);
    if (is_new) known->second = ChosenExtraPs(first, end, held);
    extra = known->second;
  }
  return extra == kDoesNotFit ? kDoesNotFit : BasePs(first, end) + extra;
}

int64_t StageTable::ChosenExtraPs(int32_t first, int32_t end, const HeldMicroBatches& held) const {
  const std::optional<RecomputationChoice> choice = Choose(first, end, held);
  return choice.has_value() ? choice->bound_ps : kDoesNotFit;
}

bool StageTable::Fits(int32_t first, int32_t end, int64_t in_flight) const {
  if (first_layers_again_.has_value()) return FirstLayersExtraPs(first, end, {.whole = in_flight}) != kDoesNotFit;
  const Budget budget = BudgetOf({{first, end}});
  const std::vector<KindCount>& counts = segments_.CountsOf(segments_.Of(first, end));
  const auto is_held = [&](bool again, int64_t room) {
    int64_t kept = 0;
    for (const auto& [kind, count] : counts) {
      if (kept > room) break;
      const std::optional<int64_t> least = LeastKeptBytesOf(groups_[static_cast<std::size_t>(kind)], again);
      if (!least.has_value()) return false;
      kept = SaturatingAdd(kept, SaturatingMultiply(SaturatingMultiply(in_flight, *least), count));
    }
    return kept <= room;
  };
  return is_held(false, budget.bytes) || is_held(true, budget.full_bytes);
}

double StageTable::LeastShareOf(int32_t layer, bool may_share) const {
  const LayerPrice& price = PriceOf(layer);
  const bool is_shared = may_share && layer + 1 == segments_.num_layers();
  const int64_t state = is_shared ? price.least_state_bytes() : price.state_bytes();
  const auto held = static_cast<double>(state + LeastKeptBytesOf(GroupOf(layer), true).value_or(0));
  return held / static_cast<double>(std::max<int64_t>(memory_bytes_, 1));
}

int64_t StageTable::TimeInModePs(int32_t first, int32_t end, const HeldMicroBatches& held,
                                 LayerRecomputation mode) const {
  int64_t extra = 0;
  int64_t kept = 0;
  bool is_any_full = false;
  for (const auto& [kind, count] : segments_.CountsOf(segments_.Of(first, end))) {
    const auto at = static_cast<std::size_t>(kind);
    const LayerRecomputation chosen = Known(ClosestMode(groups_[at].modes, mode));
    const auto& [extra_ps, kept_bytes] = Known(groups_[at].modes[static_cast<std::size_t>(chosen)]);
    extra += count * extra_ps;
    const int64_t of_one = held.BytesOf(kept_bytes, prices_[at].weights_kept_bytes);
    kept = SaturatingAdd(kept, SaturatingMultiply(count, of_one));
    is_any_full = is_any_full || chosen == LayerRecomputation::kFull;
  }
  const Budget budget = BudgetOf({{first, end}});
  const int64_t room = is_any_full ? budget.full_bytes : budget.bytes;
  return kept > room ? kDoesNotFit : BasePs(first, end) + extra;
}

std::vector<LayerRecomputation> StageTable::ModesInMode(int32_t first, int32_t end, LayerRecomputation mode) const {
  std::vector<LayerRecomputation> modes;
  for (int32_t layer = first; layer < end; ++layer) modes.push_back(Known(ClosestMode(GroupOf(layer).modes, mode)));
  return modes;
}

std::optional<int64_t> StageTable::LeastExtraOfAllPs(int64_t kept_bytes) const {
  return LeastExtraPs(GroupsOf(0, segments_.num_layers()), kept_bytes);
}

int64_t StageTable::TransferBeforePs(int32_t layer, const TrainingLink& link) const {
  if (layer == 0 || layer == segments_.num_layers()) return 0;
  return TransferPs(PriceOf(layer - 1).output_bytes, link);
}

std::vector<LayerRecomputation> StageTable::Modes(int32_t first, int32_t end, const HeldMicroBatches& held) const {
  if (first_layers_again_.has_value()) return FirstLayersAgain(first, end);
  return ModesOf(first, end, Known(Choose(first, end, held)));
}

std::vector<std::vector<LayerRecomputation>> StageTable::ModesOfRuns(const std::vector<LayerRun>& runs,
                                                                     int64_t in_flight) const {
  const Budget budget = BudgetOf(runs);
  std::vector<std::vector<LayerRecomputation>> best;
  int64_t least = kDoesNotFit;
  // Room to compute a layer again is needed by all runs or by none.
  for (const bool again : {false, true}) {
    std::vector<std::vector<LayerRecomputation>> modes;
    int64_t extra = 0;
    const int64_t room = again ? budget.full_bytes : budget.bytes;
    for (const auto& [first, end] : runs) {
      const auto choice =
          room < 0 ? std::nullopt : ChooseRecomputation(GroupsOf(first, end), in_flight, room, again ? room : -1);
      if (!choice.has_value()) break;
      extra = SaturatingAdd(extra, choice->extra_ps);
      modes.push_back(ModesOf(first, end, *choice));
    }
    if (modes.size() < runs.size() || extra >= least) continue;
    best = std::move(modes);
    least = extra;
  }
  return best;
}

std::vector<LayerRecomputation> StageTable::ModesOf(int32_t first, int32_t end,
                                                    const RecomputationChoice& choice) const {
  std::vector<std::array<int32_t, kNumRecomputations>> left = choice.counts;
  std::vector<LayerRecomputation> modes;
  std::vector<std::size_t> group_of_kind(groups_.size(), 0);
  std::size_t groups = 0;
  for (const KindCount& own : segments_.CountsOf(segments_.Of(first, end))) {
    group_of_kind[static_cast<std::size_t>(own.kind)] = groups++;
  }
  // The first layers of a run are the ones that are computed again most.
  for (int32_t layer = first; layer < end; ++layer) {
    auto& rest = left[group_of_kind[static_cast<std::size_t>(kinds_[static_cast<std::size_t>(layer)])]];
    std::size_t mode = kNumRecomputations - 1;
    while (rest[mode] == 0) --mode;
    --rest[mode];
    modes.push_back(static_cast<LayerRecomputation>(mode));
  }
  return modes;
}

StageTable::Budget StageTable::BudgetOf(const std::vector<LayerRun>& runs) const {
  HeldOnce once;
  int64_t buffers = 0;
  int64_t state = 0;
  for (const auto& [first, end] : runs) {
    for (const KindCount& own : segments_.CountsOf(segments_.Of(first, end))) {
      once.Add(prices_[static_cast<std::size_t>(own.kind)]);
    }
    buffers = std::max(buffers, BoundaryBufferBytes(first > 0 ? PriceOf(first - 1).output_bytes : 0,
                                                    end < segments_.num_layers() ? PriceOf(end - 1).output_bytes : 0));
    state += StateBytes(first, end);
  }
  const int64_t room = memory_bytes_ - state - buffers;
  return {room - once.Bytes(/*again=*/false), room - once.Bytes(/*again=*/true)};
}

std::vector<LayerGroup> StageTable::GroupsOf(int32_t first, int32_t end) const {
  const std::vector<KindCount>& counts = segments_.CountsOf(segments_.Of(first, end));
  std::vector<LayerGroup> groups;
  groups.reserve(counts.size());
  for (const auto& [kind, count] : counts) {
    groups.push_back(groups_[static_cast<std::size_t>(kind)]);
    groups.back().count = count;
  }
  return groups;
}

std::optional<RecomputationChoice> StageTable::Choose(int32_t first, int32_t end, const HeldMicroBatches& held) const {
  const Budget budget = BudgetOf({{first, end}});
  if (budget.bytes < 0) return std::nullopt;
  std::vector<LayerGroup> groups = GroupsOf(first, end);
  if (held.count() == held.whole) return ChooseRecomputation(groups, held.whole, budget.bytes, budget.full_bytes);
  std::size_t group = 0;
  for (const KindCount& own : segments_.CountsOf(segments_.Of(first, end))) {
    const int64_t weights = prices_[static_cast<std::size_t>(own.kind)].weights_kept_bytes;
    for (auto& mode : groups[group].modes) {
      if (mode.has_value()) mode->kept_bytes = held.BytesOf(mode->kept_bytes, weights);
    }
    ++group;
  }
  return ChooseRecomputation(groups, 1, budget.bytes, budget.full_bytes);
}

}  // namespace planwright
