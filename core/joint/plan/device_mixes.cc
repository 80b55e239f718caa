#include "core/joint/plan/device_mixes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/base/interruption.h"
#include "core/base/units.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/plan/device_counts.h"
#include "core/joint/plan/network_planning.h"
#include "core/joint/search/joint_search.h"

namespace planwright {
namespace {

// Parts with such numbers of all classes but the last, of which they have what is left.
struct BoundedBox {
  MixBox mixes;
  // No plan on these takes less.
  int64_t bound_ps = 0;
};

class MixSearch {
 public:
  MixSearch(const JointQuestion& question, const SolveLimits& limits,
            const std::function<void(const JointAnswer&)>& on_answer)
      : question_(question), limits_(limits), on_answer_(on_answer), training_(question.training) {
    training_.pairs = nullptr;
    for (const TrainingClass& part : training_.classes) all_.push_back(part.devices());
  }

  absl::StatusOr<JointAnswer> Run() {
    Look();
    if (!best_.has_value()) {
      if (is_interrupted_ || !boxes_.empty()) return PlanOnFirst();
      return PlanOn(FirstMix(), on_answer_);
    }
    absl::StatusOr<JointAnswer> planned = PlanOn(best_counts_, on_answer_);
    // Where there was no time for it, what is known is the answer.
    if (!planned.ok() && is_network()) return planned;
    const bool is_complete = planned.ok() && (is_network() || planned->plan.step.count() <= best_ps());
    JointAnswer answer = is_complete ? *std::move(planned) : *best_;
    JointPlan& plan = answer.plan;
    plan.step_bound = std::min(plan.step_bound, Picoseconds(bound_ps_));
    plan.simulated_bound = std::min(plan.simulated_bound, Picoseconds(floor_ps_));
    answer.is_interrupted = answer.is_interrupted || is_interrupted_;
    answer.counters["device_mixes_asked"] = asked_;
    return answer;
  }

 private:
  bool is_network() const { return question_.training.pairs != nullptr; }

  // The box of least bound is divided, and what lies where it is divided is looked at, until nothing better is left.
  void Look() {
    MixBox whole{DeviceCounts(all_.size() - 1, 0), DeviceCounts(all_.begin(), all_.end() - 1)};
    for (int64_t& most : whole.high) most = std::min(most, question_.most_total);
    LookAtStart();
    BoundOf(PartWith(whole.low));
    BoundOf(PartWith(whole.high));
    Add(std::move(whole));
    while (!boxes_.empty()) {
      const auto least = std::min_element(boxes_.begin(), boxes_.end(), [](const BoundedBox& a, const BoundedBox& b) {
        return a.bound_ps < b.bound_ps;
      });
      if (IsHopeless(*least) || asked_ >= kMostMixQuestions || CheckInterruption(limits_).has_value()) break;
      const MixBox mixes = least->mixes;
      boxes_.erase(least);
      if (mixes.is_one()) {
        bound_ps_ = std::min(bound_ps_, BoundOf(MostOf(mixes)));
        continue;
      }
      auto [fewer, more] = HalvesOf(mixes);
      BoundOf(PartWith(fewer.high));
      Add(std::move(fewer));
      Add(std::move(more));
    }
    is_interrupted_ = is_interrupted_ || CheckInterruption(limits_).has_value();
    for (const BoundedBox& box : boxes_) bound_ps_ = std::min(bound_ps_, box.bound_ps);
    bound_ps_ = std::min(bound_ps_, best_ps());
  }

  // A plan to start from is no better than the best one on as many devices of its classes.
  void LookAtStart() {
    if (question_.start == nullptr) return;
    DeviceCounts counts(all_.size(), 0);
    for (std::size_t s = 0; s < question_.start->classes.size(); ++s) {
      int64_t left = question_.start->plan.stages[s].degrees.devices();
      for (std::size_t number = 0; number < counts.size(); ++number) {
        if (training_.classes[number].device_class != question_.start->classes[s]) continue;
        const int64_t taken = std::min(left, all_[number] - counts[number]);
        counts[number] += taken;
        left -= taken;
      }
      if (left > 0) return;
    }
    if (TotalOf(counts) <= question_.most_total) BoundOf(counts);
  }

  int64_t best_ps() const { return best_.has_value() ? best_->plan.step.count() : kMaxQuantity; }

  bool IsHopeless(const BoundedBox& box) const {
    return best_.has_value() &&
           static_cast<double>(box.bound_ps) >= static_cast<double>(best_ps()) * (1 - question_.relative_gap);
  }

  // The most of each class that a part of the box may have.
  DeviceCounts MostOf(const MixBox& box) const {
    DeviceCounts most = box.high;
    most.push_back(std::min(all_.back(), question_.most_total - TotalOf(box.low)));
    return most;
  }

  // A part with as many of the classes but the last, less where these are too many.
  DeviceCounts PartWith(DeviceCounts counts) const {
    int64_t left = question_.most_total;
    for (int64_t& count : counts) {
      count = std::min(count, left);
      left -= count;
    }
    counts.push_back(std::min(all_.back(), left));
    return counts;
  }

  DeviceCounts FirstMix() const { return PartWith(DeviceCounts(all_.begin(), all_.end() - 1)); }

  // What no plan on such a part takes less than, wherever its devices are; keeps the best plan.
  int64_t BoundOf(const DeviceCounts& counts) {
    const auto [known, is_new] = bounds_.try_emplace(counts, kMaxQuantity);
    if (!is_new || TotalOf(counts) == 0) return known->second;
    int64_t& bound_ps = known->second;
    const TrainingCluster part = FirstDevicesByClass(training_, counts);
    for (const TrainingCluster& row : RowsOf(part)) {
      JointOutcome outcome = Ask(row);
      bound_ps = std::min(bound_ps, outcome.step_bound_ps);
      const bool is_better = outcome.plan.has_value() && outcome.plan->step.count() < best_ps();
      if (is_better) Keep(counts, row, *std::move(outcome.plan));
    }
    if (!part.groups.empty() || HasUnlikeMemory(part)) bound_ps = std::min(bound_ps, LeastOn(part).bound_ps);
    return bound_ps;
  }

  void Keep(const DeviceCounts& counts, const TrainingCluster& row, JointPlan plan) {
    best_ =
        JointAnswer{.plan = std::move(plan), .training = row, .is_interrupted = true, .counters = {{"start_fits", 0}}};
    best_counts_ = counts;
    if (is_network()) return;
    SimulateJointPlan(question_.pricer, DeviceRow(row), best_->plan);
    on_answer_(*best_);
  }

  struct Least {
    int64_t bound_ps = kMaxQuantity;
    // Something fits that may be better than what is known.
    bool is_open = false;
  };

  // On a part, as if its devices were as close and had as much memory as any.
  Least LeastOn(const TrainingCluster& part) {
    Least least;
    for (const TrainingCluster& row : BestRowsOf(part)) {
      const JointOutcome outcome = Ask(AsCloseAsCanBe(row));
      const bool is_open = outcome.plan.has_value() || outcome.is_interrupted;
      if (is_open || best_.has_value()) least.bound_ps = std::min(least.bound_ps, outcome.step_bound_ps);
      least.is_open = least.is_open || is_open;
    }
    return least;
  }

  // A box in which something may be better.
  void Add(MixBox mixes) {
    const DeviceCounts most = MostOf(mixes);
    if (most.back() < 0 || TotalOf(most) == 0) return;
    const Least least = LeastOn(FirstDevicesByClass(training_, most));
    if (least.is_open) {
      boxes_.push_back({std::move(mixes), least.bound_ps});
    } else {
      bound_ps_ = std::min(bound_ps_, least.bound_ps);
    }
  }

  // Where there are several whole nodes they stay together.
  std::pair<MixBox, MixBox> HalvesOf(const MixBox& mixes) const {
    const std::size_t widest = mixes.widest();
    const int64_t low = mixes.low[widest];
    const int64_t node = training_.classes[widest].devices_per_node;
    const int64_t middle = low + (mixes.high[widest] - low) / 2;
    const int64_t whole = middle / node * node;
    return mixes.DividedAt(widest, whole >= low ? whole : middle);
  }

  JointOutcome Ask(const TrainingCluster& row) {
    ++asked_;
    JointRequest request{question_.pricer, row, question_.settings, question_.reserved_bytes, question_.relative_gap};
    if (best_.has_value()) request.known_step_ps = best_ps();
    JointOutcome outcome = SearchJoint(request, limits_, [](const JointPlan&) {});
    is_interrupted_ = is_interrupted_ || outcome.is_interrupted;
    floor_ps_ = std::min(floor_ps_, outcome.simulated_floor_ps);
    return outcome;
  }

  absl::StatusOr<JointAnswer> PlanOn(const DeviceCounts& counts,
                                     const std::function<void(const JointAnswer&)>& on_answer) const {
    const TrainingCluster part = is_network() ? question_.training : FirstDevicesByClass(training_, counts);
    JointQuestion asked = {question_.pricer,   question_.cluster,        part,
                           question_.settings, question_.reserved_bytes, question_.relative_gap};
    asked.start = question_.start;
    asked.is_part = true;
    if (is_network()) asked.most_devices = counts;
    asked.all = question_.all;
    return (is_network() ? PlanOnNetwork : PlanJointly)(asked, limits_, on_answer);
  }

  // Nothing was found, but something may be there.
  absl::StatusOr<JointAnswer> PlanOnFirst() const {
    absl::StatusOr<JointAnswer> planned = PlanOn(FirstMix(), on_answer_);
    if (planned.ok() || !InfeasibilityOf(planned.status()).has_value()) return planned;
    return NoPlanFoundError("no plan was found on any mix of devices that was looked at; allow more time",
                            SpentLimit::kTime);
  }

  const JointQuestion& question_;
  const SolveLimits& limits_;
  const std::function<void(const JointAnswer&)>& on_answer_;
  // On a network as if all links were the fastest.
  TrainingCluster training_;
  DeviceCounts all_;
  std::vector<BoundedBox> boxes_;
  // Of the parts that have been looked at.
  std::map<DeviceCounts, int64_t> bounds_;
  int asked_ = 0;
  // The best plan so far and the part that it is on.
  std::optional<JointAnswer> best_;
  DeviceCounts best_counts_;
  int64_t bound_ps_ = kMaxQuantity;
  int64_t floor_ps_ = kMaxQuantity;
  bool is_interrupted_ = false;
};

}  // namespace

absl::StatusOr<JointAnswer> PlanOnMix(const JointQuestion& question, const SolveLimits& limits,
                                      const std::function<void(const JointAnswer&)>& on_answer) {
  return MixSearch(question, limits, on_answer).Run();
}

}  // namespace planwright
