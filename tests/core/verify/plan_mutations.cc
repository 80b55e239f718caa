#include "tests/core/verify/plan_mutations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planwright {
namespace {

// Names every field of a plan: a new one does not compile here until somebody has thought of its mutation.
// Not judged, because they cannot be recomputed: warnings, what memory leaves out, names of methods, and how the search
// went; nor the version of the rules, which are the verifier's own. Plans of the joint search have mutations of their
// own (tests/core/planner/joint).
[[maybe_unused]] void NameEveryField(const Plan& plan, const Stage& stage, const DeviceUsage& usage) {
  [[maybe_unused]] const auto& [cost_model_version, problem, objective, lower_bound, bounds, stages, devices, links,
                                tasks, estimate, baselines, explanation, provenance, warnings, replanning, joint] =
      plan;
  [[maybe_unused]] const auto& [operators, replicas, ring_order, compute, communication_in, communication_out,
                                allreduce, stage_load, memory_bytes, in_flight_micro_batches, transfer_slots,
                                backward_contiguous] = stage;
  [[maybe_unused]] const auto& [replica_device, copy, replica_load] = stage.replicas.front();
  [[maybe_unused]] const auto& [device, device_stages, device_load, device_memory_bytes, memory_limit_bytes] = usage;
  [[maybe_unused]] const auto& [device_a, device_b, link_load] = plan.links.front();
  [[maybe_unused]] const auto& [operation, stage_of_task, pass, resource, start, index_shift] = plan.tasks.front();
  [[maybe_unused]] const auto& [value, method, scope, pays_once] = plan.bounds.front();
  [[maybe_unused]] const auto& [step_time, micro_batches_per_second, samples_per_second, bubble_fraction,
                                peak_memory_bytes, estimated_operators, uncounted_memory] = plan.estimate;
  [[maybe_unused]] const auto& [algorithm, algorithm_version, seed, wall_time_ms, cpu_time_ms, proven_optimal,
                                stop_reason, counters, incumbents, fallback] = plan.provenance;
}

class Mutations {
 public:
  explicit Mutations(const Plan& plan) : plan_(plan) {}

  std::vector<PlanMutation> Make() {
    // A pattern at another pace is another pattern: estimates tell.
    Number(IsPattern() ? "" : "plan.objective_ms", [](Plan& plan) { return &plan.objective; });
    Number("plan.lower_bound_ms", [](Plan& plan) { return &plan.lower_bound; });
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) MutateStage(i);
    for (std::size_t i = 0; i < plan_.devices.size(); ++i) MutateDevice(i);
    for (std::size_t i = 0; i < plan_.links.size(); ++i) MutateLink(i);
    for (std::size_t i = 0; i < plan_.tasks.size(); ++i) {
      MutateTask(i);
      if (IsPattern()) {
        MutatePatternTask(i);
      } else {
        MutateTaskOfASchedule(i);
      }
    }
    for (std::size_t i = 0; i < plan_.bounds.size(); ++i) MutateBound(i);
    MutateStageList();
    Add("plan.devices", [](Plan& plan) { plan.devices.pop_back(); });
    Add("plan.devices", [](Plan& plan) { plan.devices.push_back(plan.devices.back()); });
    Add("plan.links", [](Plan& plan) { plan.links.push_back({DeviceId(0), DeviceId(0), Picoseconds(1)}); });
    if (!plan_.links.empty()) Add("plan.links", [](Plan& plan) { plan.links.pop_back(); });
    Add("plan.schedule.tasks", [](Plan& plan) { plan.tasks.emplace_back(); });
    if (!plan_.tasks.empty()) Add("plan.schedule.tasks", [](Plan& plan) { plan.tasks.pop_back(); });
    Add("plan.lower_bound_ms", [](Plan& plan) { plan.bounds.push_back(BoundAbove(plan)); });
    MutateEstimate();
    MutateProvenance();
    return std::move(mutations_);
  }

 private:
  void Add(const std::string& path, std::function<void(Plan&)> apply) { Add(path, "", std::move(apply)); }

  void Add(const std::string& path, const std::string& what, std::function<void(Plan&)> apply) {
    mutations_.push_back({absl::StrCat(path, " #", mutations_.size(), " ", what), std::move(apply), path});
  }

  // `field` returns a pointer to a count or a time.
  template <typename Field>
  void Number(const std::string& path, Field field) {
    Add(path, "+1", [field](Plan& plan) { ++*field(plan); });
    Add(path, "-1", [field](Plan& plan) { --*field(plan); });
  }

  template <typename Field>
  void Rate(const std::string& path, Field field) {
    Add(path, "too high", [field](Plan& plan) { *field(plan) += 1e-6 * std::max(1.0, *field(plan)); });
    Add(path, "nan", [field](Plan& plan) { *field(plan) = std::numeric_limits<double>::quiet_NaN(); });
  }

  static Bound BoundAbove(const Plan& plan) {
    return {plan.objective + Picoseconds(1), "mutation", BoundScope::kProblem};
  }

  void MutateStage(std::size_t i) {
    const std::string path = absl::StrCat("plan.stages[", i, "]");
    Number(path + ".compute_ms", [i](Plan& plan) { return &plan.stages[i].compute; });
    Number(path + ".communication_in_ms", [i](Plan& plan) { return &plan.stages[i].communication_in; });
    Number(path + ".communication_out_ms", [i](Plan& plan) { return &plan.stages[i].communication_out; });
    Number(path + ".allreduce_ms", [i](Plan& plan) { return &plan.stages[i].allreduce; });
    Number(path + ".load_ms", [i](Plan& plan) { return &plan.stages[i].load; });
    Number(path + ".memory_bytes", [i](Plan& plan) { return &plan.stages[i].memory_bytes; });
    Number(path + ".in_flight_micro_batches", [i](Plan& plan) { return &plan.stages[i].in_flight_micro_batches; });
    Number(path + ".transfer_slots", [i](Plan& plan) { return &plan.stages[i].transfer_slots; });
    Add(path + ".backward_contiguous",
        [i](Plan& plan) { plan.stages[i].backward_contiguous = !plan.stages[i].backward_contiguous; });
    Add(path + ".ring_order", [i](Plan& plan) { plan.stages[i].ring_order.emplace_back(0); });
    if (plan_.stages[i].ring_order.size() > 1) {
      Add(path + ".ring_order", [i](Plan& plan) { plan.stages[i].ring_order.pop_back(); });
      Add(path + ".ring_order",
          [i](Plan& plan) { plan.stages[i].ring_order.front() = plan.stages[i].ring_order.back(); });
    }
    MutateReplicas(i, path);
    MutateOperators(i, path);
  }

  void MutateReplicas(std::size_t i, const std::string& stage_path) {
    const std::vector<Replica>& replicas = plan_.stages[i].replicas;
    for (std::size_t j = 0; j < replicas.size(); ++j) {
      const std::string path = absl::StrCat(stage_path, ".replicas[", j, "]");
      Number(path + ".load_ms", [i, j](Plan& plan) { return &plan.stages[i].replicas[j].load; });
      Number(path + ".copy", [i, j](Plan& plan) { return &plan.stages[i].replicas[j].copy; });
      const DeviceId beyond(plan_.devices.size());
      Add(path + ".device", [i, j, beyond](Plan& plan) { plan.stages[i].replicas[j].device = beyond; });
      Add(path + ".device", [i, j](Plan& plan) { plan.stages[i].replicas[j].device = DeviceId(SIZE_MAX); });
      for (std::size_t other = 0; other < plan_.devices.size(); ++other) {
        if (DeviceId(other) == replicas[j].device) continue;
        Add("", absl::StrCat(path, " on device ", other),
            [i, j, other](Plan& plan) { plan.stages[i].replicas[j].device = DeviceId(other); });
      }
    }
    Add(stage_path + ".replicas", [i](Plan& plan) { plan.stages[i].replicas.clear(); });
    Add(absl::StrCat(stage_path, ".replicas[", replicas.size(), "].device"),
        [i](Plan& plan) { plan.stages[i].replicas.push_back(plan.stages[i].replicas[0]); });
  }

  void MutateOperators(std::size_t i, const std::string& stage_path) {
    const std::vector<OperatorId>& operators = plan_.stages[i].operators;
    const std::string behind = absl::StrCat(stage_path, ".operators[", operators.size(), "]");
    Add("plan.stages", "an operator is missing", [i](Plan& plan) { plan.stages[i].operators.pop_back(); });
    Add(behind, [i](Plan& plan) { plan.stages[i].operators.push_back(plan.stages[i].operators[0]); });
    Add(behind, [i](Plan& plan) { plan.stages[i].operators.emplace_back(1'000'000); });
    Add(behind, [i](Plan& plan) { plan.stages[i].operators.emplace_back(SIZE_MAX); });
    if (operators.size() > 1) {
      Add(stage_path + ".operators[0]",
          [i](Plan& plan) { std::swap(plan.stages[i].operators.front(), plan.stages[i].operators.back()); });
    }
    for (std::size_t other = 0; other < plan_.stages.size(); ++other) {
      if (other == i) continue;
      Add("", absl::StrCat(stage_path, " gives an operator to stage ", other),
          [i, other](Plan& plan) { MoveLastOperator(plan.stages[i], plan.stages[other]); });
    }
  }

  static void MoveLastOperator(Stage& from, Stage& to) {
    to.operators.push_back(from.operators.back());
    from.operators.pop_back();
    std::sort(to.operators.begin(), to.operators.end());
  }

  void MutateStageList() {
    Add("plan.stages", "a stage is missing", [](Plan& plan) { plan.stages.pop_back(); });
    Add("plan.stages", "an empty stage", [](Plan& plan) { plan.stages.emplace_back(); });
    for (std::size_t i = 1; i < plan_.stages.size(); ++i) {
      Add("", absl::StrCat("stages swapped at ", i),
          [i](Plan& plan) { std::swap(plan.stages[i - 1], plan.stages[i]); });
    }
  }

  void MutateDevice(std::size_t i) {
    const std::string path = absl::StrCat("plan.devices[", i, "]");
    Add(path + ".device", [i](Plan& plan) { plan.devices[i].device = DeviceId(i + 1); });
    Add(path + ".stages", [i](Plan& plan) { plan.devices[i].stages.emplace_back(0); });
    if (!plan_.devices[i].stages.empty()) {
      Add(path + ".stages", [i](Plan& plan) { plan.devices[i].stages.pop_back(); });
      Add(path + ".stages[0]",
          [i](Plan& plan) { plan.devices[i].stages[0] = StageId(plan.devices[i].stages[0].index() + 1); });
    }
    Number(path + ".load_ms", [i](Plan& plan) { return &plan.devices[i].load; });
    Number(path + ".memory_bytes", [i](Plan& plan) { return &plan.devices[i].memory_bytes; });
    Add(path + ".memory_limit_bytes",
        [i](Plan& plan) { plan.devices[i].memory_limit_bytes = plan.devices[i].memory_limit_bytes.value_or(0) + 1; });
    if (plan_.devices[i].memory_limit_bytes.has_value()) {
      Add(path + ".memory_limit_bytes", [i](Plan& plan) { plan.devices[i].memory_limit_bytes.reset(); });
    }
  }

  void MutateLink(std::size_t i) {
    const std::string path = absl::StrCat("plan.links[", i, "]");
    Add(path + ".device_a", [i](Plan& plan) { std::swap(plan.links[i].device_a, plan.links[i].device_b); });
    Add(path + ".device_b", [i](Plan& plan) { plan.links[i].device_b = plan.links[i].device_a; });
    Number(path + ".load_ms", [i](Plan& plan) { return &plan.links[i].load; });
  }

  bool IsPattern() const { return plan_.problem.schedule == ScheduleKind::kPeriodic; }

  static std::string PathOfTask(std::size_t i) { return absl::StrCat("plan.schedule.tasks[", i, "]"); }

  void MutateTask(std::size_t i) {
    const std::string path = PathOfTask(i);
    Add(path + ".pass", [i](Plan& plan) {
      plan.tasks[i].pass = plan.tasks[i].pass == Pass::kForward ? Pass::kBackward : Pass::kForward;
    });
    Add(path + ".resource", [i](Plan& plan) { plan.tasks[i].resource += "0"; });
  }

  // Another start may make another pattern that is as good.
  void MutatePatternTask(std::size_t i) {
    const std::string path = PathOfTask(i);
    Add("plan.schedule.tasks", [i](Plan& plan) { plan.tasks[i].operation += "s"; });
    Add("", path + ".stage", [i](Plan& plan) { plan.tasks[i].stage = StageId(plan.tasks[i].stage.index() + 1); });
    Add(path + ".start_ms", [i](Plan& plan) { plan.tasks[i].start = plan.objective; });
    Add(path + ".start_ms", [i](Plan& plan) { plan.tasks[i].start = Picoseconds(-1); });
    Add(path + ".index_shift", [i](Plan& plan) { plan.tasks[i].index_shift = -1; });
    Add("plan.schedule.tasks", [i](Plan& plan) { plan.tasks.erase(plan.tasks.begin() + static_cast<int64_t>(i)); });
  }

  void MutateTaskOfASchedule(std::size_t i) {
    const std::string path = PathOfTask(i);
    Add(path + ".operation", [i](Plan& plan) { plan.tasks[i].operation += "s"; });
    Add(path + ".stage", [i](Plan& plan) { plan.tasks[i].stage = StageId(plan.tasks[i].stage.index() + 1); });
    Number(path + ".start_ms", [i](Plan& plan) { return &plan.tasks[i].start; });
    Number(path + ".index_shift", [i](Plan& plan) { return &plan.tasks[i].index_shift; });
  }

  void MutateBound(std::size_t i) {
    const Bound& bound = plan_.bounds[i];
    const auto is_best = [this](const Bound& other) {
      return other.scope == BoundScope::kProblem && other.value == plan_.lower_bound;
    };
    // Bounds of narrower scope and those below the best one decide nothing.
    if (!is_best(bound)) return;
    Add(absl::StrCat("plan.bounds[", i, "].value_ms"),
        [i](Plan& plan) { plan.bounds[i].value = BoundAbove(plan).value; });
    const bool is_unique = std::count_if(plan_.bounds.begin(), plan_.bounds.end(), is_best) == 1;
    if (!is_unique || bound.value == Picoseconds(0)) return;
    Add("plan.lower_bound_ms", "a lower bound", [i](Plan& plan) { plan.bounds[i].value -= Picoseconds(1); });
    Add("plan.lower_bound_ms", "narrower", [i](Plan& plan) { plan.bounds[i].scope = BoundScope::kGivenPartition; });
  }

  void MutateEstimate() {
    const std::string path = "plan.estimate";
    Number(path + ".step_time_ms", [](Plan& plan) { return &plan.estimate.step_time; });
    Rate(path + ".micro_batches_per_second", [](Plan& plan) { return &plan.estimate.micro_batches_per_second; });
    Rate(path + ".samples_per_second", [](Plan& plan) { return &plan.estimate.samples_per_second; });
    Rate(path + ".bubble_fraction", [](Plan& plan) { return &plan.estimate.bubble_fraction; });
    Number(path + ".peak_memory_bytes", [](Plan& plan) { return &plan.estimate.peak_memory_bytes; });
    Number(path + ".estimated_operators", [](Plan& plan) { return &plan.estimate.estimated_operators; });
  }

  void MutateProvenance() {
    Add("plan.provenance.proven_optimal",
        [](Plan& plan) { plan.provenance.proven_optimal = !plan.provenance.proven_optimal; });
    if (!plan_.provenance.proven_optimal) {
      Add("plan.provenance.stop_reason", [](Plan& plan) { plan.provenance.stop_reason = StopReason::kOptimal; });
    }
  }

  const Plan& plan_;
  std::vector<PlanMutation> mutations_;
};

}  // namespace

std::vector<PlanMutation> MutationsOf(const Plan& plan) { return Mutations(plan).Make(); }

}  // namespace planwright
