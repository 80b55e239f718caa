#include "core/partition/noncontiguous/certify/inseparable_groups.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/union_find.h"
#include "core/partition/noncontiguous/certify/isolating_cut.h"
#include "core/partition/noncontiguous/certify/packing_bound.h"

namespace planwright {
namespace {

// Pairs within larger nets are many, and such nets seldom bind their groups.
constexpr std::size_t kLargestNetOfPairs = 12;

using Pair = std::pair<int32_t, int32_t>;

std::vector<Pair> NeighbourPairs(const LoadRelaxation& relaxation) {
  std::vector<Pair> pairs;
  for (const Net& net : relaxation.nets) {
    if (net.blocks.size() > kLargestNetOfPairs) continue;
    for (std::size_t a = 0; a < net.blocks.size(); ++a) {
      for (std::size_t b = a + 1; b < net.blocks.size(); ++b) pairs.emplace_back(net.blocks[a], net.blocks[b]);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

// One round over one relaxation.
class Round {
 public:
  Round(LoadRelaxation& relaxation, int64_t max_load, StepBudget& budget, Poller& poller)
      : relaxation_(relaxation),
        max_load_(max_load),
        budget_(budget),
        poller_(poller),
        packing_(relaxation, max_load),
        cut_(relaxation),
        sides_(relaxation.payer_time.size(), Side::kFree),
        merged_(relaxation.num_groups()) {}

  // kOpen: `changed` says whether another round may do more.
  RefutationVerdict Run(bool& changed) {
    if (packing_.RefutesAtRoot()) return RefutationVerdict::kRefuted;
    const RefutationVerdict verdict = StrikeOutPayers(changed);
    if (verdict != RefutationVerdict::kOpen) return verdict;
    const int64_t spare = SpareTime();
    for (const auto& [a, b] : NeighbourPairs(relaxation_)) {
      if (merged_.Find(a) == merged_.Find(b)) continue;
      if (IsStopped()) return RefutationVerdict::kStopped;
      if (!MustShare(a, b, spare)) continue;
      merged_.Unite(a, b);
      changed = true;
    }
    Contract();
    return RefutationVerdict::kOpen;
  }

 private:
  bool IsStopped() { return budget_.left <= 0 || poller_.ShouldStopNow(); }

  int64_t Minimum(int32_t inside, int32_t outside, CutCost cost, int64_t limit) {
    sides_[static_cast<std::size_t>(inside)] = Side::kInside;
    if (outside >= 0) sides_[static_cast<std::size_t>(outside)] = Side::kOutside;
    const int64_t steps_before = cut_.steps();
    const int64_t minimum = cut_.Minimum(sides_, cost, limit, poller_);
    budget_.left -= cut_.steps() - steps_before;
    sides_[static_cast<std::size_t>(inside)] = Side::kFree;
    if (outside >= 0) sides_[static_cast<std::size_t>(outside)] = Side::kFree;
    return minimum;
  }

  RefutationVerdict StrikeOutPayers(bool& changed) {
    for (int32_t group = 0; group < relaxation_.num_groups(); ++group) {
      if (IsStopped()) return RefutationVerdict::kStopped;
      int64_t& time = relaxation_.payer_time[static_cast<std::size_t>(group)];
      if (time < LoadRelaxation::kNever && OverloadsPayers(group, -1)) {
        time = LoadRelaxation::kNever;
        changed = true;
      }
      if (time >= LoadRelaxation::kNever && !packing_.CanRunElsewhere(group)) return RefutationVerdict::kRefuted;
    }
    return RefutationVerdict::kOpen;
  }

  // Every payer that holds `inside` without `outside` has a load above the max load.
  bool OverloadsPayers(int32_t inside, int32_t outside) {
    return Minimum(inside, outside, CutCost::kNetsAndTimes, max_load_ + 1) > max_load_;
  }

  // What the payers can spend on transfers in sum.
  int64_t SpareTime() const {
    const std::vector<int32_t> nothing_decided(relaxation_.payer_time.size(), kUndecided);
    const PackingBound packing(relaxation_, max_load_);
    int64_t spare = SaturatingAdd(SaturatingMultiply(max_load_, relaxation_.num_payers),
                                  std::max<int64_t>(packing.Relief(nothing_decided), 0));
    for (const int64_t time : relaxation_.payer_time) spare -= time < LoadRelaxation::kNever ? time : 0;
    return spare;
  }

  bool RunsOnPayersOnly(int32_t group) const { return !packing_.CanRunElsewhere(group); }
  bool RunsElsewhereOnly(int32_t group) const {
    return relaxation_.payer_time[static_cast<std::size_t>(group)] >= LoadRelaxation::kNever;
  }

  bool MustShare(int32_t a, int32_t b, int64_t spare) {
    if (RunsElsewhereOnly(a) || RunsElsewhereOnly(b)) return false;
    if (RunsOnPayersOnly(a) && OverloadsPayers(a, b)) return true;
    if (RunsOnPayersOnly(b) && OverloadsPayers(b, a)) return true;
    if (spare < 0) return true;
    const int64_t payers_apart = RunsOnPayersOnly(a) && RunsOnPayersOnly(b) ? 2 : 1;
    const int64_t limit = spare / payers_apart + 1;
    // The two differ, because groups that no payer can run are outside of both.
    return Minimum(a, b, CutCost::kNetsOnly, limit) >= limit && Minimum(b, a, CutCost::kNetsOnly, limit) >= limit;
  }

  void Contract() {
    const std::vector<int32_t> label_of = merged_.Labels();
    const int32_t num_labels = label_of.empty() ? 0 : *std::max_element(label_of.begin(), label_of.end()) + 1;
    relaxation_ = ContractGroups(relaxation_, label_of, num_labels);
  }

  LoadRelaxation& relaxation_;
  const int64_t max_load_;
  StepBudget& budget_;
  Poller& poller_;
  // Made of the relaxation as it was at first: what is struck out later only makes it weaker.
  const PackingBound packing_;
  IsolatingCut cut_;
  std::vector<Side> sides_;
  UnionFind merged_;
};

}  // namespace

RefutationVerdict MergeInseparable(LoadRelaxation& relaxation, int64_t max_load, StepBudget& budget, Poller& poller) {
  bool changed = true;
  while (changed) {
    changed = false;
    const RefutationVerdict verdict = Round(relaxation, max_load, budget, poller).Run(changed);
    if (verdict != RefutationVerdict::kOpen) return verdict;
  }
  return RefutationVerdict::kOpen;
}

}  // namespace planwright
