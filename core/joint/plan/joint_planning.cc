#include "core/joint/plan/joint_planning.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/units.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/plan/choice_worth.h"
#include "core/joint/plan/choices_together.h"
#include "core/joint/plan/device_parts.h"
#include "core/joint/plan/start_plan.h"
#include "core/joint/plan/what_would_fit.h"
#include "core/model/plan.h"

namespace planwright {
namespace {

bool HaveSameChoices(const JointConfiguration& a, const JointConfiguration& b) {
  const auto choices = [](const JointConfiguration& each) {
    return std::tuple(each.order, each.num_stages, each.chunks, each.sharding, each.recomputation,
                      each.micro_batch_samples, each.micro_batches);
  };
  return choices(a) == choices(b) && a.degrees == b.degrees;
}

std::vector<TrainingCluster> BoundPartsOf(const JointQuestion& question) {
  if (question.whole == nullptr) return {question.training};
  return BoundPartsWith(*question.whole, question.part_counts, question.settings, question.is_one_mix);
}

// Whether plans may lie where none of the parts does.
bool HasMixedParts(const JointQuestion& question) {
  if (question.whole == nullptr) return false;
  return BoundPartsOf(question).size() > PartsWith(*question.whole, question.part_counts, question.settings).size();
}

// Of bounds on devices as if all were in one node, which are loose already.
constexpr double kMixedGap = 0.005;

class JointPlanner {
 public:
  JointPlanner(const JointQuestion& question, const SolveLimits& limits,
               const std::function<void(const JointAnswer&)>& on_answer)
      : question_(question),
        limits_(limits),
        on_answer_(on_answer),
        rows_(PlanRowsOf(question)),
        bound_rows_(BoundRowsOf(question)) {}

  absl::StatusOr<JointAnswer> Run() {
    JointAnswer answer;
    std::optional<JointPlan> best;
    if (question_.start != nullptr) best = BestStart(answer);
    for (const TrainingCluster& row : rows_) {
      JointRequest request = question_.RequestOn(row);
      if (best.has_value()) request.known_step_ps = best->step.count();
      JointOutcome outcome = SearchJoint(request, limits_, [&](const JointPlan& plan) { Report(row, plan); });
      for (const auto& [name, count] : outcome.counters) answer.counters[name] += count;
      NoteBounds(outcome, answer);
      AddEqualStages(std::move(outcome.equal_stages));
      if (!outcome.plan.has_value() || (best.has_value() && best->step <= outcome.plan->step)) continue;
      best = *std::move(outcome.plan);
      answer.training = row;
    }
    if (!best.has_value()) return NoPlan(answer.is_interrupted);
    if (HasOtherBoundRows(question_)) LookAtBoundRows(best->step.count(), answer);
    answer.plan = *std::move(best);
    Complete(answer);
    return answer;
  }

 private:
  // Returns the fastest start among all orders of the classes.
  std::optional<JointPlan> BestStart(JointAnswer& answer) {
    std::optional<JointPlan> best;
    int64_t& fits = answer.counters["start_fits"];
    for (const TrainingCluster& row : rows_) {
      std::optional<StartPlan> start = StartFrom(*question_.start, question_.RequestOn(row), limits_);
      if (!start.has_value()) continue;
      fits = std::max<int64_t>(fits, start->is_as_given ? 2 : 1);
      if (best.has_value() && best->step <= start->plan.step) continue;
      best = std::move(start->plan);
      answer.training = row;
      Report(row, *best);
    }
    return best;
  }

  void NoteBounds(const JointOutcome& outcome, JointAnswer& answer) {
    bound_ = std::min(bound_, outcome.step_bound_ps);
    simulated_floor_ = std::min(simulated_floor_, outcome.simulated_floor_ps);
    answer.is_interrupted = answer.is_interrupted || outcome.is_interrupted;
    is_open_ = is_open_ || outcome.is_open;
  }

  void LookAtBoundRows(int64_t step_ps, JointAnswer& answer) {
    for (const TrainingCluster& row : bound_rows_) {
      JointRequest request = question_.RequestOn(row);
      request.known_step_ps = step_ps;
      // What is that much better there is hardly a plan of these nodes.
      if (HasMixedParts(question_)) request.relative_gap = std::max(request.relative_gap, kMixedGap);
      NoteBounds(SearchJoint(request, limits_, [](const JointPlan&) {}), answer);
    }
  }

  void Report(const TrainingCluster& training, const JointPlan& plan) {
    if (plan.step.count() >= best_reported_) return;
    best_reported_ = plan.step.count();
    JointAnswer answer{.plan = plan, .training = training, .is_interrupted = false, .counters = {}};
    const DeviceRow row(training);
    SimulateJointPlan(question_.pricer, row, answer.plan);
    // Of one row among others it says nothing.
    if (rows_.size() > 1 || HasOtherBoundRows(question_)) answer.plan.step_bound = Picoseconds(0);
    on_answer_(answer);
  }

  void AddEqualStages(std::vector<JointConfiguration> found) {
    const std::size_t most = std::max(found.size(), equal_stages_.size());
    equal_stages_.insert(equal_stages_.end(), found.begin(), found.end());
    std::stable_sort(equal_stages_.begin(), equal_stages_.end(),
                     [](const auto& a, const auto& b) { return a.step < b.step; });
    // Another order of the classes has the same configurations, at its own price.
    std::vector<JointConfiguration> best;
    for (const JointConfiguration& each : equal_stages_) {
      const auto is_same = [&](const JointConfiguration& other) { return HaveSameChoices(each, other); };
      if (best.size() < most && std::none_of(best.begin(), best.end(), is_same)) best.push_back(each);
    }
    equal_stages_ = std::move(best);
  }

  absl::Status NoPlan(bool is_interrupted) const {
    if (is_interrupted) return NotWithinLimitsError(limits_);
    if (HasOtherBoundRows(question_)) {
      for (const TrainingCluster& row : bound_rows_) {
        const JointOutcome outcome = SearchJoint(question_.RequestOn(row), limits_, [](const JointPlan&) {});
        if (outcome.plan.has_value()) {
          return HasUnlikeMemory(question_.training) ? NotFoundInUnlikeMemory() : NotFoundOnSome();
        }
        if (outcome.is_interrupted) return NotWithinLimitsError(limits_);
        if (outcome.is_open) return NotFoundInterleavedError();
      }
    }
    if (is_open_) return NotFoundInterleavedError();
    // Memory is what is short where choices go together on some row.
    const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const TrainingCluster& each) {
      return !WhyNoneGoTogether(question_.RequestOn(each)).has_value();
    });
    return NothingFitsError(question_, row == rows_.end() ? rows_.front() : *row, limits_);
  }

  static absl::Status NotFoundOnSome() {
    return NoPlanFoundError(
        "no plan was found on so many devices; that there is none on others, or on these and others of their nodes, is "
        "not proven: name the hosts to use (--hosts), or allow more devices");
  }

  static absl::Status NotFoundInUnlikeMemory() {
    return NoPlanFoundError(
        "no plan was found whose stages each lie on nodes with as much memory, nor one that fits where all nodes have "
        "the least; that there is none is not proven: reserve as much on each, or leave nodes out (--hosts)");
  }

  void Complete(JointAnswer& answer) {
    JointPlan& plan = answer.plan;
    plan.step_bound = Picoseconds(std::min(bound_, plan.step.count()));
    const DeviceRow row(answer.training);
    SimulateJointPlan(question_.pricer, row, plan);
    int64_t simulated_bound = plan.simulated_step.count();
    for (const TrainingCluster& each : bound_rows_) {
      const JointRequest request = question_.RequestOn(each);
      simulated_bound = std::min(simulated_bound, BoundSimulatedStep(request, plan.simulated_step.count(), limits_));
    }
    const int64_t floor = std::min(simulated_floor_, plan.simulated_step.count());
    plan.simulated_bound = Picoseconds(std::max(simulated_bound, floor));
    plan.uniform_configurations = equal_stages_;
    AddWorth(plan);
  }

  // What the step takes without each of the choices: a plan that does without is the best one of those that do, as far
  // as it is the best of all; others take a search.
  void AddWorth(JointPlan& plan) const {
    const bool is_best = RelativeGap(plan.step, plan.step_bound) <= kWorthGap;
    for (const LeftOutChoice& choice : ChoicesToLeaveOut(question_.settings)) {
      if (is_best && choice.does_without(plan)) {
        plan.worth.push_back({choice.what, plan.step});
        continue;
      }
      std::optional<Picoseconds> step;
      bool is_proven = true;
      for (const TrainingCluster& row : rows_) {
        JointRequest request = question_.RequestOn(row, choice.settings);
        request.relative_gap = std::max(request.relative_gap, kWorthGap);
        if (step.has_value()) request.known_step_ps = step->count();
        const JointOutcome outcome = SearchJoint(request, limits_, [](const JointPlan&) {});
        is_proven = is_proven && !outcome.is_interrupted;
        if (outcome.plan.has_value()) step = std::min(step.value_or(outcome.plan->step), outcome.plan->step);
        if (!step.has_value() && outcome.is_open) is_proven = false;
      }
      if (is_proven) plan.worth.push_back({choice.what, step});
    }
  }

  const JointQuestion& question_;
  const SolveLimits& limits_;
  const std::function<void(const JointAnswer&)>& on_answer_;
  int64_t best_reported_ = kMaxQuantity;
  const std::vector<TrainingCluster> rows_;
  const std::vector<TrainingCluster> bound_rows_;
  int64_t bound_ = kMaxQuantity;
  // As JointOutcome::is_open, of any of the searches.
  bool is_open_ = false;
  // What no step beats, task by task, by the families alone.
  int64_t simulated_floor_ = kMaxQuantity;
  std::vector<JointConfiguration> equal_stages_;
};

}  // namespace

std::vector<TrainingCluster> PlanRowsOf(const JointQuestion& question) {
  if (question.whole == nullptr) return RowsOf(question.training);
  std::vector<TrainingCluster> rows;
  for (const TrainingCluster& part : PartsWith(*question.whole, question.part_counts, question.settings)) {
    AppendRows(RowsOf(part), rows);
  }
  return rows;
}

std::vector<TrainingCluster> BoundRowsOf(const JointQuestion& question) {
  std::vector<TrainingCluster> rows;
  for (const TrainingCluster& part : BoundPartsOf(question)) {
    AppendRows(BestRowsOf(question.is_part ? AsCloseAsCanBe(part) : part), rows);
  }
  return rows;
}

bool HasOtherBoundRows(const JointQuestion& question) {
  const bool may_be_closer = question.is_part && !question.training.groups.empty();
  return may_be_closer || HasMixedParts(question) || HasUnlikeMemory(question.training);
}

absl::StatusOr<JointAnswer> PlanJointly(const JointQuestion& question, const SolveLimits& limits,
                                        const std::function<void(const JointAnswer&)>& on_answer) {
  return JointPlanner(question, limits, on_answer).Run();
}

std::string JointPlanVersion() { return kJointSearchVersion; }

}  // namespace planwright
