#include "core/joint/dealing/like_stages.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/units.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/slots/layer_dealing.h"

namespace planwright {
namespace {

// What a choice of recomputation takes.
constexpr int64_t kUnitsPerChoice = 256;
// Bounds of steps of two chunks a stage are so precise.
constexpr int64_t kPartsOfBound = 20'000;
// Ways to divide more layers of a stage among its chunks take too long to look through.
constexpr int32_t kMostPreciseLayers = 256;
// Of which places of the larger chunks are tried.
constexpr std::size_t kMostDealsOfStarts = 4;
// Of each of these.
constexpr int32_t kMostPlaces = 64;
// Times of chunks that are known at once take so much memory (some ten megabytes) and time.
constexpr int64_t kMostChunkTimes = 200'000;

// Layers are nearly alike where none takes more than such a part longer than the shortest, and what they hold differs
// by no more from what the one in the middle does.
constexpr int64_t kNearlyAlikePart = 4;
constexpr auto kKeptMode = static_cast<std::size_t>(LayerRecomputation::kNone);

using LayerModes = decltype(LayerGroup::modes);

LayerModes LeastModesOf(const LayerModes& a, const LayerModes& b) {
  LayerModes least = a;
  for (std::size_t mode = 0; mode < least.size(); ++mode) {
    if (!b[mode].has_value()) continue;
    if (!least[mode].has_value()) least[mode] = b[mode];
    least[mode]->extra_ps = std::min(least[mode]->extra_ps, b[mode]->extra_ps);
    least[mode]->kept_bytes = std::min(least[mode]->kept_bytes, b[mode]->kept_bytes);
  }
  return least;
}

// No more than either in anything that closed forms and memory of a pipeline depend on.
LayerPrice LeastOf(LayerPrice a, const LayerPrice& b) {
  for (int64_t LayerPrice::*const part :
       {&LayerPrice::forward_ps, &LayerPrice::backward_ps, &LayerPrice::recomputed_bytes, &LayerPrice::workspace_bytes,
        &LayerPrice::parameter_bytes, &LayerPrice::gradient_bytes, &LayerPrice::optimizer_bytes,
        &LayerPrice::gathered_bytes, &LayerPrice::step_end_ps, &LayerPrice::output_bytes}) {
    a.*part = std::min(a.*part, b.*part);
  }
  a.modes = LeastModesOf(a.modes, b.modes);
  return a;
}

template <typename T>
std::span<const T> FirstOf(const std::vector<T>& all, std::size_t count) {
  return std::span(all).first(std::min(count, all.size()));
}

}  // namespace

LikeStages::LikeStages(const StageTable& table, int32_t num_layers, const Interleaving& interleaving, Poller& poller)
    : table_(table), num_layers_(num_layers), interleaving_(interleaving), poller_(poller) {
  first_ = {true, table.PriceOf(0), table.GroupOf(0)};
  last_ = {true, table.PriceOf(num_layers - 1), table.GroupOf(num_layers - 1)};
  std::map<int32_t, Kind> kinds;
  for (int32_t layer = 1; layer + 1 < num_layers; ++layer) {
    Kind& kind = kinds.try_emplace(table.KindOf(layer), Kind{layer, 0}).first->second;
    ++kind.count;
  }
  num_kinds_ = kinds.size();
  const std::set<int32_t> dealt = MostAlike(kinds);
  for (int32_t layer = 1; layer + 1 < num_layers; ++layer) {
    if (dealt.contains(table.KindOf(layer))) DealOut(layer);
  }
  are_alike_ = dealt_ == num_layers - 2;
  const LongestPasses between = table.PassesPs(1, num_layers - 1, false);
  beyond_ = {between.forward_ps - dealt_ * price_.forward_ps, between.backward_ps - dealt_ * price_.backward_ps};
}

int64_t LikeStages::HeldBytesOf(const Kind& kind) const {
  const std::optional<LayerPrice::Mode>& kept = table_.PriceOf(kind.layer).modes[kKeptMode];
  return table_.PriceOf(kind.layer).state_bytes() + (kept.has_value() ? kept->kept_bytes : 0);
}

std::set<int32_t> LikeStages::MostAlike(const std::map<int32_t, Kind>& kinds) const {
  std::vector<std::pair<int64_t, Kind>> by_time;
  by_time.reserve(kinds.size());
  for (const auto& [number, kind] : kinds) by_time.emplace_back(table_.BasePs(kind.layer, kind.layer + 1), kind);
  std::stable_sort(by_time.begin(), by_time.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  // Those that follow each other from the shortest of them on.
  std::vector<Kind> most;
  int64_t most_layers = 0;
  int64_t layers = 0;
  auto end = by_time.begin();
  for (auto first = by_time.begin(); first != by_time.end(); ++first) {
    for (; end != by_time.end() && end->first <= first->first + first->first / kNearlyAlikePart; ++end) {
      layers += end->second.count;
    }
    if (layers > most_layers) {
      most_layers = layers;
      most.clear();
      for (auto kind = first; kind != end; ++kind) most.push_back(kind->second);
    }
    layers -= first->second.count;
  }
  return AsLargeAsMost(std::move(most));
}

std::set<int32_t> LikeStages::AsLargeAsMost(std::vector<Kind> kinds) const {
  std::stable_sort(kinds.begin(), kinds.end(),
                   [this](const Kind& a, const Kind& b) { return HeldBytesOf(a) < HeldBytesOf(b); });
  int64_t layers = 0;
  for (const Kind& kind : kinds) layers += kind.count;
  // What the layer in the middle holds.
  int64_t middle = 0;
  for (const Kind& kind : kinds) {
    middle = HeldBytesOf(kind);
    layers -= int64_t{2} * kind.count;
    if (layers <= 0) break;
  }
  std::set<int32_t> alike;
  for (const Kind& kind : kinds) {
    if (std::abs(HeldBytesOf(kind) - middle) <= middle / kNearlyAlikePart) alike.insert(table_.KindOf(kind.layer));
  }
  return alike;
}

void LikeStages::DealOut(int32_t layer) {
  const LayerPrice& price = table_.PriceOf(layer);
  price_ = dealt_ == 0 ? price : LeastOf(price_, price);
  group_.modes = dealt_ == 0 ? table_.GroupOf(layer).modes : LeastModesOf(group_.modes, table_.GroupOf(layer).modes);
  longest_forward_ps_ = std::max(longest_forward_ps_, price.forward_ps);
  ++dealt_;
}

int64_t LikeStages::LeastChunkPs() { return LeastChunkCap(nullptr); }

int64_t LikeStages::LeastChunkCap(std::vector<int32_t>* layers_by_stage) const {
  return LeastCap([this](int32_t stage, int32_t layers) { return BestLongestChunkPs(stage, layers, nullptr); },
                  [this](int32_t layers) {
                    return CeilDivide(layers, interleaving_.chunks) * (price_.forward_ps + price_.backward_ps);
                  },
                  layers_by_stage);
}

bool LikeStages::MayBePrecise() const { return dealt_ / interleaving_.num_stages <= kMostPreciseLayers; }

int64_t LikeStages::LeastBusiestPs() {
  int64_t least = 0;
  for (const bool is_precise : {false, true}) {
    is_precise_ = is_precise && MayBePrecise();
    const int64_t busiest =
        LeastCap([this](int32_t stage, int32_t layers) { return StagePs(stage, layers); },
                 [this](int32_t layers) { return layers * (price_.forward_ps + price_.backward_ps); }, nullptr);
    if (poller_.ShouldStopNow()) break;
    least = std::max(least, busiest);
  }
  is_precise_ = false;
  return least;
}

StageOption LikeStages::OptionOf(int32_t stage, int32_t layers, bool again, int64_t needed) {
  StageOption option{.layers = layers, .chunk = {}, .end_chunk = {}};
  // The longest chunk is in a slot of each micro-batch.
  const auto times_of = [&](bool has_end, int32_t fewest) {
    std::vector<int64_t> times(static_cast<std::size_t>(fewest), kCannotBe);
    for (int32_t in_chunk = fewest; in_chunk <= layers; ++in_chunk) {
      const int64_t time = KnownChunkPs(stage, layers, in_chunk, has_end, again);
      if (SaturatingMultiply(interleaving_.micro_batches, time) >= needed) break;
      times.push_back(time);
    }
    return times;
  };
  option.chunk = times_of(false, are_alike_ ? 1 : 0);
  if (EndOf(stage).exists) option.end_chunk = times_of(true, 0);
  return option;
}

std::vector<std::vector<StageOption>> LikeStages::OptionsBelow(int64_t needed) {
  std::vector<std::vector<StageOption>> stages(static_cast<std::size_t>(interleaving_.num_stages));
  std::vector<std::vector<int32_t>> held(stages.size());
  int32_t most_of_all = 0;
  for (int32_t stage = 0; stage < interleaving_.num_stages; ++stage) {
    std::vector<int32_t>& own = held[static_cast<std::size_t>(stage)];
    for (int32_t layers = FewestLayers(stage); layers <= dealt_ && !poller_.ShouldStop(kUnitsPerChoice); ++layers) {
      const int64_t time = layers * (price_.forward_ps + price_.backward_ps);
      if (SaturatingMultiply(interleaving_.micro_batches, time) >= needed) break;
      if (SaturatingMultiply(interleaving_.micro_batches, StagePs(stage, layers)) < needed) own.push_back(layers);
    }
    if (own.empty()) return stages;
    most_of_all += own.back();
  }
  int64_t chunk_times = 0;
  for (int32_t stage = 0; stage < interleaving_.num_stages; ++stage) {
    const std::vector<int32_t>& own = held[static_cast<std::size_t>(stage)];
    for (const int32_t layers : own) {
      // Even with as much as they may have the others leave more.
      if (most_of_all - own.back() + layers < dealt_) continue;
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
  if (2 * dealt_ < num_layers_) return 0;
  is_precise_ = MayBePrecise();
  const std::vector<std::vector<StageOption>> stages = OptionsBelow(needed);
  is_precise_ = false;
  if (stages.empty() || poller_.ShouldStopNow()) return 0;
  const SlotShape shape = interleaving_.shape();
  // With G(r) of stage_levels.h a chunk that takes longer costs as much at least.
  const int64_t needed_of_dealt = std::max<int64_t>(0, needed - beyond_.forward - beyond_.backward);
  const int64_t together =
      LeastDealtSlotsPs(stages, dealt_, shape, needed_of_dealt, poller_) + beyond_.forward + beyond_.backward;
  if (together >= needed || !are_alike_) return together;
  // Chunks that take longest forward and backward need not be the same. What is computed again is so backward.
  const int64_t forward = LeastForwardSlotsPs();
  const int64_t needed_backward = std::max<int64_t>(0, needed - forward - beyond_.backward);
  const int64_t backward = LeastDealtSlotsPs(BackwardOf(stages), dealt_, shape, needed_backward, poller_);
  return std::max(together, forward + backward + beyond_.backward);
}

std::vector<std::vector<StageOption>> LikeStages::BackwardOf(std::vector<std::vector<StageOption>> stages) const {
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const auto stage = static_cast<int32_t>(s);
    const auto take_forward = [&](bool has_end, std::vector<int64_t>& times) {
      int64_t forward = CutsOf(stage, has_end) / 2 + (has_end ? EndOf(stage).price.forward_ps : 0);
      for (int64_t& time : times) {
        if (time < kCannotBe) time -= forward;
        forward += price_.forward_ps;
      }
    };
    for (StageOption& option : stages[s]) {
      take_forward(false, option.chunk);
      take_forward(true, option.end_chunk);
    }
  }
  return stages;
}

int64_t LikeStages::LeastForwardSlotsPs() {
  const std::vector<EvenDeal>& deals = DealsBySlots();
  // Unless there was no time to look.
  if (deals.empty() || poller_.ShouldStopNow()) return 0;
  int64_t least = deals.front().forward_ps;
  for (const EvenDeal& deal : deals) least = std::min(least, deal.forward_ps);
  return least;
}

int64_t LikeStages::LeastSlotsPs(int64_t work_ps, int64_t longest_ps) {
  const SlotShape shape = interleaving_.shape();
  const int64_t of_work = planwright::LeastSlotsPs(work_ps, longest_ps, shape);
  const int64_t busiest = LeastBusiestPs();
  if (busiest == kDoesNotFit) return kDoesNotFit;
  // Each slot has a chunk of the busiest stage, and those of one group alone are as many as bound above.
  const int64_t once = SaturatingAdd(work_ps, SaturatingMultiply(shape.num_stages - 1, longest_ps));
  const int64_t of_busiest =
      std::max(SaturatingMultiply(shape.micro_batches, busiest),
               SaturatingAdd(SaturatingMultiply(shape.micro_batches - shape.num_stages, busiest), once));
  if (!are_alike_) return std::max(of_work, of_busiest);
  const std::vector<EvenDeal>& deals = DealsBySlots();
  // Unless there was no time to look.
  const int64_t even = deals.empty() || poller_.ShouldStopNow() ? 0 : deals.front().slots_ps;
  return std::max({of_work, of_busiest, even});
}

bool LikeStages::IsBelow(const End& end, int32_t beside, int32_t layers) const {
  const int64_t cut = least_cut_ps() / 2;
  return end.price.forward_ps + beside * price_.forward_ps <= layers * price_.forward_ps + cut &&
         end.price.backward_ps + beside * price_.backward_ps <= layers * price_.backward_ps + cut;
}

bool LikeStages::IsAbove(const End& end, int32_t beside, int32_t layers) const {
  const int64_t cut = least_cut_ps() / 2;
  return end.price.forward_ps + beside * price_.forward_ps >= layers * price_.forward_ps + cut &&
         end.price.backward_ps + beside * price_.backward_ps >= layers * price_.backward_ps + cut;
}

LayerPasses LikeStages::EvenSlots(const EvenDeal& deal) const {
  const int64_t cut = least_cut_ps() / 2;
  const auto slots_of = [&](int64_t first, int64_t last, int64_t layer) {
    return LeastEvenSlotsPs(EvenPasses{.first_ps = first + cut + deal.beside_first * layer,
                                       .last_ps = last + cut + deal.beside_last * layer,
                                       .smaller_ps = deal.layers * layer + 2 * cut,
                                       .larger_ps = (deal.layers + 1) * layer + 2 * cut,
                                       .num_larger = deal.larger},
                            interleaving_.shape());
  };
  return {slots_of(first_.price.forward_ps, last_.price.forward_ps, price_.forward_ps),
          slots_of(first_.price.backward_ps, last_.price.backward_ps, price_.backward_ps)};
}

std::vector<LikeStages::EvenDeal> LikeStages::EvenDeals() const {
  std::vector<EvenDeal> deals;
  const int32_t others = num_between();
  for (int32_t first = 0; first + others <= dealt_; ++first) {
    for (int32_t last = 0; first + last + others <= dealt_; ++last) {
      if (poller_.ShouldStop(1)) return deals;
      const int32_t left = dealt_ - first - last;
      EvenDeal deal{.beside_first = first, .beside_last = last, .layers = left / others, .larger = left % others};
      const bool is_first_long = first > 0 && IsAbove(first_, first - 1, deal.layers + 1);
      const bool is_last_long = last > 0 && IsAbove(last_, last - 1, deal.layers + 1);
      if (is_first_long && last == 0) return deals;
      if (is_first_long || is_last_long) break;
      const int32_t fewest = deal.layers - (deal.larger > 0 ? 0 : 1);
      if (fewest > 0 && (IsBelow(first_, first + 1, fewest) || IsBelow(last_, last + 1, fewest))) continue;
      const LayerPasses slots = EvenSlots(deal);
      deal.slots_ps = SaturatingAdd(slots.forward, slots.backward);
      deal.forward_ps = slots.forward;
      deals.push_back(deal);
    }
  }
  return deals;
}

const std::vector<LikeStages::EvenDeal>& LikeStages::DealsBySlots() {
  if (deals_.has_value()) return *deals_;
  deals_ = EvenDeals();
  std::stable_sort(deals_->begin(), deals_->end(),
                   [](const EvenDeal& a, const EvenDeal& b) { return a.slots_ps < b.slots_ps; });
  return *deals_;
}

std::vector<int32_t> LikeStages::LayersOf(const EvenDeal& deal, int32_t first_larger) const {
  std::vector<int32_t> layers(static_cast<std::size_t>(num_between()) + 2, deal.layers);
  layers.front() = deal.beside_first;
  layers.back() = deal.beside_last;
  const auto begin = layers.begin() + 1 + first_larger;
  std::for_each(begin, begin + deal.larger, [](int32_t& own) { ++own; });
  return layers;
}

std::vector<int32_t> LikeStages::CutsOfLayers(const std::vector<int32_t>& layers) {
  std::vector<int32_t> cuts{0};
  for (const int32_t count : layers) cuts.push_back(cuts.back() + count);
  // With the first and the last layer of the model.
  for (std::size_t cut = 1; cut < cuts.size(); ++cut) ++cuts[cut];
  ++cuts.back();
  return cuts;
}

std::vector<std::vector<int32_t>> LikeStages::EvenCuts(std::size_t count) {
  std::vector<std::vector<int32_t>> all;
  for (const EvenDeal& deal : FirstOf(DealsBySlots(), count)) {
    all.push_back(CutsOfLayers(LayersOf(deal, num_between() - deal.larger)));
    if (deal.larger > 0) all.push_back(CutsOfLayers(LayersOf(deal, 0)));
  }
  return all;
}

int64_t LikeStages::LeastStepPs(int64_t needed) {
  int64_t least = 0;
  for (const bool is_precise : {false, true}) {
    is_precise_ = is_precise;
    least = LeastCap([this](int32_t stage, int32_t layers) { return StepPs(stage, layers); },
                     [this](int32_t layers) {
                       return SaturatingMultiply(interleaving_.micro_batches,
                                                 layers * (price_.forward_ps + price_.backward_ps));
                     },
                     nullptr);
    if (least >= needed || poller_.ShouldStopNow()) return least;
  }
  // Backward passes that take less than forward ones do not occur; MayEndBy would be wrong for them.
  const bool has_two = interleaving_.chunks == 2 && 0 < price_.forward_ps && price_.forward_ps <= price_.backward_ps;
  if (are_of_one_kind() && !has_two) return least;
  const std::vector<std::vector<Load>> loads = LoadsBy(needed);
  if (poller_.ShouldStopNow()) return least;
  return LeastCapFrom(least, needed, [&](int64_t cap) {
    return are_of_one_kind() ? MayEndBy(cap, loads) : MayHoldOthersBy(cap, loads);
  });
}

template <typename MayEnd>
int64_t LikeStages::LeastCapFrom(int64_t least, int64_t needed, MayEnd may_end_by) const {
  // No pipeline ends before `least`; one may end by `high`, or what is needed is reached.
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

std::vector<int32_t> LikeStages::BestCuts(bool by_step) {
  std::vector<int32_t> by_stage;
  LeastChunkCap(&by_stage);
  if (by_stage.empty()) return {};
  GiveBack(
      [&](int32_t stage, int32_t layers) {
        return by_step ? UrgencyPs(stage, layers) : BestLongestChunkPs(stage, layers, nullptr);
      },
      by_stage);
  const auto num_stages = static_cast<std::size_t>(interleaving_.num_stages);
  const auto chunks = static_cast<std::size_t>(interleaving_.chunks);
  std::vector<int32_t> sizes(num_stages * chunks, 0);
  for (std::size_t s = 0; s < num_stages; ++s) {
    const auto stage = static_cast<int32_t>(s);
    int32_t beside_end = 0;
    BestLongestChunkPs(stage, by_stage[s], &beside_end);
    const bool has_end = EndOf(stage).exists;
    const std::size_t end_chunk = s == 0 ? 0 : chunks - 1;
    const auto others = static_cast<int32_t>(chunks) - (has_end ? 1 : 0);
    int32_t left = by_stage[s] - (has_end ? beside_end : 0);
    int32_t rest = others;
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
  std::vector<int32_t> cuts{0};
  for (const int32_t size : sizes) cuts.push_back(cuts.back() + size);
  return cuts;
}

const LikeStages::End& LikeStages::EndOf(int32_t stage) const {
  if (stage == 0) return first_;
  return stage + 1 == interleaving_.num_stages ? last_ : none_;
}

int64_t LikeStages::CutsOf(int32_t stage, bool has_end) const {
  if (has_end) return interleaving_.cut_ps;
  const bool wraps = stage == 0 || stage + 1 == interleaving_.num_stages;
  return interleaving_.cut_ps + (wraps ? interleaving_.wrap_ps : interleaving_.cut_ps);
}

int64_t LikeStages::InFlightOf(int32_t stage) const {
  return HeldBy(PipelineOrder::kInterleaved, interleaving_.micro_batches, interleaving_.num_stages - stage,
                interleaving_.num_stages, interleaving_.chunks)
      .whole;
}

int64_t LikeStages::RoomOf(int32_t stage, int32_t layers, bool again) const {
  const End& end = EndOf(stage);
  const LayerPrice& dealt = layers > 0 ? price_ : end.price;
  int64_t room = table_.memory_bytes() - SaturatingMultiply(layers, price_.state_bytes()) -
                 std::max(dealt.workspace_bytes, end.price.workspace_bytes) -
                 2 * std::max(dealt.gathered_bytes, end.price.gathered_bytes) - end.price.state_bytes();
  // Layers of other kinds, which may send less, may be at the ends of its chunks; of layers alike the first one only.
  const int64_t received = std::min(price_.output_bytes, first_.price.output_bytes);
  if (are_alike_) room -= BoundaryBufferBytes(received, price_.output_bytes);
  if (again) {
    const bool end_can = end.price.modes[static_cast<std::size_t>(LayerRecomputation::kFull)].has_value();
    room -= end_can ? std::min(dealt.recomputed_bytes, end.price.recomputed_bytes) : dealt.recomputed_bytes;
  }
  return room;
}

std::optional<int64_t> LikeStages::ChunkPs(int32_t stage, int32_t layers, bool has_end, int64_t room,
                                           bool again) const {
  const End& end = EndOf(stage);
  std::vector<LayerGroup> groups;
  int64_t time = CutsOf(stage, has_end) + layers * (price_.forward_ps + price_.backward_ps);
  if (layers > 0) {
    groups.push_back(group_);
    groups.back().count = layers;
  }
  if (has_end) {
    groups.push_back(end.group);
    groups.back().count = 1;
    time += end.price.forward_ps + end.price.backward_ps;
  }
  if (groups.empty()) return time;
  const auto choice = ChooseRecomputation(groups, InFlightOf(stage), room, again ? room : -1);
  if (!choice.has_value()) return std::nullopt;
  return time + choice->bound_ps;
}

int64_t LikeStages::LongestChunkPs(int32_t stage, int32_t layers, int32_t beside_end, bool again) const {
  const int64_t room = RoomOf(stage, layers, again);
  if (room < 0) return kDoesNotFit;
  const bool has_end = EndOf(stage).exists;
  const int32_t others = interleaving_.chunks - (has_end ? 1 : 0);
  const auto largest = static_cast<int32_t>(CeilDivide(layers - (has_end ? beside_end : 0), others));
  const std::optional<int64_t> longest = ChunkPs(stage, largest, false, room, again);
  if (!longest.has_value()) return kDoesNotFit;
  if (!has_end) return *longest;
  const std::optional<int64_t> with_end = ChunkPs(stage, beside_end, true, room, again);
  return with_end.has_value() ? std::max(*longest, *with_end) : kDoesNotFit;
}

int64_t LikeStages::BestLongestChunkPs(int32_t stage, int32_t layers, int32_t* beside_end) const {
  const bool has_end = EndOf(stage).exists;
  // Its chunk pays for one cut, so that it may hold more than its share.
  const int32_t most_beside = has_end ? layers - FewestLayers(stage) : 0;
  const LayerPrice& end = EndOf(stage).price;
  const int64_t alone = has_end ? CutsOf(stage, true) + end.forward_ps + end.backward_ps : 0;
  int64_t best = kDoesNotFit;
  for (int32_t beside = 0; beside <= most_beside; ++beside) {
    const bool is_too_long = alone + beside * (price_.forward_ps + price_.backward_ps) >= best;
    if (poller_.ShouldStop(kUnitsPerChoice) || is_too_long) break;
    const int64_t time =
        std::min(LongestChunkPs(stage, layers, beside, false), LongestChunkPs(stage, layers, beside, true));
    if (time >= best) continue;
    best = time;
    if (beside_end != nullptr) *beside_end = beside;
  }
  return best;
}

int64_t LikeStages::SharedRoomPs(int32_t stage, int32_t layers) const {
  const End& end = EndOf(stage);
  std::vector<LayerGroup> groups;
  int64_t time = layers * (price_.forward_ps + price_.backward_ps);
  for (int32_t chunk = 0; chunk < interleaving_.chunks; ++chunk) time += CutsOf(stage, end.exists && chunk == 0);
  if (layers > 0) {
    groups.push_back(group_);
    groups.back().count = layers;
  }
  if (end.exists) {
    groups.push_back(end.group);
    groups.back().count = 1;
    time += end.price.forward_ps + end.price.backward_ps;
  }
  const int64_t room = RoomOf(stage, layers, false);
  if (room < 0) return kDoesNotFit;
  if (groups.empty()) return time;
  // Each chunk keeps at most its share; so all together keep at most the sum.
  const auto extra = LeastExtraPs(groups, SaturatingMultiply(room / InFlightOf(stage), interleaving_.chunks));
  return extra.has_value() ? time + *extra : kDoesNotFit;
}

int64_t LikeStages::OneWayCutsPs(int32_t stage) const {
  int64_t cuts = 0;
  for (int32_t chunk = 0; chunk < interleaving_.chunks; ++chunk) {
    cuts += CutsOf(stage, EndOf(stage).exists && chunk == 0) / 2;
  }
  return cuts;
}

int64_t LikeStages::LeastSumPs(int32_t stage, int32_t layers, bool again) const {
  const int64_t room = RoomOf(stage, layers, again);
  if (room < 0) return kDoesNotFit;
  // By the number of layers in the chunks so far; of a chunk with an end of the model one layer is that.
  std::vector<int64_t> least(static_cast<std::size_t>(layers) + 1, kDoesNotFit);
  const bool has_end = EndOf(stage).exists;
  const int32_t fewest = are_alike_ ? 1 : 0;
  const auto chunk_ps = [&](int32_t count, bool is_end) {
    // What is known when the time is over proves nothing.
    if (poller_.ShouldStop(kUnitsPerChoice)) return int64_t{0};
    return ChunkPs(stage, count, is_end, room, again).value_or(kDoesNotFit);
  };
  for (int32_t count = has_end ? 0 : fewest; count <= layers; ++count) {
    least[static_cast<std::size_t>(count)] = chunk_ps(count, has_end);
  }
  std::vector<int64_t> plain;
  for (int32_t count = 0; count <= layers; ++count) {
    plain.push_back(count < fewest ? kDoesNotFit : chunk_ps(count, false));
  }
  for (int32_t chunk = 1; chunk < interleaving_.chunks; ++chunk) {
    for (std::size_t sum = least.size(); sum-- > 0;) {
      if (poller_.ShouldStop(static_cast<int64_t>(1 + sum))) return 0;
      int64_t best = kDoesNotFit;
      for (std::size_t count = 0; count <= sum; ++count) best = std::min(best, plain[count] + least[sum - count]);
      least[sum] = best;
    }
  }
  return least.back();
}

int64_t LikeStages::KnownChunkPs(int32_t stage, int32_t layers, int32_t in_chunk, bool has_end, bool again) {
  const auto [known, is_new] = chunks_.try_emplace({stage, layers, in_chunk, has_end, again}, kDoesNotFit);
  if (!is_new || poller_.ShouldStop(kUnitsPerChoice)) return known->second;
  const int64_t room = RoomOf(stage, layers, again);
  if (room >= 0) known->second = ChunkPs(stage, in_chunk, has_end, room, again).value_or(kDoesNotFit);
  return known->second;
}

std::vector<LayerPasses> LikeStages::PassesOf(int32_t stage, const std::vector<int32_t>& layers) {
  const int32_t all = std::accumulate(layers.begin(), layers.end(), 0);
  const auto end_chunk = stage == 0 ? 0 : layers.size() - 1;
  std::vector<LayerPasses> best;
  int64_t least = kDoesNotFit;
  for (const bool again : {false, true}) {
    std::vector<LayerPasses> passes;
    int64_t sum = 0;
    for (std::size_t chunk = 0; chunk < layers.size() && sum < least; ++chunk) {
      const bool has_end = EndOf(stage).exists && chunk == end_chunk;
      const int64_t time = KnownChunkPs(stage, all, layers[chunk], has_end, again);
      const int64_t forward = layers[chunk] * price_.forward_ps + (has_end ? EndOf(stage).price.forward_ps : 0) +
                              CutsOf(stage, has_end) / 2;
      passes.push_back({forward, time - forward});
      sum = SaturatingAdd(sum, time);
    }
    if (sum >= least) continue;
    least = sum;
    best = std::move(passes);
  }
  return best;
}

std::vector<int32_t> LikeStages::DealtCuts() {
  DealQuestion question;
  question.shape = interleaving_.shape();
  question.fewest.assign(static_cast<std::size_t>(question.shape.num_chunks()), 1);
  question.fewest.front() = question.fewest.back() = 0;
  question.num_layers = dealt_;
  question.passes_of = [this](int32_t stage, const std::vector<int32_t>& layers) { return PassesOf(stage, layers); };
  std::vector<std::vector<int32_t>> starts;
  for (const EvenDeal& deal : FirstOf(DealsBySlots(), kMostDealsOfStarts)) {
    const int32_t places = deal.larger == 0 ? 1 : num_between() - deal.larger + 1;
    const int32_t step = (places + kMostPlaces - 1) / kMostPlaces;
    for (int32_t place = 0; place < places; place += step) {
      starts.push_back(LayersOf(deal, place));
    }
  }
  const std::vector<int32_t> dealt = DealLayers(question, std::move(starts), poller_);
  return dealt.empty() ? dealt : CutsOfLayers(dealt);
}

int64_t LikeStages::StagePs(int32_t stage, int32_t layers) const {
  const int64_t sum = SharedRoomPs(stage, layers);
  // Of fewer layers it is far below what is needed of any stage.
  const bool is_asked = is_precise_ && layers > 0 && layers + 1 >= dealt_ / interleaving_.num_stages;
  if (!is_asked || sum == kDoesNotFit) return sum;
  const auto [known, is_new] = sums_.try_emplace({stage, layers}, sum);
  if (is_new) {
    known->second = std::max(sum, std::min(LeastSumPs(stage, layers, false), LeastSumPs(stage, layers, true)));
  }
  return known->second;
}

int64_t LikeStages::FirstChunksPs(int32_t before, bool is_backward) const {
  if (before == 0) return 0;
  const LongestPasses layers = table_.PassesPs(0, before, false);
  const int64_t cuts = interleaving_.cut_ps / 2 + (before - 1) * interleaving_.cut_ps;
  return (is_backward ? layers.backward_ps : layers.forward_ps) + cuts;
}

int64_t LikeStages::LastChunksPs(int32_t behind, bool is_backward) const {
  if (behind == 0) return 0;
  const LongestPasses layers = table_.PassesPs(num_layers_ - behind, num_layers_, false);
  const int64_t cuts = interleaving_.cut_ps / 2 + (behind - 1) * interleaving_.cut_ps;
  return (is_backward ? layers.backward_ps : layers.forward_ps) + cuts;
}

int64_t LikeStages::WholePassPs(bool is_backward) const {
  const LongestPasses layers = table_.PassesPs(0, num_layers_, false);
  int64_t pass = is_backward ? layers.backward_ps : layers.forward_ps;
  for (int32_t stage = 0; stage < interleaving_.num_stages; ++stage) pass += OneWayCutsPs(stage);
  return pass;
}

LikeStages::Load LikeStages::LoadOf(int32_t stage, int32_t layers) const {
  const int64_t of_one = StagePs(stage, layers);
  if (of_one == kDoesNotFit) return {};
  const int64_t stages = interleaving_.num_stages;
  const int32_t behind = interleaving_.num_stages - 1 - stage;
  Load load{.passes = SaturatingMultiply(interleaving_.micro_batches, of_one),
            .front = FirstChunksPs(stage, false),
            .back = std::max(StepEndPs(stage, layers), FirstChunksPs(stage, true)),
            .spared = stages - (2 * behind + 1)};
  if (load.spared <= 0) return load;
  const int64_t forward = layers * price_.forward_ps + EndOf(stage).price.forward_ps + OneWayCutsPs(stage);
  // Of layers of other kinds nothing is known.
  const LayerPrice dealt = are_alike_ ? price_ : LayerPrice{};
  const LayerPrice& least = behind == 0 ? last_.price : dealt;
  load.whole_front =
      LastChunksPs(behind, true) + WholePassPs(false) - stages * forward + load.spared * least.forward_ps;
  load.whole_back =
      LastChunksPs(behind, false) + WholePassPs(true) - stages * (of_one - forward) + load.spared * least.backward_ps;
  return load;
}

int64_t LikeStages::StepPs(int32_t stage, int32_t layers) const {
  const Load load = LoadOf(stage, layers);
  return load.passes == kDoesNotFit ? kDoesNotFit : load.StepPs();
}

int64_t LikeStages::FirstChunkLayers(const TwoChunks& stage, const Load& load, int64_t cap) const {
  const int64_t forward = price_.forward_ps;
  const int64_t backward = price_.backward_ps;
  const bool is_last = stage.number + 1 == interleaving_.num_stages;
  const int64_t beyond = stage.first_before - (stage.number - 1);
  const int64_t drained = FirstChunksPs(stage.number, true) + beyond * backward;
  const int64_t front = load.front + beyond * forward;
  const int64_t back = std::max(load.back, drained);
  const int64_t most = stage.layers - (is_last ? 0 : 1);
  // As if its first chunk had no layer at all, behind the second stage.
  const int64_t cuts = CutsOf(1, false) / 2;
  const int64_t second = FirstChunksPs(1, false) + (stage.before - stage.first_before) * forward +
                         interleaving_.num_stages * (forward + cuts - CutsOf(stage.number, false) / 2) +
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

std::vector<std::vector<LikeStages::Load>> LikeStages::LoadsBy(int64_t cap) const {
  std::vector<std::vector<Load>> loads(static_cast<std::size_t>(interleaving_.num_stages));
  for (int32_t stage = 0; stage < interleaving_.num_stages; ++stage) {
    std::vector<Load>& own = loads[static_cast<std::size_t>(stage)];
    own.resize(static_cast<std::size_t>(FewestLayers(stage)));
    while (static_cast<int32_t>(own.size()) <= dealt_ && !poller_.ShouldStop(kUnitsPerChoice)) {
      const auto layers = static_cast<int32_t>(own.size());
      const int64_t time = layers * (price_.forward_ps + price_.backward_ps);
      if (SaturatingMultiply(interleaving_.micro_batches, time) > cap) break;
      own.push_back(LoadOf(stage, layers));
    }
  }
  return loads;
}

InterleavedWork LikeStages::WorkBetween() const {
  const auto times_of = [](const LayerPrice& price) {
    return DealtTimes{price.forward_ps, price.backward_ps, price.step_end_ps};
  };
  InterleavedWork work;
  work.num_stages = interleaving_.num_stages;
  work.chunks = interleaving_.chunks;
  work.micro_batches = interleaving_.micro_batches;
  work.first = times_of(first_.price);
  work.last = times_of(last_.price);
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

int64_t LikeStages::LeastStepByWaitsPs(int64_t needed) {
  InterleavedWork work = WorkBetween();
  if (work.between.forward_ps == 0) return 0;
  // What stages compute again; of large ones not chunk by chunk.
  is_precise_ = MayBePrecise();
  if (are_alike_) {
    for (const std::vector<Load>& own : LoadsBy(needed)) {
      std::vector<StagePoint> points;
      for (std::size_t layers = 0; layers < own.size(); ++layers) {
        if (own[layers].passes == kDoesNotFit) continue;
        // Floors rise with what a stage has, which so many layers make at the most.
        const auto forward = static_cast<double>(layers) * static_cast<double>(longest_forward_ps_);
        points.push_back({forward, static_cast<double>(own[layers].passes)});
      }
      work.floors.push_back(FloorsBelow(points));
    }
    // Loads of a list that was cut short are no floors beyond its end.
    if (poller_.ShouldStopNow()) return 0;
  }
  return LeastInterleavedStepPs(work, needed, poller_);
}

bool LikeStages::MayEndBy(int64_t cap, const std::vector<std::vector<Load>>& loads) const {
  // By how many layers the stages from the second one on have: how few of them their first chunks can have.
  const auto all = static_cast<std::size_t>(dealt_);
  std::vector<int64_t> first(all + 1, kDoesNotFit);
  first[0] = 0;
  for (int32_t number = 1; number < interleaving_.num_stages; ++number) {
    const std::vector<Load>& own = loads[static_cast<std::size_t>(number)];
    std::vector<int64_t> next(all + 1, kDoesNotFit);
    for (std::size_t before = 0; before <= all; ++before) {
      if (first[before] == kDoesNotFit) continue;
      if (poller_.ShouldStop(kUnitsPerChoice)) return true;
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
  int64_t in_front = -1;
  for (const Load& load : loads.front()) {
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

bool LikeStages::MayHoldOthersBy(int64_t cap, const std::vector<std::vector<Load>>& loads) const {
  const auto all = static_cast<std::size_t>(dealt_);
  // By how many layers the stages so far have: the most time that they have left for others; -1: they cannot have them.
  std::vector<int64_t> most(all + 1, -1);
  most[0] = 0;
  for (const std::vector<Load>& own : loads) {
    std::vector<int64_t> left;
    left.reserve(own.size());
    for (const Load& load : own) left.push_back(LeftForOthersPs(load, cap));
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
  return most[all] >= beyond_.forward + beyond_.backward;
}

int64_t LikeStages::LeftForOthersPs(const Load& load, int64_t cap) const {
  const int64_t micro_batches = interleaving_.micro_batches;
  if (load.passes == kDoesNotFit) return -1;
  const int64_t plain = cap - load.passes - load.front - load.back;
  const int64_t whole = cap - load.StepPs();
  if (plain < 0 || whole < 0) return -1;
  const int64_t spared = micro_batches - interleaving_.num_stages;
  return spared > 0 ? std::min(plain / micro_batches, whole / spared) : plain / micro_batches;
}

int64_t LikeStages::StepEndPs(int32_t stage, int32_t layers) const {
  return layers * price_.step_end_ps + EndOf(stage).price.step_end_ps;
}

int64_t LikeStages::UrgencyPs(int32_t stage, int32_t layers) const {
  const bool has_longest_end = StepEndPs(stage, layers) > Average() * price_.step_end_ps;
  return has_longest_end ? kDoesNotFit : StepPs(stage, layers);
}

int32_t LikeStages::FewestLayers(int32_t stage) const {
  if (!are_alike_) return 0;
  return interleaving_.chunks - (EndOf(stage).exists ? 1 : 0);
}

int32_t LikeStages::Average() const { return static_cast<int32_t>(CeilDivide(dealt_, interleaving_.num_stages)); }

template <typename TimeOf>
void LikeStages::GiveBack(TimeOf time_of, std::vector<int32_t>& layers_by_stage) const {
  int64_t surplus = -int64_t{dealt_};
  std::vector<int64_t> times;
  for (const int32_t layers : layers_by_stage) {
    times.push_back(time_of(static_cast<int32_t>(times.size()), layers));
    surplus += layers;
  }
  for (; surplus > 0; --surplus) {
    std::size_t longest = times.size();
    for (std::size_t s = 0; s < times.size(); ++s) {
      if (layers_by_stage[s] <= FewestLayers(static_cast<int32_t>(s))) continue;
      if (longest == times.size() || times[s] > times[longest]) longest = s;
    }
    times[longest] = time_of(static_cast<int32_t>(longest), --layers_by_stage[longest]);
  }
}

template <typename TimeOf, typename LeastOf>
int64_t LikeStages::LeastCap(TimeOf time_of, LeastOf least_of, std::vector<int32_t>* layers_by_stage) const {
  if (dealt_ == 0) return 0;
  // More layers than these take longer than the cap that is found, or they are looked at as well.
  int32_t most = std::min(dealt_, Average() + interleaving_.chunks);
  while (true) {
    std::vector<Times> times(static_cast<std::size_t>(interleaving_.num_stages));
    std::vector<int64_t> caps;
    for (int32_t stage = 0; stage < interleaving_.num_stages; ++stage) {
      Times& own = times[static_cast<std::size_t>(stage)];
      for (int32_t layers = 0; layers <= most; ++layers) {
        if (poller_.ShouldStop(kUnitsPerChoice)) return 0;
        const int64_t time = layers < FewestLayers(stage) ? kDoesNotFit : time_of(stage, layers);
        own.push_back(time);
        if (time < kDoesNotFit) caps.push_back(time);
        if (time == kDoesNotFit && layers > FewestLayers(stage)) break;
      }
    }
    std::sort(caps.begin(), caps.end());
    caps.erase(std::unique(caps.begin(), caps.end()), caps.end());
    const auto held_under = [&](const Times& own, int64_t cap) {
      auto held = static_cast<int32_t>(own.size()) - 1;
      while (held >= 0 && own[static_cast<std::size_t>(held)] > cap) --held;
      return held;
    };
    const auto suffices = [&](int64_t cap) {
      int64_t held = 0;
      for (const Times& own : times) {
        const int32_t most_held = held_under(own, cap);
        if (most_held < 0) return false;
        held += most_held;
      }
      return held >= dealt_;
    };
    const auto found = std::partition_point(caps.begin(), caps.end(), [&](int64_t cap) { return !suffices(cap); });
    // A stage with more layers than were looked at takes at least what those take without anything else.
    const bool is_complete = most == dealt_ || (found != caps.end() && *found <= least_of(most + 1));
    if (!is_complete) {
      most = std::min(dealt_, 2 * most);
      continue;
    }
    if (found == caps.end()) return kDoesNotFit;
    if (layers_by_stage == nullptr) return *found;
    for (const Times& own : times) layers_by_stage->push_back(held_under(own, *found));
    return *found;
  }
}

}  // namespace planwright
