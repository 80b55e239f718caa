#include "core/joint/dealing/dealt_stages.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>

#include "core/base/units.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/stages/recomputation.h"

namespace planwright {
namespace {

constexpr int32_t kMostPreciseLayers = 256;
// Times of more chunks are not remembered, which take some twenty megabytes.
constexpr std::size_t kMostKnownChunks = 400'000;

}  // namespace

DealtStages::DealtStages(const StageTable& table, const LikeLayers& alike, const Interleaving& interleaving,
                         Poller& poller)
    : table_(table), alike_(alike), interleaving_(interleaving), poller_(poller) {}

const ModelEnd& DealtStages::EndOf(int32_t stage) const {
  static const ModelEnd none;
  if (stage == 0) return alike_.first;
  return stage + 1 == interleaving_.num_stages ? alike_.last : none;
}

int32_t DealtStages::FewestLayers(int32_t stage) const {
  if (!alike_.are_all) return 0;
  return interleaving_.chunks - (EndOf(stage).exists ? 1 : 0);
}

int32_t DealtStages::Average() const {
  return static_cast<int32_t>(CeilDivide(alike_.count, interleaving_.num_stages));
}

int64_t DealtStages::CutsOf(int32_t stage, bool has_end) const {
  if (has_end) return interleaving_.cut_ps;
  const bool wraps = stage == 0 || stage + 1 == interleaving_.num_stages;
  return interleaving_.cut_ps + (wraps ? interleaving_.wrap_ps : interleaving_.cut_ps);
}

int64_t DealtStages::OneWayCutsPs(int32_t stage) const {
  int64_t cuts = 0;
  for (int32_t chunk = 0; chunk < interleaving_.chunks; ++chunk) {
    cuts += CutsOf(stage, EndOf(stage).exists && chunk == 0) / 2;
  }
  return cuts;
}

int64_t DealtStages::RoomOf(int32_t stage, int32_t layers, bool again) const {
  const LayerPrice& end = EndOf(stage).price;
  const LayerPrice& dealt = layers > 0 ? alike_.price : end;
  int64_t room = table_.memory_bytes() - SaturatingMultiply(layers, alike_.price.state_bytes()) -
                 std::max(dealt.workspace_bytes, end.workspace_bytes) -
                 2 * std::max(dealt.gathered_bytes, end.gathered_bytes) - end.state_bytes();
  // Layers of other kinds, which may send less, may be at the ends of its chunks; of layers alike the first one only.
  const int64_t received = std::min(alike_.price.output_bytes, alike_.first.price.output_bytes);
  if (alike_.are_all) room -= BoundaryBufferBytes(received, alike_.price.output_bytes);
  if (again) {
    const bool end_can = end.modes[static_cast<std::size_t>(LayerRecomputation::kFull)].has_value();
    room -= end_can ? std::min(dealt.recomputed_bytes, end.recomputed_bytes) : dealt.recomputed_bytes;
  }
  return room;
}

std::vector<LayerGroup> DealtStages::GroupsOf(int32_t layers, const ModelEnd* end) const {
  std::vector<LayerGroup> groups;
  if (layers > 0) {
    groups.push_back(alike_.group);
    groups.back().count = layers;
  }
  if (end != nullptr) {
    groups.push_back(end->group);
    groups.back().count = 1;
  }
  return groups;
}

int64_t DealtStages::PassesPs(int32_t layers, const ModelEnd* end) const {
  return layers * alike_.layer_ps() + (end == nullptr ? 0 : end->price.forward_ps + end->price.backward_ps);
}

int64_t DealtStages::ChunkPs(const ChunkOfStage& chunk) {
  const auto known = chunks_.find(chunk);
  if (known != chunks_.end()) return known->second;
  if (poller_.ShouldStop(kUnitsPerChoice)) return 0;
  const int64_t time = NewChunkPs(chunk);
  if (chunks_.size() < kMostKnownChunks) chunks_.emplace(chunk, time);
  return time;
}

int64_t DealtStages::NewChunkPs(const ChunkOfStage& chunk) const {
  const int64_t room = RoomOf(chunk.stage, chunk.stage_layers, chunk.again);
  if (room < 0) return kDoesNotFit;
  const ModelEnd* end = chunk.has_end ? &EndOf(chunk.stage) : nullptr;
  const int64_t time = CutsOf(chunk.stage, chunk.has_end) + PassesPs(chunk.layers, end);
  const std::vector<LayerGroup> groups = GroupsOf(chunk.layers, end);
  if (groups.empty()) return time;
  const auto choice =
      ChooseRecomputation(groups, InFlightOf(interleaving_.shape(), chunk.stage), room, chunk.again ? room : -1);
  return choice.has_value() ? time + choice->bound_ps : kDoesNotFit;
}

int64_t DealtStages::LongestChunkPs(int32_t stage, int32_t layers, int32_t beside_end, bool again) {
  const bool has_end = EndOf(stage).exists;
  const int32_t others = interleaving_.chunks - (has_end ? 1 : 0);
  const auto largest = static_cast<int32_t>(CeilDivide(layers - (has_end ? beside_end : 0), others));
  const int64_t longest = ChunkPs({stage, layers, largest, false, again});
  if (!has_end || longest == kDoesNotFit) return longest;
  return std::max(longest, ChunkPs({stage, layers, beside_end, true, again}));
}

int64_t DealtStages::LongestChunkPs(int32_t stage, int32_t layers, int32_t* beside_end) {
  const ModelEnd& end = EndOf(stage);
  // Its chunk pays for one cut, so that it may hold more than its share.
  const int32_t most_beside = end.exists ? layers - FewestLayers(stage) : 0;
  const int64_t alone = end.exists ? CutsOf(stage, true) + PassesPs(0, &end) : 0;
  int64_t best = kDoesNotFit;
  for (int32_t beside = 0; beside <= most_beside; ++beside) {
    if (alone + beside * alike_.layer_ps() >= best) break;
    if (poller_.ShouldStop(kUnitsPerChoice)) return 0;
    const int64_t time =
        std::min(LongestChunkPs(stage, layers, beside, false), LongestChunkPs(stage, layers, beside, true));
    if (time >= best) continue;
    best = time;
    if (beside_end != nullptr) *beside_end = beside;
  }
  return best;
}

int64_t DealtStages::SharedRoomPs(int32_t stage, int32_t layers) const {
  const ModelEnd* end = EndOf(stage).exists ? &EndOf(stage) : nullptr;
  const int64_t room = RoomOf(stage, layers, false);
  if (room < 0) return kDoesNotFit;
  int64_t time = PassesPs(layers, end);
  for (int32_t chunk = 0; chunk < interleaving_.chunks; ++chunk) time += CutsOf(stage, end != nullptr && chunk == 0);
  const std::vector<LayerGroup> groups = GroupsOf(layers, end);
  if (groups.empty()) return time;
  // Each chunk keeps at most its share; so all together keep at most the sum.
  const auto extra =
      LeastExtraPs(groups, SaturatingMultiply(room / InFlightOf(interleaving_.shape(), stage), interleaving_.chunks));
  return extra.has_value() ? time + *extra : kDoesNotFit;
}

int64_t DealtStages::LeastSumPs(int32_t stage, int32_t layers, bool again) {
  // By the number of layers in the chunks so far; of a chunk with an end of the model one layer is that.
  std::vector<int64_t> least(static_cast<std::size_t>(layers) + 1, kDoesNotFit);
  const bool has_end = EndOf(stage).exists;
  const int32_t fewest = alike_.are_all ? 1 : 0;
  for (int32_t count = has_end ? 0 : fewest; count <= layers; ++count) {
    least[static_cast<std::size_t>(count)] = ChunkPs({stage, layers, count, has_end, again});
  }
  std::vector<int64_t> plain;
  for (int32_t count = 0; count <= layers; ++count) {
    plain.push_back(count < fewest ? kDoesNotFit : ChunkPs({stage, layers, count, false, again}));
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

std::vector<LayerPasses> DealtStages::PassesOf(int32_t stage, const std::vector<int32_t>& layers) {
  const int32_t all = std::accumulate(layers.begin(), layers.end(), 0);
  const auto end_chunk = stage == 0 ? 0 : layers.size() - 1;
  std::vector<LayerPasses> best;
  int64_t least = kDoesNotFit;
  for (const bool again : {false, true}) {
    std::vector<LayerPasses> passes;
    int64_t sum = 0;
    for (std::size_t chunk = 0; chunk < layers.size() && sum < least; ++chunk) {
      const bool has_end = EndOf(stage).exists && chunk == end_chunk;
      const int64_t time = ChunkPs({stage, all, layers[chunk], has_end, again});
      const int64_t forward = layers[chunk] * alike_.price.forward_ps + (has_end ? EndOf(stage).price.forward_ps : 0) +
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

bool DealtStages::MayBePrecise() const { return alike_.count / interleaving_.num_stages <= kMostPreciseLayers; }

int64_t DealtStages::StagePs(int32_t stage, int32_t layers, bool is_precise) {
  const int64_t sum = SharedRoomPs(stage, layers);
  // Of fewer layers it is far below what is needed of any stage.
  const bool is_asked = is_precise && layers > 0 && layers + 1 >= alike_.count / interleaving_.num_stages;
  if (!is_asked || sum == kDoesNotFit) return sum;
  const auto [known, is_new] = sums_.try_emplace({stage, layers}, sum);
  if (is_new) {
    known->second = std::max(sum, std::min(LeastSumPs(stage, layers, false), LeastSumPs(stage, layers, true)));
  }
  return known->second;
}

int64_t DealtStages::LeastChunkCap(std::vector<int32_t>* layers_by_stage) {
  return LeastCap([this](int32_t stage, int32_t layers) { return LongestChunkPs(stage, layers, nullptr); },
                  [this](int32_t layers) { return CeilDivide(layers, interleaving_.chunks) * alike_.layer_ps(); },
                  layers_by_stage);
}

int64_t DealtStages::LeastBusiestPs() {
  int64_t least = 0;
  for (const bool is_precise : {false, true}) {
    const int64_t busiest =
        LeastCap([&](int32_t stage, int32_t layers) { return StagePs(stage, layers, is_precise && MayBePrecise()); },
                 [this](int32_t layers) { return layers * alike_.layer_ps(); }, nullptr);
    if (poller_.ShouldStopNow()) break;
    least = std::max(least, busiest);
  }
  return least;
}

void DealtStages::GiveBack(TimeOfStage time_of, std::vector<int32_t>& layers_by_stage) const {
  int64_t surplus = -int64_t{alike_.count};
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

namespace {

// Least times of one stage by its number of layers, from 0; kDoesNotFit.
using TimesByLayers = std::vector<int64_t>;

// The most layers of a stage under the cap; -1: none.
int32_t HeldUnder(const TimesByLayers& times, int64_t cap) {
  auto held = static_cast<int32_t>(times.size()) - 1;
  while (held >= 0 && times[static_cast<std::size_t>(held)] > cap) --held;
  return held;
}

// Whether the stages hold so many layers under the cap.
bool Suffices(const std::vector<TimesByLayers>& stages, int64_t cap, int64_t layers) {
  int64_t held = 0;
  for (const TimesByLayers& times : stages) {
    const int32_t most = HeldUnder(times, cap);
    if (most < 0) return false;
    held += most;
  }
  return held >= layers;
}

// All times that are, in order.
std::vector<int64_t> CapsOf(const std::vector<TimesByLayers>& stages) {
  std::vector<int64_t> caps;
  for (const TimesByLayers& times : stages) {
    std::copy_if(times.begin(), times.end(), std::back_inserter(caps), [](int64_t time) { return time < kDoesNotFit; });
  }
  std::sort(caps.begin(), caps.end());
  caps.erase(std::unique(caps.begin(), caps.end()), caps.end());
  return caps;
}

}  // namespace

int64_t DealtStages::LeastCap(TimeOfStage time_of, absl::FunctionRef<int64_t(int32_t layers)> least_of,
                              std::vector<int32_t>* layers_by_stage) const {
  if (alike_.count == 0) return 0;
  // More layers than these take longer than the cap that is found, or they are looked at as well.
  int32_t most = std::min(alike_.count, Average() + interleaving_.chunks);
  while (true) {
    std::vector<TimesByLayers> stages(static_cast<std::size_t>(interleaving_.num_stages));
    for (int32_t stage = 0; stage < interleaving_.num_stages; ++stage) {
      TimesByLayers& own = stages[static_cast<std::size_t>(stage)];
      for (int32_t layers = 0; layers <= most; ++layers) {
        if (poller_.ShouldStop(kUnitsPerChoice)) return 0;
        own.push_back(layers < FewestLayers(stage) ? kDoesNotFit : time_of(stage, layers));
        if (own.back() == kDoesNotFit && layers > FewestLayers(stage)) break;
      }
    }
    // The last times may be those of an interruption.
    if (poller_.ShouldStopNow()) return 0;
    const std::vector<int64_t> caps = CapsOf(stages);
    const auto found = std::partition_point(caps.begin(), caps.end(),
                                            [&](int64_t cap) { return !Suffices(stages, cap, alike_.count); });
    // A stage with more layers than were looked at takes at least what those take without anything else.
    const bool is_complete = most == alike_.count || (found != caps.end() && *found <= least_of(most + 1));
    if (!is_complete) {
      most = std::min(alike_.count, 2 * most);
      continue;
    }
    if (found == caps.end()) return kDoesNotFit;
    if (layers_by_stage == nullptr) return *found;
    for (const TimesByLayers& own : stages) layers_by_stage->push_back(HeldUnder(own, *found));
    return *found;
  }
}

}  // namespace planwright
