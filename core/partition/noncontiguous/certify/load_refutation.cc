#include "core/partition/noncontiguous/certify/load_refutation.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/partition/noncontiguous/certify/isolating_cut.h"
#include "core/partition/noncontiguous/certify/packing_bound.h"

namespace planwright {
namespace {

// Beyond this many groups, decided one inside the other, or bits of cut sets along one branch (128 MiB) the search is
// not begun.
constexpr int64_t kMostGroups = 3'000;
constexpr int64_t kMostBits = int64_t{1} << 30U;
// The packing bound of a node counts as this many arcs for each group.
constexpr int64_t kPackingStepsPerGroup = 4;

// The cheapest set of one kind around the groups of a payer.
struct CutSet {
  int64_t cost = 0;
  std::vector<bool> holds;
};

struct Payer {
  // Sum of the times of its groups.
  int64_t time = 0;
  CutSet nets_only;
  CutSet nets_and_times;
};

class BranchAndBound {
 public:
  BranchAndBound(const LoadRelaxation& relaxation, int64_t max_load, StepBudget& budget, Poller& poller)
      : relaxation_(relaxation),
        max_load_(max_load),
        budget_(budget),
        poller_(poller),
        packing_(relaxation, max_load),
        cut_(relaxation),
        place_of_(relaxation.payer_time.size(), kUndecided),
        nets_of_(relaxation.payer_time.size()),
        attachment_(relaxation.payer_time.size(), 0),
        sides_(relaxation.payer_time.size()) {
    for (const Net& net : relaxation.nets) {
      for (const int32_t group : net.blocks) nets_of_[static_cast<std::size_t>(group)].push_back(&net);
    }
  }

  // Decides one group more, in every way.
  RefutationVerdict Run() {
    const std::optional<int32_t> group = NextGroup();
    if (!group.has_value()) return RefutationVerdict::kOpen;
    Attach(*group, 1);
    const RefutationVerdict verdict = Decide(*group);
    Attach(*group, -1);
    return verdict;
  }

 private:
  int64_t PayerTime(int32_t group) const { return relaxation_.payer_time[static_cast<std::size_t>(group)]; }

  // The longest undecided group; nets that a decided group holds count half, because what is decided next to them costs
  // transfers at once, and transfers are what ends branches.
  std::optional<int32_t> NextGroup() const {
    std::optional<int32_t> best;
    int64_t best_score = -1;
    for (int32_t group = 0; group < relaxation_.num_groups(); ++group) {
      if (place_of_[static_cast<std::size_t>(group)] != kUndecided) continue;
      const int64_t score = PayerTime(group) + attachment_[static_cast<std::size_t>(group)] / 2;
      if (score <= best_score) continue;
      best = group;
      best_score = score;
    }
    return best;
  }

  void Attach(int32_t group, int64_t sign) {
    for (const Net* net : nets_of_[static_cast<std::size_t>(group)]) {
      for (const int32_t other : net->blocks) attachment_[static_cast<std::size_t>(other)] += sign * net->weight;
    }
  }

  // Tries every place for the group.
  RefutationVerdict Decide(int32_t group) {
    const std::vector<Payer> payers_before = payers_;
    RefutationVerdict verdict = RefutationVerdict::kRefuted;
    const auto num_choices =
        static_cast<int32_t>(std::min(payers_.size() + 1, static_cast<std::size_t>(relaxation_.num_payers)));
    for (int32_t payer = 0; payer < num_choices && verdict == RefutationVerdict::kRefuted; ++payer) {
      if (PayerTime(group) >= LoadRelaxation::kNever) break;
      verdict = Place(group, payer);
      payers_ = payers_before;
    }
    if (verdict == RefutationVerdict::kRefuted && packing_.CanRunElsewhere(group)) {
      verdict = Place(group, kElsewhere);
      payers_ = payers_before;
    }
    place_of_[static_cast<std::size_t>(group)] = kUndecided;
    return verdict;
  }

  RefutationVerdict Place(int32_t group, int32_t place) {
    if (budget_.left <= 0 || poller_.ShouldStopNow()) return RefutationVerdict::kStopped;
    place_of_[static_cast<std::size_t>(group)] = place;
    if (place == static_cast<int32_t>(payers_.size())) payers_.push_back(EmptyPayer());
    if (place >= 0) payers_[static_cast<std::size_t>(place)].time += PayerTime(group);
    if (!Recut(group, place) || IsTooMuch()) return RefutationVerdict::kRefuted;
    return Run();
  }

  Payer EmptyPayer() const {
    const CutSet nothing{.cost = 0, .holds = std::vector<bool>(place_of_.size(), false)};
    return {.time = 0, .nets_only = nothing, .nets_and_times = nothing};
  }

  // Brings the cuts that the decision for `group` changes up to date. False: a payer has too much.
  bool Recut(int32_t group, int32_t place) {
    for (std::size_t payer = 0; payer < payers_.size(); ++payer) {
      const bool is_inside = place == static_cast<int32_t>(payer);
      CutSet& full = payers_[payer].nets_and_times;
      CutSet& bare = payers_[payer].nets_only;
      if (full.holds[static_cast<std::size_t>(group)] != is_inside &&
          !Recut(payer, CutCost::kNetsAndTimes, max_load_, full)) {
        return false;
      }
      if (bare.holds[static_cast<std::size_t>(group)] != is_inside &&
          !Recut(payer, CutCost::kNetsOnly, max_load_ - payers_[payer].time, bare)) {
        return false;
      }
    }
    return true;
  }

  // False: the cost is more than `most`.
  bool Recut(std::size_t payer, CutCost cost, int64_t most, CutSet& set) {
    if (most < 0) return false;
    for (std::size_t group = 0; group < sides_.size(); ++group) {
      const bool is_inside = place_of_[group] == static_cast<int32_t>(payer);
      const Side decided = is_inside ? Side::kInside : Side::kOutside;
      sides_[group] = place_of_[group] == kUndecided ? Side::kFree : decided;
    }
    const int64_t steps_before = cut_.steps();
    set.cost = cut_.Minimum(sides_, cost, most + 1, poller_);
    budget_.left -= cut_.steps() - steps_before;
    if (set.cost > most) return false;
    for (std::size_t group = 0; group < set.holds.size(); ++group) {
      set.holds[group] = cut_.holds(static_cast<int32_t>(group));
    }
    return true;
  }

  bool IsTooMuch() {
    loads_.clear();
    for (const Payer& payer : payers_) loads_.push_back(payer.time + payer.nets_only.cost);
    budget_.left -= kPackingStepsPerGroup * relaxation_.num_groups();
    return packing_.Refutes(place_of_, loads_);
  }

  const LoadRelaxation& relaxation_;
  const int64_t max_load_;
  StepBudget& budget_;
  Poller& poller_;
  const PackingBound packing_;
  IsolatingCut cut_;
  std::vector<int32_t> place_of_;
  // By group: its nets, and the weight of those that decided groups hold.
  std::vector<std::vector<const Net*>> nets_of_;
  std::vector<int64_t> attachment_;
  std::vector<Payer> payers_;
  std::vector<Side> sides_;
  std::vector<int64_t> loads_;
};

}  // namespace

RefutationVerdict RefuteMaxLoad(const LoadRelaxation& relaxation, int64_t max_load, StepBudget& budget,
                                Poller& poller) {
  LoadRelaxation merged = relaxation;
  // One device of the others must hold each group; groups merged later may be on several.
  for (int64_t& time : merged.other_time) {
    if (time > max_load) time = LoadRelaxation::kNever;
  }
  const RefutationVerdict verdict = MergeInseparable(merged, max_load, budget, poller);
  if (verdict != RefutationVerdict::kOpen) return verdict;
  const int64_t groups = merged.num_groups();
  const int64_t bits = SaturatingMultiply(2 * std::min(groups, merged.num_payers), groups * groups);
  if (groups > kMostGroups || bits > kMostBits) return RefutationVerdict::kStopped;
  return BranchAndBound(merged, max_load, budget, poller).Run();
}

}  // namespace planwright
