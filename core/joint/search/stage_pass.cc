#include "core/joint/search/stage_pass.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

#include "core/base/units.h"

namespace planwright {

StagePass::StagePass(const Places& places, int32_t num_layers, int64_t micro_batches, std::optional<int32_t> num_stages,
                     std::vector<SpreadOption>& options, Poller& poller, Measure measure)
    : places_(places),
      num_layers_(num_layers),
      micro_batches_(micro_batches),
      num_stages_(num_stages),
      options_(options),
      poller_(poller),
      num_classes_(places.row().num_classes()),
      num_tiers_(places.num_tiers()),
      rest_{0},
      work_{0},
      holders_{0},
      measure_(measure),
      ends_(places, measure != Measure::kNothing &&
                        std::any_of(options.begin(), options.end(),
                                    [&](const SpreadOption& option) { return option.AreEndsTied(num_layers); })),
      room_(poller.limits(), sizeof(Label)) {
  SetSizes();
  SetSites();
  SetWeights();
  SetBounds();
  SetDuals();
}

void StagePass::SetSizes() {
  for (const SpreadOption& option : options_) {
    const int64_t devices = option.degrees.devices();
    if (std::find(sizes_.begin(), sizes_.end(), devices) == sizes_.end()) sizes_.push_back(devices);
  }
  smallest_ = *std::min_element(sizes_.begin(), sizes_.end());
}

void StagePass::SetSites() {
  const TrainingCluster& cluster = places_.row().cluster();
  for (const SpreadOption& option : options_) {
    for (const auto& table : option.tables) tables_.push_back(table.get());
  }
  for (const SpreadOption& option : options_) {
    for (int32_t number = 0; number < num_classes_; ++number) {
      StageTable* const* tables = tables_.data() + sites_.size() * static_cast<std::size_t>(num_tiers_);
      Site& site = sites_.emplace_back();
      site.span = places_.SpanOf(number, option.degrees.devices());
      const StageTable* table = option.ClosestAt(number);
      if (table == nullptr) continue;
      site.tables = tables;
      for (int32_t layer = 0; layer <= num_layers_; ++layer) {
        for (int32_t tier = 0; tier < num_tiers_; ++tier) {
          site.transfers.push_back(table->TransferBeforePs(layer, cluster.LinkOf(tier)));
        }
      }
    }
  }
}

bool StagePass::HasSeveralStages() const {
  if (num_stages_.has_value()) return *num_stages_ > 1;
  return std::none_of(tables_.begin(), tables_.end(), [this](const StageTable* table) {
    return table != nullptr && table->BasePs(0, num_layers_) != kDoesNotFit && table->Fits(0, num_layers_, 1);
  });
}

void StagePass::SetBounds() {
  const TrainingCluster& cluster = places_.row().cluster();
  const TrainingLink& slowest = cluster.between;
  const bool are_several = HasSeveralStages();
  double held = 0;
  for (int32_t layer = 0; layer < num_layers_; ++layer) {
    int64_t least = kBeyondAll;
    auto least_work = static_cast<double>(kBeyondAll);
    int64_t least_end = kBeyondAll;
    auto least_held = static_cast<double>(kBeyondAll);
    int64_t most = 0;
    for (const SpreadOption& option : options_) {
      for (int32_t number = 0; number < num_classes_; ++number) {
        const double devices =
            weights_[static_cast<std::size_t>(number)] * static_cast<double>(option.degrees.devices());
        for (int32_t tier = 0; tier < num_tiers_; ++tier) {
          const StageTable* table = option.At(number, tier);
          if (table == nullptr || !table->PriceOf(layer).can_run) continue;
          const int64_t base = table->BasePs(layer, layer + 1);
          const int64_t transfers =
              table->TransferBeforePs(layer, slowest) + table->TransferBeforePs(layer + 1, slowest);
          least = std::min(least, base);
          least_work = std::min(least_work, static_cast<double>(base) * devices);
          // Of a stage that holds nothing else.
          const int64_t of_ends =
              ends_.matter() && are_several
                  ? table->EndsPs(layer, layer + 1,
                                  cluster.LinkOf(places_.LeastTierOfEnds(number, option.degrees.devices(), smallest_)))
                  : 0;
          const LayerPrice& price = table->PriceOf(layer);
          const bool may_share = !are_several && layer + 1 == num_layers_;
          least_end = std::min(least_end, of_ends + (may_share ? price.least_step_end_ps() : price.step_end_ps));
          least_held = std::min(
              least_held, table->LeastShareOf(layer, !are_several) * static_cast<double>(option.degrees.devices()));
          most = std::max(most, base + table->MostExtraPs(layer) + transfers);
        }
      }
    }
    rest_.push_back(SaturatingAdd(rest_.back(), least));
    work_.push_back(work_.back() + least_work);
    held += least_held;
    holders_.push_back(static_cast<int64_t>(std::ceil(std::min(held, kManyDevices) * (1 - kRoundings))));
    longest_bound_ = std::max(longest_bound_, least);
    longest_possible_ = SaturatingAdd(longest_possible_, most);
    end_bound_ = std::max(end_bound_, least_end);
  }
  longest_bound_ = std::max(longest_bound_, static_cast<int64_t>(work_.back() / left_.front() * (1 - kRoundings)));
}

// Any weights give bounds; these make the work of all layers the same on every class.
void StagePass::SetWeights() {
  const auto num_classes = static_cast<std::size_t>(places_.row().num_classes());
  std::vector<double> work(num_classes, static_cast<double>(kBeyondAll));
  for (const SpreadOption& option : options_) {
    for (std::size_t number = 0; number < num_classes; ++number) {
      const StageTable* table = option.ClosestAt(static_cast<int32_t>(number));
      if (table == nullptr) continue;
      const auto base = static_cast<double>(table->BasePs(0, num_layers_));
      work[number] = std::min(work[number], base * static_cast<double>(option.degrees.devices()));
    }
  }
  const double least = *std::min_element(work.begin(), work.end());
  for (const double own : work) weights_.push_back(own > 0 ? least / own : 1);
  left_.assign(static_cast<std::size_t>(places_.size()) + 1, 0);
  for (int64_t depth = places_.size(); depth-- > 0;) {
    const auto at = static_cast<std::size_t>(depth);
    left_[at] = left_[at + 1] + weights_[static_cast<std::size_t>(places_.ClassAt(depth))];
  }
}

// A stage on n devices that takes c <= cap has n cap >= n c, so layers with times t_i on n_i devices each need at least
// sum n_i t_i / cap devices, all of them weighted. For a price p of a device, sum t_i is then at least
// sum t_i (1 + p n_i) - p cap devices, whose least value over the spreads of each layer is a prefix sum (Lagrange's
// relaxation).
void StagePass::SetDuals() {
  const double devices = left_.front();
  double share = 0.25;
  while (share <= 1.01 * devices) {
    prices_.push_back(share / devices);
    share *= 2;
  }
  priced_rest_.assign(prices_.size(), 0);
  for (int32_t layer = 0; layer < num_layers_; ++layer) {
    const std::size_t before = priced_rest_.size() - prices_.size();
    for (std::size_t price = 0; price < prices_.size(); ++price) {
      auto least = static_cast<double>(kBeyondAll);
      for (const SpreadOption& option : options_) {
        for (std::size_t number = 0; number < weights_.size(); ++number) {
          const StageTable* table = option.ClosestAt(static_cast<int32_t>(number));
          if (table == nullptr) continue;
          const double weighted = weights_[number] * static_cast<double>(option.degrees.devices());
          const auto base = static_cast<double>(table->BasePs(layer, layer + 1));
          least = std::min(least, base * (1 + prices_[price] * weighted));
        }
      }
      priced_rest_.push_back(priced_rest_[before + price] + least);
    }
  }
}

int64_t StagePass::MeasureOf(const StageTable& table, const PlacedStage& stage, const Label& behind, int64_t cost,
                             int64_t transfers) const {
  if (!is_step()) return cost;
  const int64_t forward = table.PassesPs(stage.first_layer, stage.end_layer, false).forward_ps + transfers / 2;
  return StepMeasureOf(behind.behind, behind.sum, cost, forward);
}

int64_t StagePass::StepMeasureOf(int64_t stages, int64_t sum, int64_t cost, int64_t forward) const {
  const int64_t shorter = std::min(forward, cost - forward);
  const int64_t early = std::min(micro_batches_ - 1, stages);
  const int64_t passes = SaturatingMultiply(micro_batches_, cost);
  const int64_t begun = SaturatingAdd(passes, sum) - early * shorter;
  const int64_t in_turn = micro_batches_ - 1 - stages;
  const int64_t waited =
      in_turn > 0 ? SaturatingAdd(SaturatingMultiply(in_turn + 1, cost), SaturatingMultiply(2, sum)) : 0;
  return std::max({passes, begun, waited});
}

int64_t StagePass::StagePs(StageTable& table, const PlacedStage& stage, int64_t in_flight) const {
  if (measure_ != Measure::kNothing) return table.TimePs(stage.first_layer, stage.end_layer, in_flight);
  return table.Fits(stage.first_layer, stage.end_layer, in_flight) ? 0 : kDoesNotFit;
}

int64_t StagePass::RestBound(int32_t layer, int64_t cap, int64_t depth) const {
  const auto at = static_cast<std::size_t>(layer);
  const double room = static_cast<double>(cap) * left_[static_cast<std::size_t>(depth)] * (1 + kRoundings);
  if (room < work_[at] * (1 - kRoundings)) return kDoesNotFit;
  double most = 0;
  for (std::size_t price = 0; price < prices_.size(); ++price) {
    const double paid = priced_rest_[at * prices_.size() + price] * (1 - kRoundings);
    most = std::max(most, paid - prices_[price] * room);
  }
  return std::max(rest_[at], static_cast<int64_t>(most));
}

bool StagePass::MayHave(int64_t stages, int32_t first_layer) const {
  if (!num_stages_.has_value()) return true;
  const int64_t left = StagesLeft(stages);
  return first_layer == 0 ? left == 0 : left > 0 && left <= first_layer;
}

int64_t StagePass::BaseOf(const SpreadOption& option, int32_t first, int32_t end) {
  int64_t least = kBeyondAll;
  for (const auto& table : option.tables) {
    if (table != nullptr) least = std::min(least, table->BasePs(first, end));
  }
  return least;
}

uint32_t StagePass::TiersBefore(const PlacedStage& stage, int64_t end, int64_t depth) const {
  if (num_tiers_ == 2) return places_.IsInsideNode(depth) ? 1 : 2;
  uint32_t tiers = 0;
  for (const int64_t devices : sizes_) {
    const int64_t next = places_.EndOf(depth, devices);
    if (next >= 0) tiers |= 1U << places_.TierOfBoth(end, DevicesOf(stage), depth, next, devices);
  }
  return tiers;
}

template <typename Combine>
void StagePass::ExtendBy(const PlacedStage& stage, const Label& behind, int32_t next, const Most& most, Combine combine,
                         Front& found) {
  // No device is left, or the stages could not be as many as are asked for.
  if (behind.depth >= places_.size() || !MayHave(behind.behind + 1, stage.first_layer)) return;
  const Site& site = SiteOf(stage.option, places_.ClassAt(behind.depth));
  if (site.tables == nullptr) return;
  const int64_t end = places_.EndOf(behind.depth, site.span);
  // The block does not fit here, or leaves too few devices to the stages that must come before it.
  if (end < 0 || end + StagesLeft(behind.behind + 1) * smallest_ > places_.size()) return;
  // Where there are only two tiers, a block has the second one where it fills nodes.
  const int32_t own = num_tiers_ == 2 ? int32_t{site.span.fills_nodes} : places_.TierOf(end, DevicesOf(stage));
  StageTable* table = site.tables[own];
  // The class cannot have it on devices so far apart; or the label behind counts on another distance: a twin has this.
  if (table == nullptr || !IsSoFarFrom(stage, end, behind)) return;
  const auto transfer = [&](int32_t layer, int32_t tier) { return site.transfers[Index(layer * num_tiers_ + tier)]; };
  const int64_t sent = transfer(stage.end_layer, behind.tier);
  const int64_t least = table->BasePs(stage.first_layer, stage.end_layer) + sent;
  // Recomputation and the transfer before the stage only add to both: what is too much without them stays so.
  if (MeasureOf(*table, stage, behind, least, sent) > most.cap || behind.sum + least > most.sum) return;
  const int64_t time = StagePs(*table, stage, std::min<int64_t>(micro_batches_, behind.behind + 1));
  if (time == kDoesNotFit) return;
  const auto add = [&](int64_t depth, int32_t tier, int64_t step_end, const PipelineEnds::Distance& ends) {
    const int64_t transfers = sent + transfer(stage.first_layer, tier);
    const int64_t cost = time + transfers;
    const int64_t measured = MeasureOf(*table, stage, behind, cost, transfers);
    if (measured > most.cap) return;
    Label label{.depth = static_cast<int32_t>(depth),
                .behind = behind.behind + 1,
                .end = std::max(behind.end, step_end),
                .longest = std::max(measured, behind.longest + (is_step() ? cost : 0)),
                .next = next,
                .tier = tier,
                .ends = ends};
    if (!combine(cost, behind, label)) return;
    label.stage = {stage.first_layer, stage.end_layer, stage.option, end};
    found.push_back(label);
  };
  const PipelineEnds::Stage placed{end, own, stage.first_layer == 0, stage.end_layer == num_layers_};
  ends_.ForEachDistance(placed, behind.ends, [&](const PipelineEnds::Distance& ends) {
    const int64_t step_end =
        table->StepEndPs(stage.first_layer, stage.end_layer) +
        table->EndsPs(stage.first_layer, stage.end_layer, places_.row().cluster().LinkOf(ends.tier));
    if (placed.is_first) return add(end, 0, step_end, ends);
    places_.ForEachNext(end, [&](int64_t depth) {
      if (!ends_.MayBeKept(ends, depth)) return;
      const uint32_t tiers = TiersBefore(stage, end, depth);
      for (int32_t tier = 0; tier < num_tiers_; ++tier) {
        if ((tiers >> tier & 1U) != 0) add(depth, tier, step_end, ends);
      }
    });
  });
}

template <typename Combine>
bool StagePass::Extend(int32_t first, const Most& most, Combine combine, Front& found, int64_t& work_left) {
  for (std::size_t o = 0; o < options_.size(); ++o) {
    for (int32_t end = first + 1; end <= num_layers_ && BaseOf(options_[o], first, end) <= most.base; ++end) {
      const Front& behind = fronts_[static_cast<std::size_t>(end)];
      const auto work = static_cast<int64_t>(4 + 16 * behind.size());
      work_left -= work;
      if (poller_.ShouldStop(work) || work_left < 0 || !room_.Holds(found)) return false;
      const PlacedStage stage{first, end, static_cast<int32_t>(o), 0};
      for (std::size_t label = 0; label < behind.size(); ++label) {
        ExtendBy(stage, behind[label], static_cast<int32_t>(label), most, combine, found);
      }
    }
  }
  return true;
}

int64_t StagePass::KeepUnbeaten(Front& front) {
  // In front of more stages there is less memory, but a stage may wait less for them: then neither beats the other.
  const bool needs_as_many = num_stages_.has_value() || is_step();
  const auto kind = [&](const Label& label) {
    return std::tuple(places_.KindOf(label.depth), label.tier, is_step() ? label.behind : 0, ends_.KindOf(label.ends));
  };
  const auto key = [this](const Label& label) {
    return std::tuple(label.depth, label.behind, label.sum, is_step() ? label.longest : 0, label.end,
                      label.stage.option, label.stage.end_layer, label.next);
  };
  // A beaten label is no loss: what comes before it can come before the other, with no more devices, time or memory.
  const auto beats = [&](const Label& a, const Label& b) {
    return a.sum <= b.sum && a.end <= b.end && (!is_step() || a.longest <= b.longest) &&
           (needs_as_many ? a.behind == b.behind : a.behind <= b.behind);
  };
  const int64_t compared = planwright::KeepUnbeaten(front, kind, key, beats);
  room_.Keep(front);
  labels_ += static_cast<int64_t>(front.size());
  return compared;
}

StagePipeline StagePass::Trace(const Label& label) const {
  return {StagesOf(label, fronts_), label.sum, label.longest, label.end};
}

void StagePass::Begin() {
  room_.Clear();
  fronts_.assign(static_cast<std::size_t>(num_layers_) + 1, {});
  for (const int64_t start : places_.starts()) fronts_.back().push_back({.depth = static_cast<int32_t>(start)});
}

bool StagePass::RunWindow(const Window& window, int64_t most_devices) {
  Begin();
  const bool is_timed = measure_ != Measure::kNothing;
  const int64_t rest_of_step = is_timed ? (micro_batches_ - 1) * (window.above + 1) : 0;
  const int64_t idle = places_.size() - most_devices;
  for (int32_t first = num_layers_ - 1; first >= 0; --first) {
    Front& front = fronts_[static_cast<std::size_t>(first)];
    const auto combine = [&](int64_t cost, const Label& behind, Label& label) {
      if (label.depth + holders_[static_cast<std::size_t>(first)] > most_devices) return false;
      if (!is_timed) {
        label.end = 0;
        return true;
      }
      label.sum = behind.sum + cost;
      // A label is dropped if it reaches the limit with the least that the layers before it take on the devices left.
      const int64_t known = label.sum + std::max(label.end, end_bound_) + rest_of_step;
      return known < window.limit && RestBound(first, window.cap, label.depth + idle) < window.limit - known;
    };
    const int64_t most_sum = window.limit - rest_of_step - end_bound_ - rest_[static_cast<std::size_t>(first)];
    int64_t any_work = kBeyondAll;
    if (!Extend(first, {window.cap, window.cap, is_timed ? most_sum : kBeyondAll}, combine, front, any_work)) {
      poller_.StopForGood();
      return false;
    }
    KeepUnbeaten(front);
  }
  return true;
}

std::optional<StagePipeline> StagePass::LeastSum(const Window& window) {
  if (!RunWindow(window, places_.size())) return std::nullopt;
  const Front& whole = fronts_.front();
  if (whole.empty()) return std::nullopt;
  const auto value = [](const Label& label) { return label.sum + label.end; };
  return Trace(*std::min_element(whole.begin(), whole.end(),
                                 [&](const Label& a, const Label& b) { return value(a) < value(b); }));
}

StagePass::Fewest StagePass::LeastDevices(const Window& window, int64_t most_devices) {
  Fewest fewest;
  if (!RunWindow(window, most_devices)) return fewest;
  const Label* best = nullptr;
  for (const Label& label : fronts_.front()) {
    fewest.devices_bound = std::min<int64_t>(fewest.devices_bound, label.depth);
    fewest.value_bound = std::min(fewest.value_bound, label.sum + label.end);
    const bool reaches = measure_ == Measure::kNothing ||
                         OneFOneBStepPs(label.sum, label.longest, label.end, micro_batches_) < window.limit;
    if (reaches && (best == nullptr || label.depth < best->depth)) best = &label;
  }
  if (best == nullptr) return fewest;
  fewest.pipeline = Trace(*best);
  fewest.devices = best->depth;
  return fewest;
}

int64_t StagePass::DevicesBound(const Window& window, int64_t most_devices) const {
  int64_t low = std::max<int64_t>(1, holders_.back());
  if (measure_ == Measure::kNothing) return low;
  const int64_t left = window.limit - (micro_batches_ - 1) * (window.above + 1) - end_bound_;
  int64_t high = most_devices + 1;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (RestBound(num_layers_, window.cap, places_.size() - middle) < left) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::optional<int64_t> StagePass::LeastSimulated(int64_t limit, int64_t& work_left) {
  Begin();
  // A stage that takes more reaches the limit alone.
  const int64_t cap = limit / micro_batches_;
  for (int32_t first = num_layers_ - 1; first >= 0; --first) {
    Front& front = fronts_[static_cast<std::size_t>(first)];
    const auto combine = [&](int64_t cost, const Label& behind, Label& label) {
      label.sum = behind.sum + cost;
      // The first stage ends its step when all is done, the others may have ended theirs.
      if (first == 0) label.longest += label.end;
      label.end = 0;
      // The stages before it add what they take, at least so much.
      return label.longest < limit && RestBound(first, cap, label.depth) < limit - label.longest;
    };
    if (!Extend(first, {limit, cap, kBeyondAll}, combine, front, work_left)) return std::nullopt;
    const int64_t compared = KeepUnbeaten(front);
    work_left -= compared;
    if (poller_.ShouldStop(compared)) return std::nullopt;
  }
  int64_t least = limit;
  for (const Label& label : fronts_.front()) least = std::min(least, label.longest);
  fronts_.clear();
  return least;
}

}  // namespace planwright
