#include "core/joint/search/stage_pass.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>

#include "core/base/units.h"

namespace planwright {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

}  // namespace

StagePass::StagePass(const Places& places, int32_t num_layers, int64_t micro_batches, std::optional<int32_t> num_stages,
                     std::vector<SpreadOption>& options, Poller& poller)
    : places_(places),
      num_layers_(num_layers),
      micro_batches_(micro_batches),
      num_stages_(num_stages),
      options_(options),
      poller_(poller),
      rest_{0},
      work_{0} {
  SetBounds();
}

void StagePass::SetBounds() {
  const TrainingLink& slowest = places_.row().cluster().between;
  for (int32_t layer = 0; layer < num_layers_; ++layer) {
    int64_t least = kNever;
    int64_t least_work = kNever;
    int64_t least_end = kNever;
    int64_t most = 0;
    for (const SpreadOption& option : options_) {
      for (const auto& table : option.tables) {
        if (table == nullptr) continue;
        const int64_t base = table->BasePs(layer, layer + 1);
        const int64_t transfers = table->TransferBeforePs(layer, slowest) + table->TransferBeforePs(layer + 1, slowest);
        least = std::min(least, base);
        least_work = std::min(least_work, base * option.degrees.devices());
        least_end = std::min(least_end, table->StepEndPs(layer, layer + 1));
        most = std::max(most, base + table->MostExtraPs(layer) + transfers);
      }
    }
    rest_.push_back(rest_.back() + least);
    work_.push_back(work_.back() + least_work);
    longest_bound_ = std::max(longest_bound_, least);
    longest_possible_ += most;
    end_bound_ = std::max(end_bound_, least_end);
  }
  longest_bound_ = std::max(longest_bound_, CeilDivide(work_.back(), places_.size()));
}

bool StagePass::MayHave(int64_t stages, int32_t first_layer) const {
  if (!num_stages_.has_value()) return true;
  return first_layer == 0 ? stages == *num_stages_ : stages < *num_stages_;
}

int64_t StagePass::BaseOf(const SpreadOption& option, int32_t first, int32_t end) const {
  int64_t least = kNever;
  for (const auto& table : option.tables) {
    if (table != nullptr) least = std::min(least, table->BasePs(first, end));
  }
  return least;
}

template <typename Combine>
void StagePass::ExtendBy(PlacedStage stage, const Label& behind, int32_t next, int64_t cap, Combine combine,
                         Front& found) {
  const SpreadOption& option = options_[static_cast<std::size_t>(stage.option)];
  if (behind.depth >= places_.size() || !MayHave(behind.behind + 1, stage.first_layer)) return;
  StageTable* table = option.tables[static_cast<std::size_t>(places_.ClassAt(behind.depth))].get();
  if (table == nullptr) return;
  stage.end = places_.EndOf(behind.depth, option.degrees.devices());
  if (stage.end < 0) return;
  const int64_t base = table->BasePs(stage.first_layer, stage.end_layer) +
                       table->TransferBeforePs(stage.end_layer, places_.LinkAt(behind.depth));
  if (base > cap) return;
  const int64_t time = table->TimePs(stage.first_layer, stage.end_layer, std::min(micro_batches_, behind.behind + 1));
  if (time == kDoesNotFit) return;
  const int64_t sent = table->TransferBeforePs(stage.end_layer, places_.LinkAt(behind.depth));
  const int64_t step_end = std::max(behind.end, table->StepEndPs(stage.first_layer, stage.end_layer));
  const auto add = [&](int64_t depth) {
    const int64_t cost = time + sent + table->TransferBeforePs(stage.first_layer, places_.LinkAt(depth));
    if (cost > cap) return;
    Label label{depth, behind.behind + 1, 0, step_end, std::max(behind.longest, cost), stage, next};
    if (combine(cost, behind, label)) found.push_back(label);
  };
  if (stage.first_layer == 0) return add(stage.end);
  places_.ForEachNext(stage.end, add);
}

template <typename Combine>
void StagePass::Extend(int32_t first, int64_t cap, Combine combine, Front& found) {
  for (std::size_t o = 0; o < options_.size(); ++o) {
    for (int32_t end = first + 1; end <= num_layers_ && BaseOf(options_[o], first, end) <= cap; ++end) {
      const Front& behind = fronts_[static_cast<std::size_t>(end)];
      if (poller_.ShouldStop(static_cast<int64_t>(4 + 16 * behind.size()))) return;
      const PlacedStage stage{first, end, static_cast<int32_t>(o), 0};
      for (std::size_t label = 0; label < behind.size(); ++label) {
        ExtendBy(stage, behind[label], static_cast<int32_t>(label), cap, combine, found);
      }
    }
  }
}

void StagePass::KeepUnbeaten(Front& front) {
  const auto key = [this](const Label& label) {
    return std::tuple(places_.KindOf(label.depth), label.depth, label.behind, label.sum, label.end, label.stage.option,
                      label.stage.end_layer, label.next);
  };
  std::sort(front.begin(), front.end(), [&](const Label& a, const Label& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  std::size_t same_kind = 0;
  for (const Label& label : front) {
    if (kept > 0 && places_.KindOf(front[kept - 1].depth) != places_.KindOf(label.depth)) same_kind = kept;
    // The newest are the likeliest to beat it.
    bool is_beaten = false;
    for (std::size_t other = kept; other > same_kind && !is_beaten; --other) {
      const Label& before = front[other - 1];
      is_beaten = before.sum <= label.sum && before.end <= label.end &&
                  (num_stages_.has_value() ? before.behind == label.behind : before.behind <= label.behind);
    }
    if (!is_beaten) front[kept++] = label;
  }
  front.resize(kept);
  labels_ += static_cast<int64_t>(kept);
}

StagePipeline StagePass::Trace(const Label& label) const {
  StagePipeline pipeline{.stages = {}, .sum_ps = label.sum, .longest_ps = label.longest, .end_ps = label.end};
  const Label* at = &label;
  while (at->next >= 0) {
    pipeline.stages.push_back(at->stage);
    at = &fronts_[static_cast<std::size_t>(at->stage.end_layer)][static_cast<std::size_t>(at->next)];
  }
  return pipeline;
}

void StagePass::Begin() {
  fronts_.assign(static_cast<std::size_t>(num_layers_) + 1, {});
  for (const int64_t start : places_.class_starts()) fronts_.back().push_back({.depth = start});
}

std::optional<StagePipeline> StagePass::LeastSum(const Window& window) {
  Begin();
  const int64_t rest_of_step = (micro_batches_ - 1) * (window.above + 1);
  for (int32_t first = num_layers_ - 1; first >= 0; --first) {
    const int64_t rest = rest_[static_cast<std::size_t>(first)];
    const int64_t work = work_[static_cast<std::size_t>(first)];
    Front& front = fronts_[static_cast<std::size_t>(first)];
    const auto combine = [&](int64_t cost, const Label& behind, Label& label) {
      label.sum = behind.sum + cost;
      // Labels before it cannot do their work in what is left of the devices.
      if (SaturatingMultiply(window.cap, places_.size() - label.depth) < work) return false;
      return label.sum + rest + std::max(label.end, end_bound_) + rest_of_step < window.limit;
    };
    Extend(first, window.cap, combine, front);
    if (poller_.ShouldStop()) return std::nullopt;
    KeepUnbeaten(front);
  }
  const Front& whole = fronts_.front();
  if (whole.empty()) return std::nullopt;
  const auto value = [](const Label& label) { return label.sum + label.end; };
  return Trace(*std::min_element(whole.begin(), whole.end(),
                                 [&](const Label& a, const Label& b) { return value(a) < value(b); }));
}

int64_t StagePass::LeastBracket(int64_t limit) {
  Begin();
  const int64_t cap = limit / micro_batches_;
  for (int32_t first = num_layers_ - 1; first >= 0; --first) {
    const int64_t rest = rest_[static_cast<std::size_t>(first)];
    const int64_t work = work_[static_cast<std::size_t>(first)];
    Front& front = fronts_[static_cast<std::size_t>(first)];
    const auto combine = [&](int64_t cost, const Label& behind, Label& label) {
      label.sum = std::max(micro_batches_ * cost, cost + behind.sum);
      // The first stage ends its step when all is done, the others may have ended theirs.
      if (first == 0) label.sum += label.end - behind.end;
      label.end = 0;
      if (SaturatingMultiply(cap, places_.size() - label.depth) < work) return false;
      return label.sum + rest < limit;
    };
    Extend(first, cap, combine, front);
    if (poller_.ShouldStop()) return 0;
    KeepUnbeaten(front);
  }
  int64_t least = limit;
  for (const Label& label : fronts_.front()) least = std::min(least, label.sum);
  return least;
}

}  // namespace planwright
