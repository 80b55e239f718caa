#include "core/joint/search/like_stages.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "core/base/units.h"
#include "core/joint/cost/stage_cost.h"

namespace planwright {
namespace {

// What a choice of recomputation takes.
constexpr int64_t kUnitsPerChoice = 256;

}  // namespace

LikeStages::LikeStages(const StageTable& table, int32_t num_layers, const Interleaving& interleaving, Poller& poller)
    : table_(table), num_layers_(num_layers), interleaving_(interleaving), poller_(poller) {
  std::map<int32_t, int32_t> counts;
  for (int32_t layer = 1; layer + 1 < num_layers; ++layer) ++counts[table.KindOf(layer)];
  are_alike_ = counts.size() == 1;
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == counts.end()) return;
  dealt_ = most->second;
  int32_t layer = 1;
  while (table.KindOf(layer) != most->first) ++layer;
  price_ = table.PriceOf(layer);
  group_ = table.GroupOf(layer);
  if (!are_alike_) {
    // The ends of the model, which pay for one cut only, may lie anywhere.
    interleaving_.cut_ps = interleaving_.wrap_ps = 0;
    return;
  }
  first_ = {true, table.PriceOf(0), table.GroupOf(0)};
  last_ = {true, table.PriceOf(num_layers - 1), table.GroupOf(num_layers - 1)};
}

int64_t LikeStages::LeastChunkPs() { return LeastChunkCap(nullptr); }

int64_t LikeStages::LeastChunkCap(std::vector<int32_t>* layers_by_stage) const {
  return LeastCap([this](int32_t stage, int32_t layers) { return BestLongestChunkPs(stage, layers, nullptr); },
                  [this](int32_t layers) {
                    return CeilDivide(layers, interleaving_.chunks) * (price_.forward_ps + price_.backward_ps);
                  },
                  layers_by_stage);
}

int64_t LikeStages::LeastStepPs() {
  return LeastCap([this](int32_t stage, int32_t layers) { return StepPs(stage, layers); },
                  [this](int32_t layers) {
                    return SaturatingMultiply(interleaving_.micro_batches,
                                              layers * (price_.forward_ps + price_.backward_ps));
                  },
                  nullptr);
}

std::vector<int32_t> LikeStages::BestCuts() {
  std::vector<int32_t> by_stage;
  LeastChunkCap(&by_stage);
  if (by_stage.empty()) return {};
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
      size = static_cast<int32_t>(CeilDivide(left, rest));
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
  int64_t room = table_.memory_bytes() - SaturatingMultiply(layers, price_.state_bytes()) -
                 std::max(price_.workspace_bytes, end.price.workspace_bytes) -
                 2 * std::max(price_.gathered_bytes, end.price.gathered_bytes) - end.price.state_bytes() -
                 BoundaryBufferBytes(price_.output_bytes, price_.output_bytes);
  if (again) room -= price_.recomputed_bytes;
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
  const auto most_beside =
      has_end ? std::min(static_cast<int32_t>(CeilDivide(layers, interleaving_.chunks)), layers - FewestLayers(stage))
              : 0;
  if (layers == 0 && !are_alike_) return 0;
  int64_t best = kDoesNotFit;
  for (int32_t beside = 0; beside <= most_beside; ++beside) {
    if (poller_.ShouldStop(kUnitsPerChoice)) break;
    const int64_t time =
        std::min(LongestChunkPs(stage, layers, beside, false), LongestChunkPs(stage, layers, beside, true));
    if (time >= best) continue;
    best = time;
    if (beside_end != nullptr) *beside_end = beside;
  }
  return best;
}

int64_t LikeStages::StagePs(int32_t stage, int32_t layers) const {
  if (layers == 0 && !are_alike_) return 0;
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

int64_t LikeStages::ForwardPs(int32_t stage, int32_t layers) const {
  const End& end = EndOf(stage);
  int64_t cuts = 0;
  for (int32_t chunk = 0; chunk < interleaving_.chunks; ++chunk) cuts += CutsOf(stage, end.exists && chunk == 0) / 2;
  return layers * price_.forward_ps + end.price.forward_ps + cuts;
}

int64_t LikeStages::StepPs(int32_t stage, int32_t layers) const {
  const int64_t of_one = StagePs(stage, layers);
  if (of_one == kDoesNotFit) return kDoesNotFit;
  const int64_t stages = interleaving_.num_stages;
  const int64_t before = stage;
  const int64_t behind = stages - 1 - stage;
  // The least that `count` other stages take: one layer of a chunk each, and one of them an end of the model.
  const auto through = [&](int64_t count, int64_t passes, int64_t end) {
    return count == 0 || !are_alike_ ? 0 : (count - 1) * passes + end;
  };
  const int64_t filled = through(before, price_.forward_ps, first_.price.forward_ps);
  const int64_t drained = through(before, price_.backward_ps, first_.price.backward_ps);
  int64_t front = filled;
  const int64_t spared = stages - (2 * behind + 1);
  if (spared >= 0) {
    const int64_t last_chunk = behind == 0 ? last_.price.forward_ps : price_.forward_ps;
    int64_t whole = through(behind, price_.backward_ps, last_.price.backward_ps) + dealt_ * price_.forward_ps -
                    stages * ForwardPs(stage, layers);
    for (int32_t other = 0; other < interleaving_.num_stages; ++other) whole += ForwardPs(other, 0);
    if (are_alike_) whole += spared * last_chunk;
    front = std::max(front, whole);
  }
  const int64_t end = layers * price_.step_end_ps + EndOf(stage).price.step_end_ps;
  return SaturatingAdd(SaturatingMultiply(interleaving_.micro_batches, of_one), front + std::max(end, drained));
}

int32_t LikeStages::FewestLayers(int32_t stage) const {
  if (!are_alike_) return 0;
  return interleaving_.chunks - (EndOf(stage).exists ? 1 : 0);
}

int32_t LikeStages::Average() const { return static_cast<int32_t>(CeilDivide(dealt_, interleaving_.num_stages)); }

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
    int64_t surplus = -int64_t{dealt_};
    for (const Times& own : times) {
      layers_by_stage->push_back(held_under(own, *found));
      surplus += layers_by_stage->back();
    }
    // The longest stages give theirs back.
    for (; surplus > 0; --surplus) {
      std::size_t longest = times.size();
      int64_t longest_ps = -1;
      for (std::size_t s = 0; s < times.size(); ++s) {
        const int32_t held = (*layers_by_stage)[s];
        const int64_t time = times[s][static_cast<std::size_t>(held)];
        if (held <= FewestLayers(static_cast<int32_t>(s)) || time <= longest_ps) continue;
        longest = s;
        longest_ps = time;
      }
      --(*layers_by_stage)[longest];
    }
    return *found;
  }
}

}  // namespace planwright
