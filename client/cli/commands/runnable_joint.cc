#include "client/cli/commands/runnable_joint.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/time_limit.h"
#include "client/library/error_details.h"
#include "client/library/hint.h"
#include "client/report/enum_text.h"
#include "client/report/quantities.h"

namespace planwright::client {
namespace {

constexpr auto kNoRecomputation = v1::LAYER_RECOMPUTATION_NONE;
constexpr auto kSelective = v1::LAYER_RECOMPUTATION_SELECTIVE;
constexpr auto kFull = v1::LAYER_RECOMPUTATION_FULL;
constexpr auto kNothing = v1::OPTIMIZER_SHARDING_NONE;
constexpr auto kOptimizer = v1::OPTIMIZER_SHARDING_OPTIMIZER;
constexpr auto kGradients = v1::OPTIMIZER_SHARDING_GRADIENTS;
constexpr auto kParameters = v1::OPTIMIZER_SHARDING_PARAMETERS;
constexpr auto kOneFOneB = v1::SCHEDULE_KIND_ONE_F_ONE_B;
constexpr auto kInterleaved = v1::SCHEDULE_KIND_INTERLEAVED;
constexpr auto kGpipe = v1::SCHEDULE_KIND_GPIPE;
constexpr auto kZeroBubble = v1::SCHEDULE_KIND_ZERO_BUBBLE_H1;

// A kind of plan that a trainer runs.
struct Form {
  std::vector<v1::OptimizerSharding> sharding;
  // nullopt: any.
  std::optional<int32_t> stages = std::nullopt;
  bool data_ranks_alone = false;
  // Experts that tensor ranks do not divide.
  bool one_tensor_rank = false;
};

struct Trainer {
  std::string_view name;
  std::vector<Form> forms;
  // What may be chosen for all layers alike.
  std::vector<v1::LayerRecomputation> recomputation;
  std::vector<v1::ScheduleKind> schedules;
  bool has_context_and_experts = true;
  // Whether it also takes the same number of first layers of every stage.
  bool says_first_layers = false;
};

// As the exporters of these names say plans (client/exporter/joint_megatron.h, joint_trainers.h).
const std::vector<Trainer>& Trainers() {
  static const std::vector<Trainer> kTrainers = [] {
    const std::vector<Form> torchtitan_toml = {
        {{kOptimizer}}, {{kOptimizer}, 2}, {{kOptimizer}, 4}, {{kParameters}, 1}, {{kNothing}, 1, true}};
    std::vector<Form> torchtitan = torchtitan_toml;
    torchtitan.push_back({.sharding = {kOptimizer}, .one_tensor_rank = true});
    torchtitan.push_back({.sharding = {kParameters}, .stages = 1, .one_tensor_rank = true});
    const std::vector<v1::LayerRecomputation> all_or_none = {kNoRecomputation, kFull};
    return std::vector<Trainer>{{"megatron",
                                 {{{kNothing, kOptimizer}}, {{kGradients}, 1}},
                                 {kNoRecomputation, kSelective, kFull},
                                 {kOneFOneB, kInterleaved},
                                 true,
                                 true},
                                {"torchtitan", torchtitan, all_or_none, {kOneFOneB, kInterleaved, kGpipe}},
                                {"torchtitan_toml", torchtitan_toml, all_or_none, {kOneFOneB, kInterleaved, kGpipe}},
                                {"deepspeed", {{{kNothing, kOptimizer}}}, all_or_none, {kOneFOneB}, false},
                                {"torch_pipelining",
                                 {{{kNothing, kOptimizer, kGradients, kParameters}}},
                                 {kNoRecomputation, kSelective, kFull},
                                 {kOneFOneB, kInterleaved, kGpipe, kZeroBubble}}};
  }();
  return kTrainers;
}

const Trainer* FindTrainer(std::string_view name) {
  const auto found = std::find_if(Trainers().begin(), Trainers().end(),
                                  [name](const Trainer& trainer) { return trainer.name == name; });
  return found == Trainers().end() ? nullptr : &*found;
}

template <typename Values, typename Value>
bool Holds(const Values& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// `asked`, or what the search takes where nothing is (docs/joint-search.md), as far as it is in `allowed`.
template <typename Asked, typename Value>
std::vector<Value> Both(const Asked& asked, const std::vector<Value>& otherwise, const std::vector<Value>& allowed) {
  std::vector<Value> both;
  for (const Value value : allowed) {
    if (asked.empty() ? Holds(otherwise, value) : Holds(asked, static_cast<int>(value))) both.push_back(value);
  }
  return both;
}

std::vector<v1::OptimizerSharding> ShardingOf(const v1::JointSearch& joint, const Form& form) {
  return Both(joint.optimizer_sharding(), {kOptimizer, kParameters}, form.sharding);
}

std::vector<v1::LayerRecomputation> RecomputationOf(const v1::JointSearch& joint, const Trainer& trainer) {
  return Both(joint.recomputation(), {kNoRecomputation, kSelective, kFull}, trainer.recomputation);
}

// Whether 1 may be chosen.
template <typename Degrees>
bool AllowsOne(const Degrees& degrees) {
  return degrees.empty() || Holds(degrees, 1);
}

bool IsPossible(const v1::PlanningProblem& problem, const Form& form) {
  const v1::JointSearch& joint = problem.joint();
  const bool fits = !form.stages.has_value() || !problem.has_num_stages() || problem.num_stages() == *form.stages;
  const bool wants_one = form.data_ranks_alone || form.one_tensor_rank;
  const bool degrees_fit = (!wants_one || AllowsOne(joint.tensor_degrees())) &&
                           (!form.data_ranks_alone || AllowsOne(joint.context_degrees()));
  return fits && degrees_fit && !ShardingOf(joint, form).empty();
}

template <typename Field, typename Value>
void Replace(Field* field, const std::vector<Value>& values) {
  field->Clear();
  for (const Value value : values) field->Add(value);
}

// What is asked for, or what the search takes.
std::vector<v1::ScheduleKind> AskedSchedules(const v1::PlanningProblem& problem) {
  if (problem.schedule() != v1::SCHEDULE_KIND_UNSPECIFIED) return {problem.schedule()};
  std::vector<v1::ScheduleKind> asked;
  for (const int kind : problem.joint().schedules()) asked.push_back(static_cast<v1::ScheduleKind>(kind));
  return asked.empty() ? std::vector{kOneFOneB, kInterleaved} : asked;
}

// Returns those of them that the trainer runs.
std::vector<v1::ScheduleKind> SchedulesOf(const v1::PlanningProblem& problem, const Trainer& trainer) {
  std::vector<v1::ScheduleKind> kinds = AskedSchedules(problem);
  std::erase_if(kinds, [&](v1::ScheduleKind kind) { return !Holds(trainer.schedules, kind); });
  return kinds;
}

// `request` within one form.
v1::CreatePlanRequest Within(v1::CreatePlanRequest request, const Trainer& trainer, const Form& form) {
  v1::PlanningProblem& problem = *request.mutable_problem();
  v1::JointSearch& joint = *problem.mutable_joint();
  Replace(joint.mutable_optimizer_sharding(), ShardingOf(joint, form));
  if (form.stages.has_value()) problem.set_num_stages(*form.stages);
  if (form.data_ranks_alone || form.one_tensor_rank) {
    Replace(joint.mutable_tensor_degrees(), std::vector<int32_t>{1});
  }
  if (form.data_ranks_alone || !trainer.has_context_and_experts) {
    Replace(joint.mutable_context_degrees(), std::vector<int32_t>{1});
  }
  if (!trainer.has_context_and_experts) Replace(joint.mutable_expert_degrees(), std::vector<int32_t>{1});
  const std::vector<v1::ScheduleKind> schedules = SchedulesOf(problem, trainer);
  if (schedules != AskedSchedules(problem)) Replace(joint.mutable_schedules(), schedules);
  return request;
}

int64_t DevicesOf(const v1::Plan& plan) {
  int64_t devices = 0;
  for (const v1::Stage& stage : plan.stages()) devices += stage.replicas_size();
  return devices;
}

bool IsOutOfTime(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) && ErrorDetailsOf(status).limit == "time_limit";
}

// Of what is left, the plan without the constraint has a half and each search behind it a quarter.
constexpr int64_t kSharesOfFree = 2;
constexpr int64_t kSharesOfForm = 4;
// Less is not worth a limit that differs from call to call, by which cached plans would be missed.
constexpr int64_t kStepsOfLimit = 20;

class RunnableSearch {
 public:
  RunnableSearch(const Trainer& trainer, v1::CreatePlanRequest request, const JointSearchCalls& calls)
      : trainer_(trainer), request_(std::move(request)), calls_(calls), limit_(TimeLimitOf(request_)) {
    request_.clear_plan_id();
  }

  absl::StatusOr<v1::CreatePlanResponse> Run(const std::string& plan_id) {
    v1::CreatePlanRequest free_request = request_;
    const auto free = Plan(free_request, kSharesOfFree);
    const bool counts_devices = request_.problem().objective() == v1::OBJECTIVE_MIN_DEVICES;
    if (!free.ok() && (counts_devices || !IsOutOfTime(free.status()))) return free;
    if (free.ok() && calls_.express(free->plan()).ok()) {
      best_ = *free;
      best_request_ = free_request;
    } else {
      // What is not the answer may be any.
      is_cut_ = false;
      counts_devices ? TryAsFew(free->plan()) : TryAllForms();
    }
    if (!best_.has_value()) return counts_devices ? NotOnSoFew() : NothingFound();
    if (!plan_id.empty()) {
      // Kept answers and equal searches give the same plan again.
      best_request_.set_plan_id(plan_id);
      auto kept = calls_.plan(best_request_);
      if (!kept.ok()) return kept;
      best_ = *std::move(kept);
    }
    v1::Plan& plan = *best_->mutable_plan();
    plan.add_warnings(PriceText(free.ok() ? std::optional(free->plan().objective_ms()) : std::nullopt, plan));
    if (is_cut_) NoteTimeLimit(plan);
    return *std::move(best_);
  }

 private:
  std::string name() const { return std::string(trainer_.name); }

  // One search in its share of the time that is left, which `request` says then.
  absl::StatusOr<v1::CreatePlanResponse> Plan(v1::CreatePlanRequest& request, int64_t shares = kSharesOfForm) {
    if (limit_.has_value() && *limit_ > std::chrono::milliseconds(0)) {
      const std::chrono::milliseconds step = std::max(*limit_ / kStepsOfLimit, std::chrono::milliseconds(1));
      const std::chrono::milliseconds left = *limit_ - calls_.spent() / step * step;
      if (left <= std::chrono::milliseconds(0)) {
        is_cut_ = true;
        return absl::DeadlineExceededError("there was no time to look for a plan");
      }
      SetTimeLimit(std::max(left / shares, std::chrono::milliseconds(1)), request);
    }
    ++searches_;
    auto response = calls_.plan(request);
    is_cut_ = is_cut_ || (response.ok() ? response->plan().provenance().stop_reason() == v1::STOP_REASON_TIME_LIMIT
                                        : IsOutOfTime(response.status()));
    return response;
  }

  // False: context degrees are asked for, or have been left out.
  static bool KeepSamplesWhole(v1::CreatePlanRequest& request) {
    v1::JointSearch& joint = *request.mutable_problem()->mutable_joint();
    if (!joint.context_degrees().empty()) return false;
    joint.add_context_degrees(1);
    return true;
  }

  // On no more devices than `fewest` needs.
  void TryAsFew(const v1::Plan& fewest) {
    v1::CreatePlanRequest request = request_;
    if (!KeepSamplesWhole(request)) return;
    const auto whole = Plan(request);
    if (whole.ok() && DevicesOf(whole->plan()) <= DevicesOf(fewest)) Take(*whole, request);
  }

  void TryAllForms() {
    TryForms(/*keeps_samples_whole=*/false);
    // The best plan of a form may divide samples as the trainer does not, and keep one that does not from being found.
    TryForms(/*keeps_samples_whole=*/true);
  }

  // All forms, or those that otherwise may divide samples.
  void TryForms(bool keeps_samples_whole) {
    for (const Form& form : trainer_.forms) {
      if (!IsPossible(request_.problem(), form)) continue;
      v1::CreatePlanRequest request = Within(request_, trainer_, form);
      if (keeps_samples_whole && !KeepSamplesWhole(request)) continue;
      Try(std::move(request));
    }
  }

  // Recomputation by layer first: where the trainer can say what comes out, or nothing better can, that is all.
  void Try(v1::CreatePlanRequest request) {
    const auto whole = Plan(request);
    if (!whole.ok()) return NoteFailure(whole.status());
    if (Take(*whole, request) || IsWorse(whole->plan().lower_bound_ms())) return;
    if (SaysFirstLayers()) TryFirstLayers(request);
    for (const v1::LayerRecomputation kind : RecomputationOf(request_.problem().joint(), trainer_)) {
      Replace(request.mutable_problem()->mutable_joint()->mutable_recomputation(), std::vector{kind});
      const auto uniform = Plan(request);
      if (uniform.ok()) Take(*uniform, request);
    }
  }

  // Of the forms that provably do not fit, the one that the fewest devices would do for says what would.
  void NoteFailure(const absl::Status& status) {
    const ErrorDetails details = ErrorDetailsOf(status);
    if (!details.infeasible.has_value()) {
      if (failed_.ok()) failed_ = status;
      return;
    }
    const int64_t devices = details.infeasible->minimum_devices();
    const bool is_less = devices > 0 && (fewest_devices_ == 0 || devices < fewest_devices_);
    if (!infeasible_.ok() && !is_less) return;
    infeasible_ = status;
    fewest_devices_ = devices;
  }

  // Whether some of the layers may be computed again, in the pipelines of which trainers can say that.
  bool SaysFirstLayers() const {
    const v1::PlanningProblem& problem = request_.problem();
    const auto& recomputation = problem.joint().recomputation();
    const auto allows = [&](v1::LayerRecomputation kind) {
      return recomputation.empty() || Holds(recomputation, static_cast<int>(kind));
    };
    return trainer_.says_first_layers && allows(kNoRecomputation) && allows(kFull) &&
           Holds(SchedulesOf(problem, trainer_), kOneFOneB);
  }

  void TryFirstLayers(v1::CreatePlanRequest request) {
    v1::JointSearch& joint = *request.mutable_problem()->mutable_joint();
    joint.set_first_layers_alike(true);
    Replace(joint.mutable_recomputation(), std::vector{kNoRecomputation, kFull});
    Replace(joint.mutable_schedules(), std::vector{kOneFOneB});
    const auto first = Plan(request);
    if (first.ok()) Take(*first, request);
  }

  // Whether the trainer can express it.
  bool Take(const v1::CreatePlanResponse& response, const v1::CreatePlanRequest& request) {
    const absl::Status expressed = calls_.express(response.plan());
    if (!expressed.ok()) {
      refused_ = expressed;
      return false;
    }
    if (!IsWorse(response.plan().objective_ms())) {
      best_ = response;
      best_request_ = request;
    }
    return true;
  }

  bool IsWorse(double step_ms) const { return best_.has_value() && step_ms >= best_->plan().objective_ms(); }

  absl::Status NotOnSoFew() const {
    return UsageError(absl::StrCat("the plan on the fewest devices is none that ", name(), " runs"),
                      "Name the devices with --max_devices in place of --objective=min_devices.");
  }

  absl::Status NothingFound() const {
    if (is_cut_) {
      return WithHint(absl::DeadlineExceededError(absl::StrCat("no plan that ", name(), " runs was found in time")),
                      "Leave out --runnable_on, or allow more time with --time_limit.");
    }
    if (!refused_.ok()) {
      return UsageError(absl::StrCat("no plan was found that ", name(), " runs: ", std::string(refused_.message())),
                        "Leave out --runnable_on, or give it more devices or choices.");
    }
    if (!failed_.ok()) return failed_;
    const std::string more = fewest_devices_ == 0 ? "allow more choices, or give it more of what is missing."
                                                  : absl::StrCat("or give it ", fewest_devices_, " devices or more.");
    return WithHint(infeasible_,
                    absl::StrCat("Plans that ", name(), " runs do not fit: leave out --runnable_on, ", more));
  }

  // `free_ms`: of the best plan without the constraint; nullopt: none was found in time.
  std::string PriceText(std::optional<double> free_ms, const v1::Plan& plan) const {
    const std::string one_of =
        searches_ > 1 ? absl::StrCat("; ", searches_, " searches were made, and the time above is that of one") : "";
    return absl::StrCat("--runnable_on=", name(), CostText(free_ms, plan.objective_ms()), one_of);
  }

  static std::string CostText(std::optional<double> free_ms, double step_ms) {
    if (!free_ms.has_value()) return " costs what is not known: without it no plan was found in time";
    if (step_ms < *free_ms) return " costs nothing: without it no plan was found that is as fast";
    if (step_ms == *free_ms) return " costs nothing: without it a step takes as long";
    return absl::StrCat(" costs ", TwoDigitPercent((step_ms / *free_ms - 1) * 100), ": without it a step takes ",
                        DurationText(*free_ms));
  }

  void NoteTimeLimit(v1::Plan& plan) const {
    plan.mutable_provenance()->set_stop_reason(v1::STOP_REASON_TIME_LIMIT);
    plan.add_warnings(absl::StrCat("the time limit ended the search for plans that ", name(),
                                   " runs; more time (--time_limit) may find a better one"));
  }

  const Trainer& trainer_;
  v1::CreatePlanRequest request_;
  const JointSearchCalls& calls_;
  std::optional<v1::CreatePlanResponse> best_;
  v1::CreatePlanRequest best_request_;
  // Of all searches together; nullopt: none.
  const std::optional<std::chrono::milliseconds> limit_;
  // The last plan that cannot be expressed.
  absl::Status refused_;
  // The first search that failed without a proof.
  absl::Status failed_;
  absl::Status infeasible_;
  int64_t fewest_devices_ = 0;
  int32_t searches_ = 0;
  // Time ended a search, or kept one from being made.
  bool is_cut_ = false;
};

}  // namespace

absl::Status Contradiction(std::string_view target, std::string_view flag, std::string_view why) {
  return UsageError(absl::StrCat("--runnable_on=", std::string(target), " and ", std::string(flag),
                                 " contradict: ", std::string(why)),
                    "Leave one of them out.");
}

absl::Status CheckJointTarget(std::string_view target, const v1::PlanningProblem& problem) {
  const v1::JointSearch& joint = problem.joint();
  const Trainer* trainer = FindTrainer(target);
  if (trainer == nullptr) return Contradiction(target, "--global_batch", "it serves");
  if (joint.degrees() == v1::JOINT_DEGREES_PER_STAGE) {
    return Contradiction(target, "--degrees=per_stage", "its stages are spread alike");
  }
  if (!trainer->has_context_and_experts && !AllowsOne(joint.context_degrees())) {
    return Contradiction(target, "--context_degrees", "its pipelines have no context degree");
  }
  if (!trainer->has_context_and_experts && !AllowsOne(joint.expert_degrees())) {
    return Contradiction(target, "--expert_degrees", "its pipelines have no expert degree");
  }
  if (SchedulesOf(problem, *trainer).empty()) {
    const std::string runs = absl::StrJoin(trainer->schedules, ", ", [](std::string* text, v1::ScheduleKind kind) {
      text->append(EnumText(v1::ScheduleKind_Name(kind), "SCHEDULE_KIND_"));
    });
    return Contradiction(target, "--schedule", absl::StrCat("it runs ", runs));
  }
  if (RecomputationOf(joint, *trainer).empty()) {
    return Contradiction(target, "--layer_recomputation", "it recomputes all of a layer or nothing");
  }
  const bool is_possible = std::any_of(trainer->forms.begin(), trainer->forms.end(),
                                       [&](const Form& form) { return IsPossible(problem, form); });
  if (is_possible) return absl::OkStatus();
  return Contradiction(target, "--optimizer_sharding", "it does not shard that in such pipelines (docs/exporting.md)");
}

absl::StatusOr<v1::CreatePlanResponse> PlanJointlyFor(std::string_view target, const v1::CreatePlanRequest& request,
                                                      const JointSearchCalls& calls) {
  const absl::Status checked = CheckJointTarget(target, request.problem());
  if (!checked.ok()) return checked;
  return RunnableSearch(*FindTrainer(target), request, calls).Run(request.plan_id());
}

}  // namespace planwright::client
