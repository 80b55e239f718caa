#include "core/joint/dealing/like_stages.h"

#include <algorithm>
#include <utility>

#include "core/base/units.h"
#include "core/joint/slots/chunk_slots.h"
#include "core/joint/slots/layer_dealing.h"

namespace planwright {
namespace {

// Of which places of the larger chunks are tried.
constexpr std::size_t kMostDealsOfStarts = 4;
// Of each of these.
constexpr int32_t kMostPlaces = 64;
// Options with times of more chunks take too long.
constexpr int64_t kMostChunkTimes = 200'000;

}  // namespace

LikeStages::LikeStages(const StageTable& table, int32_t num_layers, const Interleaving& interleaving, Poller& poller)
    : num_layers_(num_layers),
      interleaving_(interleaving),
      poller_(poller),
      alike_(FindLikeLayers(table, num_layers)),
      stages_(table, alike_, interleaving, poller),
      loads_(table, num_layers, alike_, interleaving, stages_, poller) {}

const EvenDeals& LikeStages::Deals() {
  if (!deals_.has_value()) deals_.emplace(alike_, interleaving_, poller_);
  return *deals_;
}

int64_t LikeStages::LeastChunkPs() { return stages_.LeastChunkCap(nullptr); }

int64_t LikeStages::LeastSlotsPs(int64_t work_ps, int64_t longest_ps) {
  const SlotShape shape = interleaving_.shape();
  const int64_t of_work = planwright::LeastSlotsPs(work_ps, longest_ps, shape);
  const int64_t busiest = stages_.LeastBusiestPs();
  if (busiest == kDoesNotFit) return kDoesNotFit;
  // Each slot has a chunk of the busiest stage, and those of one group alone are as many as bound above.
  const int64_t once = SaturatingAdd(work_ps, SaturatingMultiply(shape.num_stages - 1, longest_ps));
  const int64_t of_busiest =
      std::max(SaturatingMultiply(shape.micro_batches, busiest),
               SaturatingAdd(SaturatingMultiply(shape.micro_batches - shape.num_stages, busiest), once));
  if (!alike_.are_all) return std::max(of_work, of_busiest);
  const std::vector<EvenDeal>& deals = Deals().all();
  // Unless there was no time to look.
  const int64_t even = deals.empty() || poller_.ShouldStopNow() ? 0 : deals.front().slots_ps;
  return std::max({of_work, of_busiest, even});
}

int64_t LikeStages::LeastForwardSlotsPs() {
  const std::vector<EvenDeal>& deals = Deals().all();
  // Unless there was no time to look.
  if (deals.empty() || poller_.ShouldStopNow()) return 0;
  int64_t least = deals.front().forward_ps;
  for (const EvenDeal& deal : deals) least = std::min(least, deal.forward_ps);
  return least;
}

StageOption LikeStages::OptionOf(int32_t stage, int32_t layers, bool again, int64_t needed) {
  StageOption option{.layers = layers, .chunk = {}, .end_chunk = {}};
  // The longest chunk is in a slot of each micro-batch.
  const auto times_of = [&](bool has_end, int32_t fewest) {
    std::vector<int64_t> times(static_cast<std::size_t>(fewest), kCannotBe);
    for (int32_t in_chunk = fewest; in_chunk <= layers; ++in_chunk) {
      const int64_t time = stages_.ChunkPs({stage, layers, in_chunk, has_end, again});
      if (SaturatingMultiply(interleaving_.micro_batches, time) >= needed) break;
      times.push_back(time);
    }
    return times;
  };
  option.chunk = times_of(false, alike_.are_all ? 1 : 0);
  if (stages_.EndOf(stage).exists) option.end_chunk = times_of(true, 0);
  return option;
}

std::vector<int32_t> LikeStages::LayersBelow(int32_t stage, int64_t needed) {
  std::vector<int32_t> held;
  for (int32_t layers = stages_.FewestLayers(stage); layers <= alike_.count; ++layers) {
    const bool is_long = SaturatingMultiply(interleaving_.micro_batches, layers * alike_.layer_ps()) >= needed;
    if (is_long || poller_.ShouldStop(kUnitsPerChoice)) break;
    const int64_t time = stages_.StagePs(stage, layers, stages_.MayBePrecise());
    if (SaturatingMultiply(interleaving_.micro_batches, time) < needed) held.push_back(layers);
  }
  return held;
}

std::vector<std::vector<StageOption>> LikeStages::OptionsBelow(int64_t needed) {
  std::vector<std::vector<StageOption>> stages(static_cast<std::size_t>(interleaving_.num_stages));
  std::vector<std::vector<int32_t>> held;
  int32_t most_of_all = 0;
  for (int32_t stage = 0; stage < interleaving_.num_stages; ++stage) {
    held.push_back(LayersBelow(stage, needed));
    if (held.back().empty()) return stages;
    most_of_all += held.back().back();
  }
  int64_t chunk_times = 0;
  for (int32_t stage = 0; stage < interleaving_.num_stages; ++stage) {
    const std::vector<int32_t>& own = held[static_cast<std::size_t>(stage)];
    for (const int32_t layers : own) {
      // Even with as much as they may have the others leave more.
      if (most_of_all - own.back() + layers < alike_.count) continue;
      chunk_times += 4 * int64_t{layers};
      if (chunk_times > kMostChunkTimes) return {};
      for (const bool again : {false, true}) {
        stages[static_cast<std::size_t>(stage)].push_back(OptionOf(stage, layers, again, needed));
      }
    }
  }
  return stages;
}

int64_t LikeStages::LeastDealtPs(int64_t needed) {
  // Of few among others it takes long and proves little.
  if (2 * alike_.count < num_layers_) return 0;
  const std::vector<std::vector<StageOption>> stages = OptionsBelow(needed);
  if (stages.empty() || poller_.ShouldStopNow()) return 0;
  const SlotShape shape = interleaving_.shape();
  // With G(r) of stage_levels.h a chunk that takes longer costs as much at least.
  const int64_t needed_of_dealt = std::max<int64_t>(0, needed - alike_.beyond_ps());
  const int64_t together =
      LeastDealtSlotsPs(stages, alike_.count, shape, needed_of_dealt, poller_) + alike_.beyond_ps();
  if (together >= needed || !alike_.are_all) return together;
  // Chunks that take longest forward and backward need not be the same. What is computed again is so backward.
  const int64_t forward = LeastForwardSlotsPs();
  const int64_t needed_backward = std::max<int64_t>(0, needed - forward - alike_.beyond.backward);
  const int64_t backward = LeastDealtSlotsPs(BackwardOf(stages), alike_.count, shape, needed_backward, poller_);
  return std::max(together, forward + backward + alike_.beyond.backward);
}

std::vector<std::vector<StageOption>> LikeStages::BackwardOf(std::vector<std::vector<StageOption>> stages) const {
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const auto stage = static_cast<int32_t>(s);
    const auto take_forward = [&](bool has_end, std::vector<int64_t>& times) {
      int64_t forward = stages_.CutsOf(stage, has_end) / 2 + (has_end ? stages_.EndOf(stage).price.forward_ps : 0);
      for (int64_t& time : times) {
        if (time < kCannotBe) time -= forward;
        forward += alike_.price.forward_ps;
      }
    };
    for (StageOption& option : stages[s]) {
      take_forward(false, option.chunk);
      take_forward(true, option.end_chunk);
    }
  }
  return stages;
}

std::vector<std::vector<int32_t>> LikeStages::EvenCuts(std::size_t count) {
  std::vector<std::vector<int32_t>> all;
  for (const EvenDeal& deal : Deals().First(count)) {
    all.push_back(CutsOfLayers(Deals().LayersOf(deal, Deals().num_between() - deal.larger)));
    if (deal.larger > 0) all.push_back(CutsOfLayers(Deals().LayersOf(deal, 0)));
  }
  return all;
}

std::vector<int32_t> LikeStages::DealtCuts() {
  DealQuestion question;
  question.shape = interleaving_.shape();
  question.fewest.assign(static_cast<std::size_t>(question.shape.num_chunks()), 1);
  question.fewest.front() = question.fewest.back() = 0;
  question.num_layers = alike_.count;
  question.passes_of = [this](int32_t stage, const std::vector<int32_t>& layers) {
    return stages_.PassesOf(stage, layers);
  };
  std::vector<std::vector<int32_t>> starts;
  for (const EvenDeal& deal : Deals().First(kMostDealsOfStarts)) {
    const int32_t places = deal.larger == 0 ? 1 : Deals().num_between() - deal.larger + 1;
    const int32_t step = (places + kMostPlaces - 1) / kMostPlaces;
    for (int32_t place = 0; place < places; place += step) starts.push_back(Deals().LayersOf(deal, place));
  }
  const std::vector<int32_t> dealt = DealLayers(question, std::move(starts), poller_);
  return dealt.empty() ? dealt : CutsOfLayers(dealt);
}

std::vector<int32_t> LikeStages::BestCuts(bool by_step) {
  std::vector<int32_t> by_stage;
  stages_.LeastChunkCap(&by_stage);
  if (by_stage.empty()) return {};
  stages_.GiveBack(
      [&](int32_t stage, int32_t layers) {
        return by_step ? loads_.UrgencyPs(stage, layers) : stages_.LongestChunkPs(stage, layers, nullptr);
      },
      by_stage);
  std::vector<int32_t> cuts{0};
  for (const int32_t size : SizesOf(by_stage)) cuts.push_back(cuts.back() + size);
  return cuts;
}

std::vector<int32_t> LikeStages::SizesOf(const std::vector<int32_t>& layers_by_stage) {
  const auto num_stages = static_cast<std::size_t>(interleaving_.num_stages);
  const auto chunks = static_cast<std::size_t>(interleaving_.chunks);
  std::vector<int32_t> sizes(num_stages * chunks, 0);
  for (std::size_t s = 0; s < num_stages; ++s) {
    const auto stage = static_cast<int32_t>(s);
    int32_t beside_end = 0;
    stages_.LongestChunkPs(stage, layers_by_stage[s], &beside_end);
    const bool has_end = stages_.EndOf(stage).exists;
    const std::size_t end_chunk = s == 0 ? 0 : chunks - 1;
    int32_t left = layers_by_stage[s] - (has_end ? beside_end : 0);
    int32_t rest = interleaving_.chunks - (has_end ? 1 : 0);
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      int32_t& size = sizes[chunk * num_stages + s];
      if (has_end && chunk == end_chunk) {
        size = beside_end + 1;
        continue;
      }
      // The smaller ones first: the stages behind begin sooner.
      size = left / rest;
      left -= size;
      --rest;
    }
  }
  return sizes;
}

}  // namespace planwright
