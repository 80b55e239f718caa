#include "core/joint/dealing/step_loads.h"

#include <cstddef>
#include <utility>

#include "absl/functional/function_ref.h"
#include "core/joint/cost/stage_cost.h"

namespace planwright {
namespace {

// Bounds of steps of two chunks a stage are so precise.
constexpr int64_t kPartsOfBound = 20'000;

int64_t PassPs(const LongestPasses& passes, bool is_backward) {
  return is_backward ? passes.backward_ps : passes.forward_ps;
}

// The least cap of `may_end_by` from `least` to `needed`: no pipeline ends before `least`, and one may by `needed`, or
// that is enough.
int64_t LeastCapFrom(int64_t least, int64_t needed, absl::FunctionRef<bool(int64_t cap)> may_end_by) {
  int64_t high = needed;
  while (high - least > high / kPartsOfBound) {
    const int64_t middle = least + (high - least) / 2;
    if (may_end_by(middle)) {
      high = middle;
    } else {
      least = middle + 1;
    }
  }
  return least;
}

}  // namespace

StepLoads::StepLoads(const StageTable& table, int32_t num_layers, const LikeLayers& alike,
                     const Interleaving& interleaving, DealtStages& stages, Poller& poller)
    : table_(table),
      num_layers_(num_layers),
      alike_(alike),
      interleaving_(interleaving),
      stages_(stages),
      poller_(poller) {}

int64_t StepLoads::FirstChunksPs(int32_t before, bool is_backward) const {
  if (before == 0) return 0;
  const int64_t cuts = interleaving_.cut_ps / 2 + (before - 1) * interleaving_.cut_ps;
  return PassPs(table_.PassesPs(0, before, false), is_backward) + cuts;
}

int64_t StepLoads::LastChunksPs(int32_t behind, bool is_backward) const {
  if (behind == 0) return 0;
  const int64_t cuts = interleaving_.cut_ps / 2 + (behind - 1) * interleaving_.cut_ps;
  return PassPs(table_.PassesPs(num_layers_ - behind, num_layers_, false), is_backward) + cuts;
}

int64_t StepLoads::WholePassPs(bool is_backward) const {
  int64_t pass = PassPs(table_.PassesPs(0, num_layers_, false), is_backward);
  for (int32_t stage = 0; stage < interleaving_.num_stages; ++stage) pass += stages_.OneWayCutsPs(stage);
  return pass;
}

int64_t StepLoads::StepEndPs(int32_t stage, int32_t layers) const {
  const int64_t ends = (stage == 0 ? interleaving_.first_ends_ps : 0) +
                       (stage + 1 == interleaving_.num_stages ? interleaving_.last_ends_ps : 0);
  return layers * alike_.price.step_end_ps + stages_.EndOf(stage).price.step_end_ps + ends;
}

StepLoad StepLoads::LoadOf(int32_t stage, int32_t layers, bool is_precise) {
  const int64_t of_one = stages_.StagePs(stage, layers, is_precise);
  if (of_one == kDoesNotFit) return {};
  const int64_t stages = interleaving_.num_stages;
  const int32_t behind = interleaving_.num_stages - 1 - stage;
  StepLoad load{.passes = SaturatingMultiply(interleaving_.micro_batches, of_one),
                .front = FirstChunksPs(stage, false),
                .back = std::max(StepEndPs(stage, layers), FirstChunksPs(stage, true)),
                .spared = stages - (2 * behind + 1)};
  if (load.spared <= 0) return load;
  const int64_t forward =
      layers * alike_.price.forward_ps + stages_.EndOf(stage).price.forward_ps + stages_.OneWayCutsPs(stage);
  // Of layers of other kinds nothing is known.
  const LayerPrice dealt = alike_.are_all ? alike_.price : LayerPrice{};
  const LayerPrice& least = behind == 0 ? alike_.last.price : dealt;
  load.whole_front =
      LastChunksPs(behind, true) + WholePassPs(false) - stages * forward + load.spared * least.forward_ps;
  load.whole_back =
      LastChunksPs(behind, false) + WholePassPs(true) - stages * (of_one - forward) + load.spared * least.backward_ps;
  return load;
}

int64_t StepLoads::UrgencyPs(int32_t stage, int32_t layers) {
  const bool has_longest_end = StepEndPs(stage, layers) > stages_.Average() * alike_.price.step_end_ps;
  return has_longest_end ? kDoesNotFit : LoadOf(stage, layers, false).StepPs();
}

StepLoads::LoadTable StepLoads::LoadsBy(int64_t cap, bool is_precise) {
  LoadTable loads(static_cast<std::size_t>(interleaving_.num_stages));
  for (int32_t stage = 0; stage < interleaving_.num_stages; ++stage) {
    std::vector<StepLoad>& own = loads[static_cast<std::size_t>(stage)];
    own.resize(static_cast<std::size_t>(stages_.FewestLayers(stage)));
    while (static_cast<int32_t>(own.size()) <= alike_.count && !poller_.ShouldStop(kUnitsPerChoice)) {
      const auto layers = static_cast<int32_t>(own.size());
      if (SaturatingMultiply(interleaving_.micro_batches, layers * alike_.layer_ps()) > cap) break;
      own.push_back(LoadOf(stage, layers, is_precise));
    }
  }
  return loads;
}

int64_t StepLoads::LeastStepPs(int64_t needed) {
  int64_t least = 0;
  for (const bool is_precise : {false, true}) {
    least = stages_.LeastCap(
        [&](int32_t stage, int32_t layers) {
          const StepLoad load = LoadOf(stage, layers, is_precise && stages_.MayBePrecise());
          return load.passes == kDoesNotFit ? kDoesNotFit : load.StepPs();
        },
        [this](int32_t layers) { return SaturatingMultiply(interleaving_.micro_batches, layers * alike_.layer_ps()); },
        nullptr);
    if (least >= needed || poller_.ShouldStopNow()) return least;
  }
  // Backward passes that take less than forward ones do not occur; MayEndBy would be wrong for them.
  const LayerPrice& layer = alike_.price;
  const bool has_two = interleaving_.chunks == 2 && 0 < layer.forward_ps && layer.forward_ps <= layer.backward_ps;
  if (alike_.are_of_one_kind() && !has_two) return least;
  const LoadTable loads = LoadsBy(needed, stages_.MayBePrecise());
  if (poller_.ShouldStopNow()) return least;
  return LeastCapFrom(least, needed, [&](int64_t cap) {
    return alike_.are_of_one_kind() ? MayEndBy(cap, loads) : MayHoldOthersBy(cap, loads);
  });
}

// Fewer in the first chunks are passed sooner, but more are in the second ones: the second stage does S forward passes
// of its first chunk and one of the second, which all stages up to this one do after each other, and then this stage
// has all of its work left but S forward passes of its own first chunk. And the longer its last chunk is, the less it
// has done before its first backward pass, and has left behind its last forward pass (StepLoad).
int64_t StepLoads::FirstChunkLayers(const TwoChunks& stage, const StepLoad& load, int64_t cap) const {
  const int64_t forward = alike_.price.forward_ps;
  const int64_t backward = alike_.price.backward_ps;
  const bool is_last = stage.number + 1 == interleaving_.num_stages;
  const int64_t beyond = stage.first_before - (stage.number - 1);
  const int64_t drained = FirstChunksPs(stage.number, true) + beyond * backward;
  const int64_t front = load.front + beyond * forward;
  const int64_t back = std::max(load.back, drained);
  const int64_t most = stage.layers - (is_last ? 0 : 1);
  // As if its first chunk had no layer at all, behind the second stage.
  const int64_t cuts = stages_.CutsOf(1, false) / 2;
  const int64_t second = FirstChunksPs(1, false) + (stage.before - stage.first_before) * forward +
                         interleaving_.num_stages * (forward + cuts - stages_.CutsOf(stage.number, false) / 2) +
                         (stage.number - 1) * cuts;
  const auto ends = [&](int64_t layers) {
    const int64_t others = load.spared <= 0 ? 0 : load.spared * (most - layers);
    const bool is_late =
        stage.number > 1 && load.passes + second - interleaving_.num_stages * layers * forward + drained > cap;
    return !is_late && load.passes + std::max(front, load.whole_front + others * forward) +
                               std::max(back, load.whole_back + others * backward) <=
                           cap;
  };
  if (most < 1 || !ends(most)) return -1;
  int64_t low = 1;
  for (int64_t high = most; low < high;) {
    const int64_t middle = low + (high - low) / 2;
    if (ends(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::vector<int64_t> StepLoads::FewestInFirstChunks(int64_t cap, const LoadTable& loads) const {
  const auto all = static_cast<std::size_t>(alike_.count);
  std::vector<int64_t> first(all + 1, kDoesNotFit);
  first[0] = 0;
  for (int32_t number = 1; number < interleaving_.num_stages; ++number) {
    const std::vector<StepLoad>& own = loads[static_cast<std::size_t>(number)];
    std::vector<int64_t> next(all + 1, kDoesNotFit);
    for (std::size_t before = 0; before <= all; ++before) {
      if (first[before] == kDoesNotFit) continue;
      if (poller_.ShouldStop(kUnitsPerChoice)) return {};
      for (std::size_t layers = 0; layers < own.size(); ++layers) {
        if (own[layers].passes > cap) continue;
        const auto here = static_cast<int64_t>(layers);
        const int64_t chosen =
            FirstChunkLayers({number, here, static_cast<int64_t>(before), first[before]}, own[layers], cap);
        if (chosen < 0) continue;
        int64_t& known = next[std::min(all, before + layers)];
        known = std::min(known, first[before] + chosen);
      }
    }
    first = std::move(next);
  }
  return first;
}

bool StepLoads::MayEndBy(int64_t cap, const LoadTable& loads) const {
  const std::vector<int64_t> first = FewestInFirstChunks(cap, loads);
  if (first.empty()) return true;
  const auto all = static_cast<std::size_t>(alike_.count);
  int64_t in_front = -1;
  for (const StepLoad& load : loads.front()) {
    ++in_front;
    const std::size_t missing = all - std::min(all, static_cast<std::size_t>(in_front));
    if (load.passes == kDoesNotFit || load.passes + load.front + load.back > cap) continue;
    if (std::any_of(first.begin() + static_cast<std::ptrdiff_t>(missing), first.end(),
                    [](int64_t layers) { return layers < kDoesNotFit; })) {
      return true;
    }
  }
  return false;
}

bool StepLoads::MayHoldOthersBy(int64_t cap, const LoadTable& loads) const {
  const auto all = static_cast<std::size_t>(alike_.count);
  // By how many layers the stages so far have: the most time that they have left for others; -1: they cannot have them.
  std::vector<int64_t> most(all + 1, -1);
  most[0] = 0;
  for (const std::vector<StepLoad>& own : loads) {
    std::vector<int64_t> left;
    left.reserve(own.size());
    for (const StepLoad& load : own) left.push_back(LeftForOthersPs(load, cap));
    std::vector<int64_t> next(all + 1, -1);
    for (std::size_t before = 0; before <= all; ++before) {
      if (most[before] < 0) continue;
      if (poller_.ShouldStop(kUnitsPerChoice)) return true;
      for (std::size_t layers = 0; layers < left.size() && before + layers <= all; ++layers) {
        if (left[layers] >= 0) next[before + layers] = std::max(next[before + layers], most[before] + left[layers]);
      }
    }
    most = std::move(next);
  }
  return most[all] >= alike_.beyond_ps();
}

int64_t StepLoads::LeftForOthersPs(const StepLoad& load, int64_t cap) const {
  const int64_t micro_batches = interleaving_.micro_batches;
  if (load.passes == kDoesNotFit) return -1;
  const int64_t plain = cap - load.passes - load.front - load.back;
  const int64_t whole = cap - load.StepPs();
  if (plain < 0 || whole < 0) return -1;
  const int64_t spared = micro_batches - interleaving_.num_stages;
  return spared > 0 ? std::min(plain / micro_batches, whole / spared) : plain / micro_batches;
}

InterleavedWork StepLoads::WorkBetween() const {
  const auto times_of = [](const LayerPrice& price) {
    return DealtTimes{price.forward_ps, price.backward_ps, price.step_end_ps};
  };
  InterleavedWork work;
  work.num_stages = interleaving_.num_stages;
  work.chunks = interleaving_.chunks;
  work.micro_batches = interleaving_.micro_batches;
  work.first = times_of(alike_.first.price);
  work.last = times_of(alike_.last.price);
  work.first.step_end_ps += interleaving_.first_ends_ps;
  work.last.step_end_ps += interleaving_.last_ends_ps;
  work.cut_ps = interleaving_.cut_ps / 2;
  work.wrap_ps = interleaving_.wrap_ps / 2;
  for (int32_t layer = 1; layer + 1 < num_layers_; ++layer) {
    const DealtTimes times = times_of(table_.PriceOf(layer));
    work.between.forward_ps += times.forward_ps;
    work.between.backward_ps += times.backward_ps;
    work.between.step_end_ps += times.step_end_ps;
    if (times.forward_ps <= 0 || times.backward_ps <= 0) return {};
    const auto forward = static_cast<double>(times.forward_ps);
    const double backward = static_cast<double>(times.backward_ps) / forward;
    const double step_end = static_cast<double>(times.step_end_ps) / forward;
    const bool is_first = layer == 1;
    work.least_backward = is_first ? backward : std::min(work.least_backward, backward);
    work.most_backward = std::max(work.most_backward, backward);
    work.least_step_end = is_first ? step_end : std::min(work.least_step_end, step_end);
    work.least.forward_ps = is_first ? times.forward_ps : std::min(work.least.forward_ps, times.forward_ps);
    work.least.backward_ps = is_first ? times.backward_ps : std::min(work.least.backward_ps, times.backward_ps);
  }
  return work;
}

int64_t StepLoads::LeastStepByWaitsPs(int64_t again_ps, int64_t needed) {
  InterleavedWork work = WorkBetween();
  work.again_ps = again_ps;
  if (work.between.forward_ps == 0) return 0;
  if (alike_.are_all) {
    // What stages compute again; of large ones not chunk by chunk.
    for (const std::vector<StepLoad>& own : LoadsBy(needed, stages_.MayBePrecise())) {
      std::vector<StagePoint> points;
      for (std::size_t layers = 0; layers < own.size(); ++layers) {
        if (own[layers].passes == kDoesNotFit) continue;
        // Floors rise with what a stage has, which so many layers make at the most.
        const auto forward = static_cast<double>(layers) * static_cast<double>(alike_.longest_forward_ps);
        points.push_back({forward, static_cast<double>(own[layers].passes)});
      }
      work.floors.push_back(FloorsBelow(points));
    }
    // Loads of a list that was cut short are no floors beyond its end.
    if (poller_.ShouldStopNow()) return 0;
  }
  return LeastInterleavedStepPs(work, needed, poller_);
}

}  // namespace planwright
