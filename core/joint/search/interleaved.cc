#include "core/joint/search/interleaved.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "core/base/units.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/dealing/like_stages.h"
#include "core/joint/search/cap_search.h"
#include "core/joint/search/interleaved_candidates.h"
#include "core/joint/slots/chain_cuts.h"
#include "core/joint/slots/chunk_slots.h"
#include "core/joint/slots/cut_shifts.h"

namespace planwright {
namespace {

// Ways to deal out layers alike of which memory may rule the better ones out.
constexpr std::size_t kMostEvenCuts = 8;
// Plans within such a part of the best one are worth moving their cuts.
constexpr int64_t kNearness = 25;
// All divisions are looked at where they are no more.
constexpr int64_t kMostDivisions = 2'000;
// What it takes to choose what a stage keeps.
constexpr int64_t kUnitsOfKeeping = 4'096;

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
    for (const InterleavedCandidate& candidate : candidates_) {
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
    const auto bound_of = [&](const StageTable& table, int32_t stages, int32_t chunks) {
      return LeastSlotsPs(table.BasePs(0, space_.num_layers()), 0, {stages, chunks, families_[at].micro_batches});
    };
    ListCandidates(space_, families_, at, bound_of, Sought(best_, relative_gap_), candidates_);
  }

  // What no pipeline of the candidate beats, by more than the gap if that is more.
  int64_t Look(const InterleavedCandidate& candidate) {
    const std::vector<SpreadOption> options = OptionsOf(space_, *candidate.family);
    const StageTable& table = *options.front().ClosestAt(candidate.class_number);
    const std::optional<int64_t> again = LeastAgainPs(space_, candidate, table);
    if (!again.has_value()) return std::numeric_limits<int64_t>::max();
    const Interleaving interleaving = InterleavingOf(space_, candidate, table);
    const int64_t work = SaturatingAdd(table.BasePs(0, space_.num_layers()) + *again, CutsOf(interleaving));
    const int64_t end = StepEndOf(space_, interleaving, table);
    const TrainingLink& closest = LinkOfStages(space_, candidate, 2);
    const LayerChain least = WithLeastCuts(ChainOf(table, LayerRecomputation::kNone, false, closest));
    const int64_t cap = LeastCapOfCuts(least, static_cast<int32_t>(interleaving.shape().num_chunks()));
    int64_t bound = LeastSlotsPs(work, cap, interleaving.shape()) + end;
    if (bound >= Sought(best_, relative_gap_)) return bound;
    LikeStages dealt(table, space_.num_layers(), interleaving, poller_);
    const int64_t longest = dealt.LeastChunkPs();
    if (longest == kDoesNotFit) return std::numeric_limits<int64_t>::max();
    bound = std::max(bound, SaturatingAdd(dealt.LeastSlotsPs(work, std::max(cap, longest)), end));
    if (bound >= Sought(best_, relative_gap_)) return bound;
    has_fit_ = false;
    ConsiderCuts(candidate, table, dealt);
    // Of layers of one kind what was found is hardly above the bound.
    const bool may_be_better = !dealt.are_of_one_kind() && bound < Sought(best_, relative_gap_);
    if ((!has_fit_ || may_be_better) && ConsiderAllCuts(candidate, table) && !has_fit_) {
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
  bool ConsiderAllCuts(const InterleavedCandidate& candidate, const StageTable& table) {
    const int64_t chunks = candidate.shape().num_chunks();
    // As many as there are ways to choose where chunks begin, or where they do not.
    const int64_t chosen = std::min(chunks - 1, space_.num_layers() - chunks);
    int64_t divisions = 1;
    for (int64_t cut = 1; cut <= chosen && divisions <= kMostDivisions; ++cut) {
      divisions = divisions * (space_.num_layers() - cut) / cut;
    }
    if (divisions > kMostDivisions) return false;
    std::vector<int32_t> cuts{0};
    ConsiderAllBehind(candidate, table, cuts);
    return !poller_.ShouldStopNow();
  }

  void ConsiderAllBehind(const InterleavedCandidate& candidate, const StageTable& table, std::vector<int32_t>& cuts) {
    const auto left = static_cast<int32_t>(candidate.shape().num_chunks()) - static_cast<int32_t>(cuts.size());
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

  void ConsiderCuts(const InterleavedCandidate& candidate, const StageTable& table, LikeStages& dealt) {
    std::vector<std::vector<int32_t>> all;
    if (!dealt.are_of_one_kind()) all = UnlikeCuts(candidate, table);
    if (dealt.are_alike()) {
      for (std::vector<int32_t>& cuts : LikeCuts(dealt)) all.push_back(std::move(cuts));
    }
    ConsiderDealt(candidate, table, dealt, all);
  }

  // As if all layers were computed again in one mode.
  std::vector<std::vector<int32_t>> UnlikeCuts(const InterleavedCandidate& candidate, const StageTable& table) {
    std::vector<std::vector<int32_t>> all;
    for (const LayerRecomputation mode : space_.settings.recomputation) {
      for (std::vector<int32_t>& cuts : CutsInMode(candidate, table, mode)) all.push_back(std::move(cuts));
    }
    return all;
  }

  // These plans, and what moves of the cuts of the best reach where it is near the best of all.
  void ConsiderWithShifts(const InterleavedCandidate& candidate, const StageTable& table,
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
    const SlotShape shape = candidate.shape();
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

  void ConsiderDealt(const InterleavedCandidate& candidate, const StageTable& table, const LikeStages& dealt,
                     const std::vector<std::vector<int32_t>>& all) {
    if (!dealt.are_of_one_kind()) return ConsiderWithShifts(candidate, table, all);
    for (const std::vector<int32_t>& cuts : all) Consider(candidate, table, cuts);
  }

  // Cuts under the least longest chunk, and what moves of them reach.
  std::vector<std::vector<int32_t>> CutsInMode(const InterleavedCandidate& candidate, const StageTable& table,
                                               LayerRecomputation mode) {
    const auto most = static_cast<int32_t>(candidate.shape().num_chunks());
    const TrainingLink& slowest = LinkOfStages(space_, candidate, candidate.num_stages);
    const LayerChain chain = ChainOf(table, mode, true, slowest);
    std::vector<int32_t> cuts = CutsUnder(chain, LeastCapOfCuts(chain, most), most);
    SplitUntil(static_cast<std::size_t>(most), cuts);
    std::vector<int32_t> shifted = WithCutsShifted(chain, cuts, candidate.shape(), poller_);
    return {std::move(cuts), std::move(shifted)};
  }

  // Passes of chunks that keep what they may, remembered.
  PassesOfRuns KeepingPasses(const InterleavedCandidate& candidate, const StageTable& table) {
    using Known = std::map<std::vector<int32_t>, std::vector<LayerPasses>>;
    const TrainingLink& slowest = LinkOfStages(space_, candidate, candidate.num_stages);
    const LayerChain chain = ChainOf(table, LayerRecomputation::kNone, false, slowest);
    const auto known = std::make_shared<Known>();
    return [this, candidate, &table, chain, known](int32_t stage, const std::vector<LayerRun>& runs) {
      std::vector<int32_t> key{stage};
      for (const LayerRun& run : runs) key.insert(key.end(), {run.first, run.end});
      const auto [found, is_new] = known->try_emplace(std::move(key));
      if (!is_new || poller_.ShouldStop(kUnitsOfKeeping)) return found->second;
      const auto modes = table.ModesOfRuns(runs, InFlightOf(candidate.shape(), stage));
      for (std::size_t i = 0; i < modes.size(); ++i) {
        found->second.push_back(PassesOf(table, chain, runs[i], modes[i]));
      }
      return found->second;
    };
  }

  static LayerPasses PassesOf(const StageTable& table, const LayerChain& chain, const LayerRun& run,
                              const std::vector<LayerRecomputation>& modes) {
    const int64_t transfers =
        (chain.cut[static_cast<std::size_t>(run.first)] + chain.cut[static_cast<std::size_t>(run.end)]) / 2;
    LayerPasses passes{transfers, transfers};
    for (int32_t layer = run.first; layer < run.end; ++layer) {
      const LayerPrice& price = table.PriceOf(layer);
      const LayerRecomputation mode = modes[static_cast<std::size_t>(layer - run.first)];
      passes.forward += price.forward_ps;
      passes.backward += price.backward_ps + price.InMode(mode).extra_ps;
    }
    return passes;
  }

  LayerChain ChainOf(const StageTable& table, LayerRecomputation mode, bool counts_extra,
                     const TrainingLink& link) const {
    const std::vector<LayerRecomputation> modes = table.ModesInMode(0, space_.num_layers(), mode);
    LayerChain chain;
    for (int32_t layer = 0; layer < space_.num_layers(); ++layer) {
      const LayerPrice& price = table.PriceOf(layer);
      const LayerRecomputation chosen = modes[static_cast<std::size_t>(layer)];
      chain.layers.push_back(
          {price.forward_ps, price.backward_ps + (counts_extra ? price.InMode(chosen).extra_ps : 0)});
      chain.cut.push_back(table.TransferBeforePs(layer, link));
    }
    chain.cut.push_back(0);
    return chain;
  }

  // The step of the better layout; kDoesNotFit.
  int64_t Consider(const InterleavedCandidate& candidate, const StageTable& table, const std::vector<int32_t>& cuts) {
    int64_t least = kDoesNotFit;
    for (const std::vector<int64_t>& slots : LayoutsOf(space_, candidate)) {
      least = std::min(least, ConsiderPlan(candidate, table, PlanOf(candidate, cuts, slots)));
    }
    return least;
  }

  int64_t ConsiderPlan(const InterleavedCandidate& candidate, const StageTable& table, JointPlan plan) {
    if (!ChooseModes(candidate, table, plan)) return kDoesNotFit;
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
  static bool ChooseModes(const InterleavedCandidate& candidate, const StageTable& table, JointPlan& plan) {
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      std::vector<JointChunk>& chunks = plan.stages[s].chunks;
      std::vector<LayerRun> runs;
      runs.reserve(chunks.size());
      for (const JointChunk& chunk : chunks) runs.push_back({chunk.first_layer, chunk.end_layer()});
      const auto modes = table.ModesOfRuns(runs, InFlightOf(candidate.shape(), static_cast<int64_t>(s)));
      if (modes.empty()) return false;
      for (std::size_t chunk = 0; chunk < modes.size(); ++chunk) chunks[chunk].recomputation = modes[chunk];
    }
    return true;
  }

  const JointSpace& space_;
  const std::vector<PipelineFamily>& families_;
  int64_t best_;
  double relative_gap_;
  Poller& poller_;
  std::vector<InterleavedCandidate> candidates_;
  // Some plan of the candidate that is looked at fits.
  bool has_fit_ = false;
  InterleavedResult result_;
};

}  // namespace

InterleavedResult SearchInterleaved(const JointSpace& space, const std::vector<PipelineFamily>& families,
                                    int64_t best_ps, double relative_gap, Poller& poller) {
  return InterleavedSearch(space, families, best_ps, relative_gap, poller).Run();
}

}  // namespace planwright
