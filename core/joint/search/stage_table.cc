#include "core/joint/search/stage_table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/joint/cost/stage_cost.h"

namespace planwright {
namespace {

std::vector<int64_t> PrefixSums(const std::vector<int32_t>& kinds, const std::vector<LayerPrice>& prices,
                                int64_t (*value)(const LayerPrice&)) {
  std::vector<int64_t> sums(kinds.size() + 1, 0);
  for (std::size_t layer = 0; layer < kinds.size(); ++layer) {
    sums[layer + 1] = sums[layer] + value(prices[static_cast<std::size_t>(kinds[layer])]);
  }
  return sums;
}

// The layer's modes that are allowed; where none of them exists, the ones it has.
LayerGroup GroupOf(const LayerPrice& price, const std::array<bool, kNumRecomputations>& allowed) {
  LayerGroup group;
  bool any = false;
  for (std::size_t mode = 0; mode < allowed.size(); ++mode) {
    if (allowed[mode] && price.modes[mode].has_value()) {
      group.modes[mode] = price.modes[mode];
      any = true;
    }
  }
  if (!any) group.modes = price.modes;
  return group;
}

}  // namespace

SegmentNumbers::SegmentNumbers(const std::vector<int32_t>& kinds) : num_layers_(static_cast<int32_t>(kinds.size())) {
  num_kinds_ = 1 + *std::max_element(kinds.begin(), kinds.end());
  numbers_.assign(kinds.size() * kinds.size(), -1);
  std::map<std::vector<int32_t>, int32_t> known;
  for (std::size_t first = 0; first < kinds.size(); ++first) {
    std::vector<int32_t> counts(static_cast<std::size_t>(num_kinds_), 0);
    for (std::size_t end = first; end < kinds.size(); ++end) {
      ++counts[static_cast<std::size_t>(kinds[end])];
      const auto [entry, is_new] = known.try_emplace(counts, static_cast<int32_t>(counts_.size()));
      if (is_new) counts_.push_back(counts);
      numbers_[first * kinds.size() + end] = entry->second;
    }
  }
}

StageTable::StageTable(const SegmentNumbers& segments, const std::vector<int32_t>& kinds,
                       std::vector<LayerPrice> prices, const std::array<bool, kNumRecomputations>& allowed,
                       int64_t memory_bytes)
    : segments_(segments), kinds_(kinds), prices_(std::move(prices)), memory_bytes_(memory_bytes) {
  for (const LayerPrice& price : prices_) groups_.push_back(GroupOf(price, allowed));
  base_ = PrefixSums(kinds_, prices_, [](const LayerPrice& price) { return price.forward_ps + price.backward_ps; });
  step_end_ = PrefixSums(kinds_, prices_, [](const LayerPrice& price) { return price.step_end_ps; });
  state_ = PrefixSums(kinds_, prices_, [](const LayerPrice& price) { return price.state_bytes(); });
}

int64_t StageTable::TimePs(int32_t first, int32_t end, int64_t in_flight) {
  std::vector<int64_t>& row = extra_[in_flight];
  if (row.empty()) row.assign(static_cast<std::size_t>(segments_.num_segments()), -1);
  // Transfer buffers differ where kinds do not: the entry is that of the first such stage unless it is at an end of the
  // model, where the kinds tell.
  int64_t& extra = row[static_cast<std::size_t>(segments_.Of(first, end))];
  if (extra < 0) {
    const std::optional<RecomputationChoice> choice = Choose(first, end, in_flight);
    extra = choice.has_value() ? choice->bound_ps : kDoesNotFit;
  }
  return extra == kDoesNotFit ? kDoesNotFit : BasePs(first, end) + extra;
}

int64_t StageTable::TransferBeforePs(int32_t layer, const TrainingLink& link) const {
  if (layer == 0 || layer == segments_.num_layers()) return 0;
  return TransferPs(PriceOf(layer - 1).output_bytes, link);
}

std::vector<LayerRecomputation> StageTable::Modes(int32_t first, int32_t end, int64_t in_flight) const {
  const std::optional<RecomputationChoice> choice = Choose(first, end, in_flight);
  std::vector<std::array<int32_t, kNumRecomputations>> left = choice->counts;
  std::vector<LayerRecomputation> modes;
  const std::vector<int32_t>& counts = segments_.CountsOf(segments_.Of(first, end));
  std::vector<std::size_t> group_of_kind(counts.size(), 0);
  std::size_t groups = 0;
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    if (counts[kind] > 0) group_of_kind[kind] = groups++;
  }
  // The first layers of a stage are the ones that are computed again most.
  for (int32_t layer = first; layer < end; ++layer) {
    auto& rest = left[group_of_kind[static_cast<std::size_t>(kinds_[static_cast<std::size_t>(layer)])]];
    std::size_t mode = kNumRecomputations - 1;
    while (rest[mode] == 0) --mode;
    --rest[mode];
    modes.push_back(static_cast<LayerRecomputation>(mode));
  }
  return modes;
}

StageTable::Budget StageTable::BudgetOf(int32_t first, int32_t end) const {
  int64_t workspace = 0;
  int64_t gathered = 0;
  int64_t recomputed = 0;
  const std::vector<int32_t>& counts = segments_.CountsOf(segments_.Of(first, end));
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    if (counts[kind] == 0) continue;
    workspace = std::max(workspace, prices_[kind].workspace_bytes);
    gathered = std::max(gathered, prices_[kind].gathered_bytes);
    recomputed = std::max(recomputed, prices_[kind].recomputed_bytes);
  }
  const int64_t buffers = BoundaryBufferBytes(first > 0 ? PriceOf(first - 1).output_bytes : 0,
                                              end < segments_.num_layers() ? PriceOf(end - 1).output_bytes : 0);
  const int64_t budget = memory_bytes_ - StateBytes(first, end) - workspace - 2 * gathered - buffers;
  return {budget, budget - recomputed};
}

std::optional<RecomputationChoice> StageTable::Choose(int32_t first, int32_t end, int64_t in_flight) const {
  const Budget budget = BudgetOf(first, end);
  if (budget.bytes < 0) return std::nullopt;
  std::vector<LayerGroup> groups;
  const std::vector<int32_t>& counts = segments_.CountsOf(segments_.Of(first, end));
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    if (counts[kind] == 0) continue;
    groups.push_back(groups_[kind]);
    groups.back().count = counts[kind];
  }
  return ChooseRecomputation(groups, in_flight, budget.bytes, budget.full_bytes);
}

}  // namespace planwright
