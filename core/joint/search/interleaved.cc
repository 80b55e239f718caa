#include "core/joint/search/interleaved.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>

#include "core/base/units.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/dealing/like_stages.h"
#include "core/joint/search/cap_search.h"
#include "core/joint/search/joint_search.h"
#include "core/joint/slots/chunk_slots.h"
#include "core/joint/slots/cut_shifts.h"
#include "core/joint/waits/chunk_waits.h"

namespace planwright {
namespace {

// Of all linear programs of a bound; two seconds or three.
constexpr int64_t kMostWorkOfWaits = 25'000'000;
// Ways to deal out layers alike of which memory may rule the better ones out.
constexpr std::size_t kMostEvenCuts = 8;
// Plans within such a part of the best one are worth moving their cuts.
constexpr int64_t kNearness = 25;
// Where none fits that was tried, so many are looked at for a plan or a proof.
constexpr int64_t kMostDivisions = 2'000;
// What it takes to choose what a stage keeps.
constexpr int64_t kUnitsOfKeeping = 4'096;

// Chunks of which none takes more than `cap`, as many layers in each as fit; empty: more than `most`. O(layers).
std::vector<int32_t> CutsUnder(const LayerChain& chain, int64_t cap, int32_t most) {
  std::vector<int32_t> cuts{0};
  std::size_t first = 0;
  int64_t time = 0;
  // Behind the last place at which the chunk could end.
  std::size_t end = 0;
  for (std::size_t layer = 0; layer < chain.layers.size(); ++layer) {
    time += chain.TimeOf(layer);
    if (chain.cut[first] + time + chain.cut[layer + 1] <= cap) end = layer + 1;
    if (layer + 1 < chain.layers.size() && chain.cut[first] + time <= cap) continue;
    if (end == first || static_cast<int32_t>(cuts.size()) > most) return {};
    cuts.push_back(static_cast<int32_t>(end));
    first = end;
    layer = end - 1;
    time = 0;
  }
  return cuts;
}

// The least cap of CutsUnder.
int64_t LeastCap(const LayerChain& chain, int32_t most) {
  int64_t low = 0;
  int64_t high = 0;
  for (std::size_t layer = 0; layer < chain.layers.size(); ++layer) {
    low = std::max(low, chain.TimeOf(layer));
    high = SaturatingAdd(high, chain.TimeOf(layer) + chain.cut[layer]);
  }
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (CutsUnder(chain, middle, most).empty()) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// CutsUnder is exact where all cuts cost the same.
LayerChain WithLeastCuts(LayerChain chain) {
  if (chain.layers.size() == 1) return chain;
  const auto first = chain.cut.begin() + 1;
  std::fill(first, chain.cut.end() - 1, *std::min_element(first, chain.cut.end() - 1));
  return chain;
}

// Exactly `count` chunks: chunks of several layers are halved, the longest first.
void SplitUntil(std::size_t count, std::vector<int32_t>& cuts) {
  while (cuts.size() < count + 1) {
    std::size_t widest = 1;
    for (std::size_t i = 2; i < cuts.size(); ++i) {
      if (cuts[i] - cuts[i - 1] > cuts[widest] - cuts[widest - 1]) widest = i;
    }
    const int32_t middle = cuts[widest - 1] + (cuts[widest] - cuts[widest - 1]) / 2;
    cuts.insert(cuts.begin() + static_cast<std::ptrdiff_t>(widest), middle);
  }
}

// A spread on one class with its number of stages and chunks, and a bound.
struct Candidate {
  std::size_t family = 0;
  int32_t number = 0;
  int32_t num_stages = 1;
  int32_t chunks = 1;
  int64_t bound_ps = 0;
};

// What all boundaries between chunks take at least, at both of their ends.
int64_t CutsOf(const SlotShape& shape, int64_t cut_ps, int64_t wrap_ps) {
  const int64_t between = SaturatingMultiply(shape.num_chunks() - shape.chunks, cut_ps);
  return SaturatingMultiply(2, SaturatingAdd(between, SaturatingMultiply(shape.chunks - 1, wrap_ps)));
}

// The fastest link on which so many stages of the family can be together.
const TrainingLink& LinkOfStages(const JointSpace& space, const PipelineFamily& family, const Candidate& candidate,
                                 int64_t stages) {
  const int64_t block = space.places.row().At(candidate.number).TakenBy(family.degrees.front().devices());
  return space.places.row().cluster().LinkOf(space.places.LeastTier(candidate.number, stages * block));
}

// The cheapest boundary on a link.
int64_t LeastCutPs(const JointSpace& space, const StageTable& table, const TrainingLink& link) {
  int64_t least = kDoesNotFit;
  for (int32_t layer = 1; layer < space.num_layers(); ++layer) {
    least = std::min(least, table.TransferBeforePs(layer, link));
  }
  return least;
}

Interleaving InterleavingOf(const JointSpace& space, const PipelineFamily& family, const Candidate& candidate,
                            const StageTable& table) {
  return {.num_stages = candidate.num_stages,
          .chunks = candidate.chunks,
          .micro_batches = family.micro_batches,
          .cut_ps = LeastCutPs(space, table, LinkOfStages(space, family, candidate, 2)),
          .wrap_ps = LeastCutPs(space, table, LinkOfStages(space, family, candidate, candidate.num_stages))};
}

// Every number of stages and chunks that a family may have on each class, with `bound_of` (table, stages, chunks).
template <typename BoundOf>
void ListCandidates(const JointSpace& space, const PipelineFamily& family, std::size_t at,
                    const std::vector<SpreadOption>& options, BoundOf bound_of, int64_t sought,
                    std::vector<Candidate>& candidates) {
  for (int32_t place = 0; place < space.places.row().num_classes(); ++place) {
    const StageTable* table = options.front().ClosestAt(place);
    if (table == nullptr) continue;
    const int64_t most = space.places.row().At(place).BlocksOf(family.degrees.front().devices());
    for (int32_t stages = 2; stages <= most; ++stages) {
      if (family.micro_batches % stages != 0 || space.settings.num_stages.value_or(stages) != stages) continue;
      for (int32_t chunks = 2; chunks <= kMostChunks && chunks * stages <= space.num_layers(); ++chunks) {
        const int64_t bound = bound_of(*table, stages, chunks);
        if (bound < sought) candidates.push_back({at, place, stages, chunks, bound});
      }
    }
  }
}

void SortByBound(std::vector<Candidate>& candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.bound_ps, a.family, a.number, a.num_stages, a.chunks) <
           std::tuple(b.bound_ps, b.family, b.number, b.num_stages, b.chunks);
  });
}

class InterleavedSearch {
 public:
  InterleavedSearch(const JointSpace& space, const std::vector<PipelineFamily>& families, int64_t best,
                    double relative_gap, Poller& poller)
      : space_(space), families_(families), best_(best), relative_gap_(relative_gap), poller_(poller) {}

  InterleavedResult Run() {
    std::size_t listed = 0;
    for (; listed < families_.size() && !poller_.ShouldStop(1'000); ++listed) List(listed);
    SortByBound(candidates_);
    int64_t bound = std::numeric_limits<int64_t>::max();
    for (const Candidate& candidate : candidates_) {
      if (candidate.bound_ps >= Sought(best_, relative_gap_)) break;
      // Those behind it are known to take no less.
      if (poller_.ShouldStop(10'000)) {
        bound = std::min(bound, candidate.bound_ps);
        break;
      }
      bound = std::min(bound, Look(candidate));
      ++result_.looked_at;
    }
    if (listed < families_.size()) bound = LeastBusiestBound(families_);
    result_.bound_ps = std::min(bound, Sought(best_, relative_gap_));
    return std::move(result_);
  }

 private:
  void List(std::size_t at) {
    const PipelineFamily& family = families_[at];
    const auto bound_of = [&](const StageTable& table, int32_t stages, int32_t chunks) {
      return LeastSlotsPs(table.BasePs(0, space_.num_layers()), 0, {stages, chunks, family.micro_batches});
    };
    ListCandidates(space_, family, at, OptionsOf(space_, family), bound_of, Sought(best_, relative_gap_), candidates_);
  }

  // What no pipeline of the candidate beats, by more than the gap if that is more.
  int64_t Look(const Candidate& candidate) {
    const PipelineFamily& family = families_[candidate.family];
    const std::vector<SpreadOption> options = OptionsOf(space_, family);
    const StageTable& table = *options.front().ClosestAt(candidate.number);
    const std::optional<int64_t> extra = LeastExtra(candidate, table);
    if (!extra.has_value()) return std::numeric_limits<int64_t>::max();
    const Interleaving interleaving = InterleavingOf(space_, family, candidate, table);
    const int64_t work = SaturatingAdd(table.BasePs(0, space_.num_layers()) + *extra,
                                       CutsOf(interleaving.shape(), interleaving.cut_ps, interleaving.wrap_ps));
    const int64_t end = CeilDivide(table.StepEndPs(0, space_.num_layers()), candidate.num_stages);
    const TrainingLink& closest = LinkOfStages(space_, family, candidate, 2);
    const LayerChain least = WithLeastCuts(ChainOf(table, LayerRecomputation::kNone, false, closest));
    const int64_t cap = LeastCap(least, static_cast<int32_t>(interleaving.shape().num_chunks()));
    int64_t bound = LeastSlotsPs(work, cap, interleaving.shape()) + end;
    if (bound >= Sought(best_, relative_gap_)) return bound;
    LikeStages dealt(table, space_.num_layers(), interleaving, poller_);
    const int64_t longest = dealt.LeastChunkPs();
    if (longest == kDoesNotFit) return std::numeric_limits<int64_t>::max();
    bound = std::max(bound, SaturatingAdd(dealt.LeastSlotsPs(work, std::max(cap, longest)), end));
    if (bound >= Sought(best_, relative_gap_)) return bound;
    has_fit_ = false;
    ConsiderCuts(candidate, table, dealt);
    if (!has_fit_ && !dealt.are_of_one_kind() && ConsiderAllCuts(candidate, table) && !has_fit_) {
      return std::numeric_limits<int64_t>::max();
    }
    const int64_t sought = Sought(best_, relative_gap_);
    // Farther away it takes long and proves little.
    if (bound < sought && sought / 2 < bound) bound = std::max(bound, dealt.LeastDealtPs(sought - end) + end);
    if (bound >= sought || !dealt.are_alike()) return bound;
    std::vector<int32_t> cuts = dealt.DealtCuts();
    if (!cuts.empty()) ConsiderDealt(candidate, table, dealt, {std::move(cuts)});
    return bound;
  }

  // Every division. Whether it did: not where there are too many, or there was no time.
  bool ConsiderAllCuts(const Candidate& candidate, const StageTable& table) {
    const int64_t chunks = ShapeOf(candidate).num_chunks();
    int64_t divisions = 1;
    for (int64_t cut = 1; cut < chunks && divisions <= kMostDivisions; ++cut) {
      divisions = divisions * (space_.num_layers() - cut) / cut;
    }
    if (divisions > kMostDivisions) return false;
    std::vector<int32_t> cuts{0};
    ConsiderAllBehind(candidate, table, cuts);
    return !poller_.ShouldStopNow();
  }

  void ConsiderAllBehind(const Candidate& candidate, const StageTable& table, std::vector<int32_t>& cuts) {
    const auto left = static_cast<int32_t>(ShapeOf(candidate).num_chunks()) - static_cast<int32_t>(cuts.size());
    if (left < 0) {
      if (!poller_.ShouldStop(kUnitsOfKeeping)) Consider(candidate, table, cuts);
      return;
    }
    const int32_t first = left == 0 ? space_.num_layers() : cuts.back() + 1;
    for (int32_t cut = first; cut <= space_.num_layers() - left; ++cut) {
      cuts.push_back(cut);
      ConsiderAllBehind(candidate, table, cuts);
      cuts.pop_back();
    }
  }

  void ConsiderCuts(const Candidate& candidate, const StageTable& table, LikeStages& dealt) {
    std::vector<std::vector<int32_t>> all;
    if (!dealt.are_of_one_kind()) all = UnlikeCuts(candidate, table);
    if (dealt.are_alike()) {
      for (std::vector<int32_t>& cuts : LikeCuts(dealt)) all.push_back(std::move(cuts));
    }
    ConsiderDealt(candidate, table, dealt, all);
  }

  // As if all layers were computed again in one mode.
  std::vector<std::vector<int32_t>> UnlikeCuts(const Candidate& candidate, const StageTable& table) {
    std::vector<std::vector<int32_t>> all;
    for (const LayerRecomputation mode : space_.settings.recomputation) {
      for (std::vector<int32_t>& cuts : CutsInMode(candidate, table, mode)) all.push_back(std::move(cuts));
    }
    return all;
  }

  // These plans, and what moves of the cuts of the best reach where it is near the best of all.
  void ConsiderWithShifts(const Candidate& candidate, const StageTable& table,
                          const std::vector<std::vector<int32_t>>& all) {
    const std::vector<int32_t>* best = nullptr;
    int64_t least = best_ + best_ / kNearness;
    for (const std::vector<int32_t>& cuts : all) {
      const int64_t step = Consider(candidate, table, cuts);
      if (step >= least) continue;
      least = step;
      best = &cuts;
    }
    if (best == nullptr) return;
    const SlotShape shape = ShapeOf(candidate);
    Consider(candidate, table, WithCutsShifted(KeepingPasses(candidate, table), *best, shape, poller_));
  }

  // Of two with the same closed form the first is kept, of which the simulated step is no longer as a rule.
  static std::vector<std::vector<int32_t>> LikeCuts(LikeStages& dealt) {
    std::vector<std::vector<int32_t>> all;
    for (const bool by_step : {true, false}) {
      std::vector<int32_t> cuts = dealt.BestCuts(by_step);
      if (!cuts.empty()) all.push_back(std::move(cuts));
    }
    for (std::vector<int32_t>& cuts : dealt.EvenCuts(kMostEvenCuts)) all.push_back(std::move(cuts));
    return all;
  }

  void ConsiderDealt(const Candidate& candidate, const StageTable& table, const LikeStages& dealt,
                     const std::vector<std::vector<int32_t>>& all) {
    if (!dealt.are_of_one_kind()) return ConsiderWithShifts(candidate, table, all);
    for (const std::vector<int32_t>& cuts : all) Consider(candidate, table, cuts);
  }

  SlotShape ShapeOf(const Candidate& candidate) const {
    return {candidate.num_stages, candidate.chunks, families_[candidate.family].micro_batches};
  }

  // Cuts under the least longest chunk, and what moves of them reach.
  std::vector<std::vector<int32_t>> CutsInMode(const Candidate& candidate, const StageTable& table,
                                               LayerRecomputation mode) {
    const auto most = static_cast<int32_t>(ShapeOf(candidate).num_chunks());
    const TrainingLink& slowest = LinkOfStages(space_, families_[candidate.family], candidate, candidate.num_stages);
    const LayerChain chain = ChainOf(table, mode, true, slowest);
    std::vector<int32_t> cuts = CutsUnder(chain, LeastCap(chain, most), most);
    SplitUntil(static_cast<std::size_t>(most), cuts);
    std::vector<int32_t> shifted = WithCutsShifted(chain, cuts, ShapeOf(candidate), poller_);
    return {std::move(cuts), std::move(shifted)};
  }

  // Passes of chunks that keep what they may, remembered.
  PassesOfRuns KeepingPasses(const Candidate& candidate, const StageTable& table) {
    using Known = std::map<std::vector<int32_t>, std::vector<LayerPasses>>;
    const TrainingLink& slowest = LinkOfStages(space_, families_[candidate.family], candidate, candidate.num_stages);
    const LayerChain chain = ChainOf(table, LayerRecomputation::kNone, false, slowest);
    const auto known = std::make_shared<Known>();
    return [this, candidate, &table, chain, known](int32_t stage, const std::vector<LayerRun>& runs) {
      std::vector<int32_t> key{stage};
      for (const LayerRun& run : runs) key.insert(key.end(), {run.first, run.end});
      const auto [found, is_new] = known->try_emplace(std::move(key));
      if (!is_new || poller_.ShouldStop(kUnitsOfKeeping)) return found->second;
      const auto modes = table.ModesOfRuns(runs, InFlightOf(candidate, stage));
      for (std::size_t i = 0; i < modes.size(); ++i) {
        found->second.push_back(PassesOf(table, chain, runs[i], modes[i]));
      }
      return found->second;
    };
  }

  int64_t InFlightOf(const Candidate& candidate, int32_t stage) const {
    return HeldBy(PipelineOrder::kInterleaved, families_[candidate.family].micro_batches, candidate.num_stages - stage,
                  candidate.num_stages, candidate.chunks)
        .whole;
  }

  static LayerPasses PassesOf(const StageTable& table, const LayerChain& chain, const LayerRun& run,
                              const std::vector<LayerRecomputation>& modes) {
    const int64_t transfers =
        (chain.cut[static_cast<std::size_t>(run.first)] + chain.cut[static_cast<std::size_t>(run.end)]) / 2;
    LayerPasses passes{transfers, transfers};
    for (int32_t layer = run.first; layer < run.end; ++layer) {
      const LayerPrice& price = table.PriceOf(layer);
      const auto mode = static_cast<std::size_t>(modes[static_cast<std::size_t>(layer - run.first)]);
      passes.forward += price.forward_ps;
      passes.backward += price.backward_ps + price.modes[mode]->extra_ps;
    }
    return passes;
  }

  // What layers that are computed again take at least, so that everything fits: a stage keeps as often as micro-batches
  // are in flight what its largest chunk keeps, which is no less than the mean of its chunks.
  std::optional<int64_t> LeastExtra(const Candidate& candidate, const StageTable& table) const {
    const int64_t memory = space_.places.row().At(candidate.number).memory_bytes;
    int64_t room = 0;
    int64_t most_in_flight = 1;
    for (int32_t stage = 0; stage < candidate.num_stages; ++stage) {
      const int64_t in_flight = InFlightOf(candidate, stage);
      room += CeilDivide(memory, in_flight);
      most_in_flight = std::max(most_in_flight, in_flight);
    }
    room -= table.StateBytes(0, space_.num_layers()) / most_in_flight;
    return table.LeastExtraOfAllPs(SaturatingMultiply(std::max<int64_t>(room, 0), candidate.chunks));
  }

  LayerChain ChainOf(const StageTable& table, LayerRecomputation mode, bool counts_extra,
                     const TrainingLink& link) const {
    const std::vector<LayerRecomputation> modes = table.ModesInMode(0, space_.num_layers(), mode);
    LayerChain chain;
    for (int32_t layer = 0; layer < space_.num_layers(); ++layer) {
      const LayerPrice& price = table.PriceOf(layer);
      const auto chosen = static_cast<std::size_t>(modes[static_cast<std::size_t>(layer)]);
      chain.layers.push_back(
          {price.forward_ps, price.backward_ps + (counts_extra ? price.modes[chosen]->extra_ps : 0)});
      chain.cut.push_back(table.TransferBeforePs(layer, link));
    }
    chain.cut.push_back(0);
    return chain;
  }

  // The step of the better layout; kDoesNotFit.
  int64_t Consider(const Candidate& candidate, const StageTable& table, const std::vector<int32_t>& cuts) {
    int64_t least = kDoesNotFit;
    for (const std::vector<int64_t>& slots : LayoutsOf(candidate)) {
      least = std::min(least, ConsiderPlan(table, PlanOf(candidate, cuts, slots)));
    }
    return least;
  }

  int64_t ConsiderPlan(const StageTable& table, JointPlan plan) {
    if (!ChooseModes(table, plan)) return kDoesNotFit;
    CostJointPlan(space_.pricer, space_.places.row(), space_.reserved_bytes, plan);
    if (!IsHeld(space_.places.row(), space_.reserved_bytes, plan)) return kDoesNotFit;
    has_fit_ = true;
    const int64_t step = plan.step.count();
    if (step >= best_) return step;
    best_ = step;
    result_.plan = std::move(plan);
    return step;
  }

  // What each stage computes again so that it fits; whether it can.
  static bool ChooseModes(const StageTable& table, JointPlan& plan) {
    const auto num_stages = static_cast<int64_t>(plan.stages.size());
    int64_t from_end = num_stages;
    for (JointStage& stage : plan.stages) {
      std::vector<LayerRun> runs;
      runs.reserve(stage.chunks.size());
      for (const JointChunk& chunk : stage.chunks) runs.push_back({chunk.first_layer, chunk.end_layer()});
      const auto modes =
          table.ModesOfRuns(runs, HeldBy(plan.order, plan.micro_batches, from_end, num_stages, plan.chunks).whole);
      if (modes.empty()) return false;
      for (std::size_t chunk = 0; chunk < modes.size(); ++chunk) stage.chunks[chunk].recomputation = modes[chunk];
      --from_end;
    }
    return true;
  }

  // Where the stages begin: one after the other, and, if that is otherwise, each as close as it can be, which leaves
  // nodes between them idle.
  std::vector<std::vector<int64_t>> LayoutsOf(const Candidate& candidate) const {
    std::vector<std::vector<int64_t>> layouts{SlotsOf(candidate)};
    std::vector<int64_t> closest = BlocksFrom(candidate, true);
    if (!closest.empty() && closest != layouts.front()) layouts.push_back(std::move(closest));
    return layouts;
  }

  // Returns blocks from the front of the class on (DeviceRow::NextBlock); empty: there are fewer.
  std::vector<int64_t> BlocksFrom(const Candidate& candidate, bool is_closest) const {
    const DeviceRow& row = space_.places.row();
    const int64_t devices = families_[candidate.family].degrees.front().devices();
    std::vector<int64_t> slots;
    int64_t from = 0;
    for (int32_t s = 0; s < candidate.num_stages; ++s) {
      slots.push_back(row.NextBlock(candidate.number, from, devices, is_closest));
      if (slots.back() < 0) return {};
      from = slots.back() + row.At(candidate.number).TakenBy(devices);
    }
    return slots;
  }

  // One after the other, where all of them are the closest.
  std::vector<int64_t> SlotsOf(const Candidate& candidate) const {
    const DeviceRow& row = space_.places.row();
    const int64_t devices = families_[candidate.family].degrees.front().devices();
    const int64_t per_node = row.At(candidate.number).devices_per_node;
    std::vector<int64_t> slots = BlocksFrom(candidate, false);
    const int64_t last = slots.back() + devices - 1;
    int64_t best = 0;
    for (int64_t moved = 0; last + moved < row.EndOf(candidate.number); moved += per_node) {
      if (row.TierBetween(slots.front() + moved, last + moved) < row.TierBetween(slots.front() + best, last + best)) {
        best = moved;
      }
    }
    for (int64_t& slot : slots) slot += best;
    return slots;
  }

  // Returns the plan without recomputation.
  JointPlan PlanOf(const Candidate& candidate, const std::vector<int32_t>& cuts,
                   const std::vector<int64_t>& slots) const {
    const PipelineFamily& family = families_[candidate.family];
    JointPlan plan{.order = PipelineOrder::kInterleaved,
                   .chunks = candidate.chunks,
                   .sharding = family.sharding,
                   .micro_batch_samples = family.samples,
                   .micro_batches = family.micro_batches};
    const Degrees degrees = family.degrees.front();
    for (int32_t s = 0; s < candidate.num_stages; ++s) {
      JointStage& stage = plan.stages.emplace_back();
      stage.degrees = degrees;
      stage.first_slot = static_cast<int32_t>(slots[static_cast<std::size_t>(s)]);
      for (auto chunk = static_cast<std::size_t>(s); chunk + 1 < cuts.size();
           chunk += static_cast<std::size_t>(candidate.num_stages)) {
        const auto layers = static_cast<std::size_t>(cuts[chunk + 1] - cuts[chunk]);
        stage.chunks.push_back({cuts[chunk], std::vector(layers, LayerRecomputation::kNone)});
      }
    }
    return plan;
  }

  const JointSpace& space_;
  const std::vector<PipelineFamily>& families_;
  int64_t best_;
  double relative_gap_;
  Poller& poller_;
  std::vector<Candidate> candidates_;
  // Some plan of the candidate that is looked at fits.
  bool has_fit_ = false;
  InterleavedResult result_;
};

// Bounds of candidates, closer and closer: the least of all is made closer until it is as close as can be.
class InterleavedBound {
 public:
  InterleavedBound(const JointSpace& space, const std::vector<PipelineFamily>& families, int64_t known, Poller& poller)
      : space_(space), families_(families), known_(known), poller_(poller) {}

  // The least of all; interrupted, what is known by then.
  int64_t Of(const std::vector<Candidate>& candidates) {
    std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
    for (std::size_t i = 0; i < candidates.size(); ++i) open.push({candidates[i].bound_ps, Closeness::kWork, i});
    while (!open.empty() && open.top().bound < known_) {
      Open least = open.top();
      open.pop();
      if (least.closeness == Closeness::kWaits || poller_.ShouldStop(10'000)) return least.bound;
      Improve(candidates[least.candidate], least);
      if (least.closeness == Closeness::kWaits) known_ = std::min(known_, least.bound);
      open.push(least);
    }
    return known_;
  }

 private:
  // What is counted. Of the same bounds the closest is looked at first.
  enum class Closeness { kWaits, kSteps, kWork };

  struct Open {
    int64_t bound = 0;
    Closeness closeness = Closeness::kWork;
    std::size_t candidate = 0;

    friend auto operator<=>(const Open& a, const Open& b) = default;
  };

  void Improve(const Candidate& candidate, Open& open) {
    const bool has_steps = open.closeness == Closeness::kSteps;
    open.closeness = has_steps ? Closeness::kWaits : Closeness::kSteps;
    const int64_t work = WorkOfWaits(candidate.num_stages, candidate.chunks);
    if (has_steps && work > work_left_) return;
    const PipelineFamily& family = families_[candidate.family];
    const std::vector<SpreadOption> options = OptionsOf(space_, family);
    const StageTable& table = *options.front().ClosestAt(candidate.number);
    LikeStages dealt(table, space_.num_layers(), InterleavingOf(space_, family, candidate, table), poller_);
    open.bound = std::max(open.bound, has_steps ? dealt.LeastStepByWaitsPs(known_) : dealt.LeastStepPs(known_));
    if (has_steps) work_left_ -= work;
  }

  const JointSpace& space_;
  const std::vector<PipelineFamily>& families_;
  // More is not asked for.
  int64_t known_;
  Poller& poller_;
  int64_t work_left_ = kMostWorkOfWaits;
};

}  // namespace

InterleavedResult SearchInterleaved(const JointSpace& space, const std::vector<PipelineFamily>& families,
                                    int64_t best_ps, double relative_gap, Poller& poller) {
  return InterleavedSearch(space, families, best_ps, relative_gap, poller).Run();
}

int64_t BoundInterleaved(const JointSpace& space, const std::vector<PipelineFamily>& families, int64_t known_ps,
                         Poller& poller) {
  std::vector<Candidate> candidates;
  for (std::size_t at = 0; at < families.size(); ++at) {
    if (poller.ShouldStop(1'000)) return 0;
    const PipelineFamily& family = families[at];
    const std::vector<SpreadOption> options = OptionsOf(space, family);
    // Some stage has no less than the mean of all micro-batches and of the ends of the step.
    const auto bound_of = [&](const StageTable& table, int32_t stages, int32_t) {
      const int64_t passes = SaturatingMultiply(family.micro_batches, table.BasePs(0, space.num_layers()));
      return CeilDivide(SaturatingAdd(passes, table.StepEndPs(0, space.num_layers())), stages);
    };
    ListCandidates(space, family, at, options, bound_of, known_ps, candidates);
  }
  // An interrupted list lacks some.
  if (poller.ShouldStopNow()) return 0;
  return InterleavedBound(space, families, known_ps, poller).Of(candidates);
}

}  // namespace planwright
