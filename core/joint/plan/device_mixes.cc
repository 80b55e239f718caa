#include "core/joint/plan/device_mixes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/base/interruption.h"
#include "core/base/units.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/plan/device_counts.h"
#include "core/joint/plan/device_parts.h"
#include "core/joint/plan/network_planning.h"
#include "core/joint/plan/start_plan.h"
#include "core/joint/plan/what_would_fit.h"

namespace planwright {
namespace {

// Parts with such numbers of all classes but the last, of which they have what is left.
struct BoundedBox {
  MixBox mixes;
  // No plan on these takes less.
  int64_t bound_ps = 0;
  // As much as is known of the box itself, not only of one that it is part of.
  bool is_own = true;
};

auto LeastOf(std::vector<BoundedBox>& boxes) {
  return std::min_element(boxes.begin(), boxes.end(),
                          [](const BoundedBox& a, const BoundedBox& b) { return a.bound_ps < b.bound_ps; });
}

// How many boxes are asked for a bound of the step task by task, and which share of the step it may leave.
constexpr int kMostSimulatedBounds = 24;
constexpr int64_t kNearSimulatedBound = 100;

class MixSearch {
 public:
  MixSearch(const JointQuestion& question, const SolveLimits& limits,
            const std::function<void(const JointAnswer&)>& on_answer)
      : question_(question), limits_(limits), on_answer_(on_answer), training_(question.training) {
    training_.pairs = nullptr;
    for (const TrainingClass& part : training_.classes) {
      all_.push_back(part.devices());
      has_one_class_ = has_one_class_ && part.device_class == training_.classes.front().device_class;
    }
    most_questions_ = kMostMixQuestionsOfOrder * std::ssize(OrdersOf(training_));
    if (has_one_class_ && !question.settings.per_stage) most_questions_ = kMostNodeMixQuestions;
  }

  absl::StatusOr<JointAnswer> Run() {
    Look();
    if (!best_.has_value()) return is_interrupted_ || is_open_ ? PlanOnFirst() : PlanOn(FirstMix());
    absl::StatusOr<JointAnswer> planned = PlanOn(best_counts_);
    if (is_network() && !start_counts_.empty() && start_counts_ != best_counts_) {
      // Places decide, so the start may do better where it is.
      absl::StatusOr<JointAnswer> started = PlanOn(start_counts_);
      const bool is_better = started.ok() && (!planned.ok() || started->plan.step < planned->plan.step);
      if (is_better) planned = std::move(started);
    }
    if (!planned.ok() && is_network()) return planned;
    // Where there was no time for it, what is known is the answer.
    const bool is_planned = planned.ok();
    JointAnswer answer = is_planned ? *std::move(planned) : *best_;
    JointPlan& plan = answer.plan;
    if (!is_planned) {
      plan.step_bound = plan.step;
      plan.simulated_bound = plan.simulated_step;
    } else if (!is_network() && best_ps() < plan.step.count()) {
      // By less than the gap, of a kind that no search starts from.
      TakePlan(*best_, answer);
    }
    plan.step_bound = std::min(plan.step_bound, Picoseconds(bound_ps_));
    const int64_t floor_ps = std::min(floor_ps_, plan.simulated_step.count());
    const int64_t of_chosen_ps = std::max(plan.simulated_bound.count(), floor_ps);
    plan.simulated_bound = Picoseconds(SimulatedBound(of_chosen_ps));
    answer.is_interrupted = answer.is_interrupted || is_interrupted_;
    if (!is_network()) answer.counters["start_fits"] = start_fits_;
    answer.counters["device_mixes_asked"] = asked_;
    return answer;
  }

 private:
  struct Least {
    int64_t bound_ps = kMaxQuantity;
    // What no step takes less than, task by task.
    int64_t floor_ps = kMaxQuantity;
    // Something fits that may be better than what is known.
    bool is_open = false;
  };

  // Puts the best plan in the place of another one, whose proofs and comparisons hold of it too.
  static void TakePlan(const JointAnswer& best, JointAnswer& answer) {
    JointPlan other = std::exchange(answer.plan, best.plan);
    answer.training = best.training;
    answer.plan.step_bound = std::min(other.step_bound, answer.plan.step);
    answer.plan.simulated_bound = std::min(other.simulated_bound, answer.plan.simulated_step);
    answer.plan.uniform_configurations = std::move(other.uniform_configurations);
    answer.plan.worth = std::move(other.worth);
  }

  bool is_network() const { return question_.training.pairs != nullptr; }

  // The box of least bound is divided, and what lies where it is divided is looked at, until nothing better is left.
  void Look() {
    MixBox whole = AllMixes();
    LookAtStart();
    if (has_one_class_) least_of_all_ = LeastOn(RowsOfAll());
    BoundOf(PartWith(whole.low));
    BoundOf(PartWith(whole.high));
    Add(std::move(whole), std::nullopt);
    while (!boxes_.empty()) {
      const auto least = LeastOf(boxes_);
      if (IsHopeless(*least) || asked_ >= most_questions_ || CheckInterruption(limits_).has_value()) break;
      const BoundedBox box = std::move(*least);
      boxes_.erase(least);
      if (box.mixes.is_one()) {
        bound_ps_ = std::min(bound_ps_, std::max(box.bound_ps, BoundOf(MostOf(box.mixes))));
        // Something might fit, and nothing was found.
        is_open_ = is_open_ || !best_.has_value();
        continue;
      }
      auto [fewer, more] = HalvesOf(box.mixes);
      BoundOf(PartWith(fewer.high));
      Add(std::move(fewer), box.bound_ps);
      Add(std::move(more), box.bound_ps);
    }
    is_open_ = is_open_ || !boxes_.empty();
    is_interrupted_ = is_interrupted_ || CheckInterruption(limits_).has_value();
    for (const BoundedBox& box : boxes_) bound_ps_ = std::min(bound_ps_, box.bound_ps);
    bound_ps_ = std::min(std::max(bound_ps_, least_of_all_.bound_ps), best_ps());
  }

  MixBox AllMixes() const {
    MixBox all{DeviceCounts(all_.size() - 1, 0), DeviceCounts(all_.begin(), all_.end() - 1)};
    for (int64_t& most : all.high) most = std::min(most, question_.most_total);
    return all;
  }

  // What no step on any mix takes less than, task by task; at most `needed_ps`. As in Look, boxes are divided until the
  // least bound is near that.
  int64_t SimulatedBound(int64_t needed_ps) const {
    if (has_one_class_) return SimulatedBoundOn(RowsOfAll(), needed_ps);
    std::vector<BoundedBox> boxes{{AllMixes(), floor_ps_, /*is_own=*/false}};
    int asked = 0;
    while (true) {
      const auto least = LeastOf(boxes);
      if (least->bound_ps >= needed_ps - needed_ps / kNearSimulatedBound) return std::min(least->bound_ps, needed_ps);
      const bool is_last = asked == kMostSimulatedBounds || (least->is_own && least->mixes.is_one());
      if (is_last || CheckInterruption(limits_).has_value()) return least->bound_ps;
      if (!least->is_own) {
        ++asked;
        least->bound_ps = std::max(least->bound_ps, SimulatedBoundOn(BoundRowsWith(MostOf(least->mixes)), needed_ps));
        least->is_own = true;
        continue;
      }
      const BoundedBox box = std::move(*least);
      boxes.erase(least);
      auto [fewer, more] = HalvesOf(box.mixes);
      for (MixBox* half : {&fewer, &more}) {
        if (MostOf(*half).back() >= 0) boxes.push_back({std::move(*half), box.bound_ps, /*is_own=*/false});
      }
    }
  }

  int64_t SimulatedBoundOn(const std::vector<TrainingCluster>& rows, int64_t needed_ps) const {
    int64_t bound_ps = needed_ps;
    for (const TrainingCluster& row : rows) {
      bound_ps = std::min(bound_ps, BoundSimulatedStep(question_.RequestOn(row), bound_ps, limits_));
    }
    return bound_ps;
  }

  // A plan to start from, where it fits.
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
    if (TotalOf(counts) > question_.most_total) return;
    // Its stages may leave devices of a node idle.
    const auto widen = [&](std::size_t number, int64_t count) {
      const int64_t room = question_.most_total - TotalOf(counts);
      counts[number] += std::max<int64_t>(0, std::min({count, all_[number] - counts[number], room}));
    };
    for (std::size_t number = 0; number < counts.size(); ++number) {
      const int64_t node = training_.classes[number].devices_per_node;
      if (counts[number] > 0) widen(number, (node - counts[number] % node) % node);
    }
    for (std::size_t number = 0; number < counts.size(); ++number) {
      if (counts[number] > 0) widen(number, question_.most_total);
    }
    start_counts_ = counts;
    for (const TrainingCluster& row : RowsWith(counts)) {
      std::optional<StartPlan> start = StartFrom(*question_.start, question_.RequestOn(row), limits_);
      if (!start.has_value()) continue;
      start_fits_ = std::max<int64_t>(start_fits_, start->is_as_given ? 2 : 1);
      if (start->plan.step.count() < best_ps()) Keep(counts, row, std::move(start->plan));
    }
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

  DeviceCounts FirstMix() const { return CountsByClass(training_, question_.most_total); }

  std::vector<TrainingCluster> RowsWith(const DeviceCounts& counts) const {
    std::vector<TrainingCluster> rows;
    for (const TrainingCluster& part : PartsWith(training_, counts, question_.settings)) AppendRows(RowsOf(part), rows);
    return rows;
  }

  // As if these devices were as close and had as much memory as any.
  std::vector<TrainingCluster> BoundRowsWith(const DeviceCounts& counts) const {
    std::vector<TrainingCluster> rows;
    for (const TrainingCluster& part : BoundPartsWith(training_, counts, question_.settings, /*is_one_mix=*/false)) {
      AppendRows(BestRowsOf(AsCloseAsCanBe(part)), rows);
    }
    return rows;
  }

  // Those of all mixes. REQUIRES: has_one_class_.
  std::vector<TrainingCluster> RowsOfAll() const {
    return BestRowsOf(AsCloseAsCanBe(AsOneNode(training_, question_.most_total)));
  }

  // What no plan on such a part takes less than, wherever its devices are; keeps the best plan.
  int64_t BoundOf(const DeviceCounts& counts) {
    const auto [known, is_new] = bounds_.try_emplace(counts, kMaxQuantity);
    if (!is_new || TotalOf(counts) == 0) return known->second;
    int64_t& bound_ps = known->second;
    for (const TrainingCluster& row : RowsWith(counts)) {
      JointOutcome outcome = Ask(row);
      bound_ps = std::min(bound_ps, outcome.step_bound_ps);
      const bool is_better = outcome.plan.has_value() && outcome.plan->step.count() < best_ps();
      if (is_better) Keep(counts, row, *std::move(outcome.plan));
    }
    const bool has_others = !training_.groups.empty() || question_.settings.per_stage;
    if (has_others || HasUnlikeMemory(training_)) bound_ps = std::min(bound_ps, LeastOnMost(counts).bound_ps);
    return bound_ps;
  }

  void Keep(const DeviceCounts& counts, const TrainingCluster& row, JointPlan plan) {
    best_ = JointAnswer{.plan = std::move(plan), .training = row, .is_interrupted = true, .counters = {}};
    best_counts_ = counts;
    if (is_network()) return;
    SimulateJointPlan(question_.pricer, DeviceRow(row), best_->plan);
    on_answer_(*best_);
  }

  Least LeastOnMost(const DeviceCounts& counts) {
    // Where stages may differ its rows are one node, which says no more than that of all.
    return has_one_class_ && question_.settings.per_stage ? least_of_all_ : LeastOn(BoundRowsWith(counts));
  }

  Least LeastOn(const std::vector<TrainingCluster>& rows) {
    Least least;
    for (const TrainingCluster& row : rows) {
      const JointOutcome outcome = Ask(row);
      const bool is_open = outcome.plan.has_value() || outcome.is_interrupted || outcome.is_open;
      if (is_open || best_.has_value()) least.bound_ps = std::min(least.bound_ps, outcome.step_bound_ps);
      least.floor_ps = std::min(least.floor_ps, outcome.simulated_floor_ps);
      least.is_open = least.is_open || is_open;
    }
    return least;
  }

  // A box in which something may be better, which is part of one with such a bound.
  void Add(MixBox mixes, std::optional<int64_t> bound_of_all) {
    const DeviceCounts most = MostOf(mixes);
    if (most.back() < 0 || TotalOf(most) == 0) return;
    const Least least = LeastOnMost(most);
    if (!bound_of_all.has_value()) floor_ps_ = std::max(least.floor_ps, least_of_all_.floor_ps);
    const int64_t bound_ps = std::max({least.bound_ps, least_of_all_.bound_ps, bound_of_all.value_or(0)});
    if (least.is_open) {
      boxes_.push_back({std::move(mixes), bound_ps});
    } else {
      bound_ps_ = std::min(bound_ps_, bound_ps);
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
    JointRequest request = question_.RequestOn(row);
    if (best_.has_value()) request.known_step_ps = best_ps();
    JointOutcome outcome = SearchJoint(request, limits_, [](const JointPlan&) {});
    is_interrupted_ = is_interrupted_ || outcome.is_interrupted;
    return outcome;
  }

  // In full, from the best plan that is known there.
  absl::StatusOr<JointAnswer> PlanOn(const DeviceCounts& counts) const {
    const TrainingCluster part = is_network() ? question_.training : FirstDevicesByClass(training_, counts);
    JointQuestion asked = {question_.pricer,   question_.cluster,        part,
                           question_.settings, question_.reserved_bytes, question_.relative_gap};
    asked.is_part = true;
    asked.whole = is_network() ? nullptr : &training_;
    asked.part_counts = counts;
    asked.all = question_.all;
    if (is_network()) {
      asked.start = question_.start;
      asked.most_devices = counts;
      return PlanOnNetwork(asked, limits_, on_answer_);
    }
    JointStart known;
    if (best_.has_value()) {
      known.plan = best_->plan;
      const DeviceRow row(best_->training);
      for (const JointStage& stage : known.plan.stages) {
        known.classes.emplace_back(row.At(row.ClassOf(stage.first_slot)).device_class);
      }
      asked.start = &known;
    }
    return PlanJointly(asked, limits_, on_answer_);
  }

  // Nothing was found, but something may be there.
  absl::StatusOr<JointAnswer> PlanOnFirst() const {
    absl::StatusOr<JointAnswer> planned = PlanOn(start_counts_.empty() ? FirstMix() : start_counts_);
    if (planned.ok() || !InfeasibilityOf(planned.status()).has_value()) return planned;
    if (CheckInterruption(limits_).has_value()) return NotWithinLimitsError(limits_);
    return NoPlanFoundError(
        "no plan was found on any of the numbers of devices of each class that were looked at; that there is none is "
        "not proven: name the hosts to use (--hosts)");
  }

  const JointQuestion& question_;
  const SolveLimits& limits_;
  const std::function<void(const JointAnswer&)>& on_answer_;
  // On a network as if all links were the fastest.
  TrainingCluster training_;
  DeviceCounts all_;
  // They differ in the size or the memory of nodes alone.
  bool has_one_class_ = true;
  // What no mix beats, where all have one class of devices.
  Least least_of_all_{.bound_ps = 0, .floor_ps = 0};
  std::vector<BoundedBox> boxes_;
  // Of the parts that have been looked at.
  std::map<DeviceCounts, int64_t> bounds_;
  int64_t asked_ = 0;
  int64_t most_questions_ = 0;
  // The best plan so far and the part that it is on.
  std::optional<JointAnswer> best_;
  DeviceCounts best_counts_;
  // Those of the plan to start from, and how it fits them (JointQuestion::start); empty: there is none here.
  DeviceCounts start_counts_;
  int64_t start_fits_ = 0;
  int64_t bound_ps_ = kMaxQuantity;
  int64_t floor_ps_ = kMaxQuantity;
  bool is_interrupted_ = false;
  // Some part may hold a plan though none was found.
  bool is_open_ = false;
};

}  // namespace

absl::StatusOr<JointAnswer> PlanOnMix(const JointQuestion& question, const SolveLimits& limits,
                                      const std::function<void(const JointAnswer&)>& on_answer) {
  return MixSearch(question, limits, on_answer).Run();
}

}  // namespace planwright
