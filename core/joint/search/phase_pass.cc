#include "core/joint/search/phase_pass.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

#include "core/base/units.h"

namespace planwright {
namespace {

LongestPasses Larger(const LongestPasses& a, const LongestPasses& b) {
  return {std::max(a.forward_ps, b.forward_ps), std::max(a.backward_ps, b.backward_ps),
          std::max(a.weights_ps, b.weights_ps)};
}

LongestPasses Share(const LongestPasses& sum, int64_t parts) {
  return {CeilDivide(sum.forward_ps, parts), CeilDivide(sum.backward_ps, parts), CeilDivide(sum.weights_ps, parts)};
}

// Visits the tables with their classes.
template <typename Visit>
void ForEachTable(const Places& places, const SpreadOption& option, Visit visit) {
  for (int32_t number = 0; number < places.row().num_classes(); ++number) {
    for (int32_t tier = 0; tier < option.num_tiers; ++tier) visit(number, option.At(number, tier));
  }
}

// By depth. Blocks of one class never overlap, wherever the first begins.
std::vector<int64_t> BlocksLeft(const Places& places, int64_t devices) {
  std::vector<Places::Span> spans;
  spans.reserve(static_cast<std::size_t>(places.row().num_classes()));
  for (int32_t number = 0; number < places.row().num_classes(); ++number) {
    spans.push_back(places.SpanOf(number, devices));
  }
  std::vector<int64_t> left(static_cast<std::size_t>(places.size()) + 1, 0);
  for (int64_t depth = places.size(); depth-- > 0;) {
    const auto at = static_cast<std::size_t>(depth);
    const int64_t end = places.EndOf(depth, spans[static_cast<std::size_t>(places.ClassAt(depth))]);
    left[at] = left[at + 1];
    if (end >= 0) left[at] = std::max(left[at], 1 + left[static_cast<std::size_t>(end)]);
  }
  return left;
}

}  // namespace

PhaseBounds::PhaseBounds(const Places& places, int32_t num_layers, PipelineOrder order, const SpreadOption& option)
    : rest(1), longest_layer(1) {
  const bool is_split = order == PipelineOrder::kZeroBubble;
  for (int32_t layer = 0; layer < num_layers; ++layer) {
    LongestPasses least{kBeyondAll, kBeyondAll, kBeyondAll};
    int64_t least_end = kBeyondAll;
    int64_t least_end_of_several = kBeyondAll;
    ForEachTable(places, option, [&](int32_t number, const StageTable* table) {
      if (table == nullptr) return;
      const LongestPasses own = table->PassesPs(layer, layer + 1, is_split);
      least = {std::min(least.forward_ps, own.forward_ps), std::min(least.backward_ps, own.backward_ps),
               std::min(least.weights_ps, own.weights_ps)};
      const LayerPrice& price = table->PriceOf(layer);
      const int64_t step_end = price.step_end_ps;
      least_end = std::min(least_end, layer + 1 == num_layers ? price.least_step_end_ps() : step_end);
      const int64_t devices = option.degrees.devices();
      const int32_t tier = places.LeastTierOfEnds(number, devices, devices);
      const TrainingLink& link = places.row().cluster().LinkOf(tier);
      least_end_of_several = std::min(least_end_of_several, step_end + table->EndsPs(layer, layer + 1, link));
    });
    const LongestPasses& before = rest.back();
    rest.push_back({before.forward_ps + least.forward_ps, before.backward_ps + least.backward_ps,
                    before.weights_ps + least.weights_ps});
    longest_layer.push_back(Larger(longest_layer.back(), least));
    end = std::max(end, least_end);
    end_of_several = std::max(end_of_several, least_end_of_several);
  }
  blocks_left = BlocksLeft(places, option.degrees.devices());
}

PhasePass::PhasePass(const Places& places, int32_t num_layers, const PhaseQuestion& question,
                     const SpreadOption& option, const PhaseBounds& bounds, Poller& poller)
    : places_(places),
      num_layers_(num_layers),
      question_(question),
      option_(option),
      bounds_(bounds),
      poller_(poller),
      ends_(places, option.AreEndsTied(num_layers)),
      room_(poller.limits(), sizeof(Label)) {}

int64_t PhasePass::StepPs(int64_t sum_ps, const LongestPasses& longest, int64_t end_ps) const {
  return planwright::StepPs(question_.order, {sum_ps, 0, longest, end_ps}, question_.micro_batches,
                            question_.num_stages.value_or(0));
}

int64_t PhasePass::StagesLeft(const Label& label) const {
  const int64_t blocks = bounds_.blocks_left[static_cast<std::size_t>(label.depth)];
  return question_.num_stages.has_value() ? std::min<int64_t>(blocks, *question_.num_stages - label.behind) : blocks;
}

int64_t PhasePass::StepBoundOf(const Label& label, int32_t first) const {
  const auto at = static_cast<std::size_t>(first);
  const int64_t left = StagesLeft(label);
  if (first > 0 && left <= 0) return kDoesNotFit;
  LongestPasses longest = Larger(label.longest, bounds_.longest_layer[at]);
  if (first > 0) longest = Larger(longest, Share(bounds_.rest[at], left));
  const int64_t end = is_simulated_ ? label.busy : std::max(label.end, LeastEndPs());
  return StepPs(label.sum + bounds_.rest[at].forward_ps + bounds_.rest[at].backward_ps, longest, end);
}

int64_t PhasePass::SimulatedBoundOf(const Label& label, int32_t first) const {
  if (question_.order == PipelineOrder::kGpipe) return StepBoundOf(label, first);
  if (first > 0 && StagesLeft(label) <= 0) return kDoesNotFit;
  return label.busy + bounds_.rest[static_cast<std::size_t>(first)].forward_ps;
}

int64_t PhasePass::StepBound() const {
  int64_t least = kBeyondAll;
  for (const int64_t start : places_.starts()) {
    Label root;
    root.depth = start;
    least = std::min(least, StepBoundOf(root, num_layers_));
  }
  return least;
}

int64_t PhasePass::BusiestBound() const {
  int64_t stages = 0;
  for (const int64_t start : places_.starts()) {
    Label root;
    root.depth = start;
    stages = std::max(stages, StagesLeft(root));
  }
  if (stages == 0) return kBeyondAll;
  const LongestPasses& all = bounds_.rest.back();
  return SaturatingMultiply(question_.micro_batches,
                            CeilDivide(all.forward_ps + all.backward_ps + all.weights_ps, stages));
}

PhasePass::Label PhasePass::Joined(const Label& behind, const Cost& cost, const PlacedStage& stage,
                                   int32_t next) const {
  Label label;
  label.behind = behind.behind + 1;
  label.stage = stage;
  label.next = next;
  // What does not count stays 0, so that it tells no labels apart.
  const bool is_split = question_.order == PipelineOrder::kZeroBubble;
  const auto [forward, backward, weights] = cost.passes;
  if (!is_split || is_simulated_) label.sum = behind.sum + forward + backward;
  if (!is_split || !is_simulated_) label.longest = Larger(behind.longest, cost.passes);
  if (!is_simulated_) {
    label.end = std::max(behind.end, cost.end);
  } else if (!is_split) {
    label.busy = stage.first_layer == 0 ? cost.end : 0;
  } else {
    const int64_t micro_batches = question_.micro_batches;
    const int64_t left = (micro_batches - label.behind) * forward + (micro_batches - 1) * backward;
    label.busy = std::max(label.sum + left + micro_batches * weights + cost.end, forward + behind.busy);
  }
  return label;
}

template <typename Value>
void PhasePass::Extend(PlacedStage stage, const Label& behind, int32_t next, int64_t limit, Value value, Front& found) {
  // No device is left, or the stages would not be as many as are asked for.
  if (behind.depth >= places_.size()) return;
  const std::optional<int32_t>& wanted = question_.num_stages;
  if (wanted.has_value() && (stage.first_layer == 0) != (behind.behind + 1 == *wanted)) return;
  const int64_t devices = option_.degrees.devices();
  stage.end = places_.EndOf(behind.depth, devices);
  if (stage.end < 0) return;
  const int32_t own = places_.TierOf(stage.end, devices);
  StageTable* table = option_.At(places_.ClassAt(behind.depth), own);
  if (table == nullptr) return;
  const bool is_split = question_.order == PipelineOrder::kZeroBubble;
  Cost cost{table->PassesPs(stage.first_layer, stage.end_layer, is_split),
            table->StepEndPs(stage.first_layer, stage.end_layer)};
  const TrainingCluster& cluster = places_.row().cluster();
  const int64_t sent = table->TransferBeforePs(stage.end_layer, cluster.LinkOf(behind.tier));
  // Recomputation and the transfer before the stage only add: what reaches the limit without them is left out.
  Label least = Joined(behind, cost, stage, next);
  least.depth = stage.end;
  if (value(least, stage.first_layer) >= limit) return;
  const HeldMicroBatches held =
      HeldBy(question_.order, question_.micro_batches, behind.behind + 1, wanted.value_or(behind.behind + 1), 1);
  const int64_t time = table->TimePs(stage.first_layer, stage.end_layer, held);
  if (time == kDoesNotFit) return;
  cost.passes.backward_ps += time - table->BasePs(stage.first_layer, stage.end_layer);
  const auto add = [&](int64_t depth, int32_t tier, const PipelineEnds::Distance& ends) {
    Cost placed = cost;
    placed.end += table->EndsPs(stage.first_layer, stage.end_layer, cluster.LinkOf(ends.tier));
    const int64_t transfers = sent + table->TransferBeforePs(stage.first_layer, cluster.LinkOf(tier));
    placed.passes.forward_ps += transfers / 2;
    placed.passes.backward_ps += transfers - transfers / 2;
    Label label = Joined(behind, placed, stage, next);
    label.depth = depth;
    label.tier = tier;
    label.ends = ends;
    if (value(label, stage.first_layer) < limit) found.push_back(label);
  };
  const PipelineEnds::Stage at{stage.end, own, stage.first_layer == 0, stage.end_layer == num_layers_};
  ends_.ForEachDistance(at, behind.ends, [&](const PipelineEnds::Distance& ends) {
    if (at.is_first) return add(stage.end, 0, ends);
    places_.ForEachNext(stage.end, [&](int64_t depth) {
      const int64_t end = places_.EndOf(depth, devices);
      if (end < 0 || !ends_.MayBeKept(ends, depth)) return;
      add(depth, places_.TierOfBoth(stage.end, devices, depth, end, devices), ends);
    });
  });
}

template <typename Value>
bool PhasePass::Run(int64_t limit, Value value) {
  room_.Clear();
  fronts_.assign(static_cast<std::size_t>(num_layers_) + 1, {});
  for (const int64_t start : places_.starts()) {
    fronts_.back().emplace_back();
    fronts_.back().back().depth = start;
  }
  for (int32_t first = num_layers_ - 1; first >= 0; --first) {
    Front& front = fronts_[static_cast<std::size_t>(first)];
    for (int32_t end = first + 1; end <= num_layers_; ++end) {
      const Front& behind = fronts_[static_cast<std::size_t>(end)];
      if (poller_.ShouldStop(static_cast<int64_t>(4 + 32 * behind.size()))) return false;
      for (std::size_t label = 0; label < behind.size(); ++label) {
        Extend({first, end, 0, 0}, behind[label], static_cast<int32_t>(label), limit, value, front);
      }
      if (!room_.Holds(front)) {
        poller_.StopForGood();
        return false;
      }
    }
    KeepUnbeaten(front);
    if (poller_.ShouldStop(static_cast<int64_t>(front.size() * front.size()))) return false;
  }
  return true;
}

void PhasePass::KeepUnbeaten(Front& front) {
  const auto kind = [this](const Label& label) {
    return std::tuple(places_.KindOf(label.depth), label.tier, ends_.KindOf(label.ends));
  };
  // A beaten label is no loss: what comes before it can come before the other, with no more devices and time. Under
  // GPIPE it does not matter how many stages lie behind, unless their number is fixed.
  const bool counts_stages = question_.num_stages.has_value();
  const auto key = [&](const Label& label) {
    return std::tuple(counts_stages ? label.behind : 0, label.depth, label.longest.backward_ps,
                      label.longest.forward_ps, label.longest.weights_ps, label.sum, label.end, label.busy,
                      label.behind, label.stage.end_layer, label.next);
  };
  const auto beats = [&](const Label& a, const Label& b) {
    return (!counts_stages || a.behind == b.behind) && a.depth <= b.depth && a.sum <= b.sum && a.end <= b.end &&
           a.busy <= b.busy && a.longest.forward_ps <= b.longest.forward_ps &&
           a.longest.backward_ps <= b.longest.backward_ps && a.longest.weights_ps <= b.longest.weights_ps;
  };
  planwright::KeepUnbeaten(front, kind, key, beats);
  room_.Keep(front);
  labels_ += static_cast<int64_t>(front.size());
}

StagePipeline PhasePass::Trace(const Label& label) const {
  return {.stages = StagesOf(label, fronts_), .sum_ps = label.sum, .longest_ps = 0, .end_ps = label.end};
}

std::optional<PhasePipeline> PhasePass::Least(int64_t limit) {
  is_simulated_ = false;
  const int64_t bound = StepBound();
  const auto value = [this](const Label& label, int32_t first) { return StepBoundOf(label, first); };
  // Limits grow from the bound, near which there are few labels; what is found below one of them is the least.
  for (int64_t room = bound / 256 + 1;; room = SaturatingMultiply(room, 4)) {
    const bool is_last = room > 4 * bound;
    const int64_t sought = is_last ? limit : std::min(limit, bound + room);
    if (bound >= sought || !Run(sought, value)) return std::nullopt;
    const Front& whole = fronts_.front();
    if (whole.empty()) {
      if (sought == limit) return std::nullopt;
      continue;
    }
    const auto step = [&](const Label& label) { return StepPs(label.sum, label.longest, label.end); };
    const Label& best = *std::min_element(whole.begin(), whole.end(),
                                          [&](const Label& a, const Label& b) { return step(a) < step(b); });
    return PhasePipeline{Trace(best), step(best)};
  }
}

int64_t PhasePass::LeastSimulated(int64_t limit) {
  is_simulated_ = true;
  const auto value = [this](const Label& label, int32_t first) { return SimulatedBoundOf(label, first); };
  if (!Run(limit, value)) return 0;
  int64_t least = limit;
  for (const Label& label : fronts_.front()) least = std::min(least, SimulatedBoundOf(label, 0));
  return least;
}

}  // namespace planwright
