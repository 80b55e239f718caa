#include <algorithm>

#include "core/model/device_selection.h"
#include "core/model/validation_rules.h"
#include "core/model/validator.h"

namespace planwright {
namespace {

template <typename Number>
void RequireAtLeastIfSet(const std::optional<Number>& value, int64_t least, const char* path, Violations& violations) {
  if (!value.has_value()) return;
  RequireAtLeast(
      *value, least, [path] { return path; }, violations);
}

// MIN_DEVICES has a target, and nothing else does; that of the joint search is its own.
void CheckTarget(const PlanningProblem& problem, Violations& violations) {
  constexpr char kPath[] = "problem.target_period_ms";
  const bool has_target = problem.target_period.has_value();
  if (has_target && *problem.target_period <= Picoseconds(0)) {
    violations.Add(kPath, absl::StrCat("must be > 0, is ", ToMilliseconds(*problem.target_period)));
  }
  if (problem.joint.has_value()) {
    if (has_target) violations.Add(kPath, "must not be set beside problem.joint, which has target_tokens_per_second");
    return;
  }
  if (!has_target && problem.objective == Objective::kMinDevices) {
    violations.Add(kPath, "must be set, because problem.objective is MIN_DEVICES");
  }
  if (has_target && problem.objective != Objective::kMinDevices) {
    violations.Add(kPath, "must not be set unless problem.objective is MIN_DEVICES");
  }
}

void CheckNumbers(const PlanningProblem& problem, Violations& violations) {
  CheckTarget(problem, violations);
  RequireAtLeastIfSet(problem.max_stages_per_device, 1, "problem.max_stages_per_device", violations);
  RequireAtLeastIfSet(problem.max_subgraphs_per_device, 1, "problem.max_subgraphs_per_device", violations);
  RequireAtLeastIfSet(problem.micro_batches, 1, "problem.micro_batches", violations);
  RequireAtLeastIfSet(problem.num_stages, 1, "problem.num_stages", violations);
  RequireAtLeastIfSet(problem.num_replicas, 1, "problem.num_replicas", violations);
  RequireAtLeastIfSet(problem.devices_to_use.max_devices, 1, "problem.devices_to_use.max_devices", violations);
  RequireNonNegative(
      problem.replan_tolerance.value_or(0), [] { return "problem.replan_tolerance"; }, violations);
}

// Every copy of every stage has a device of its own, unless devices hold several stages.
void CheckShape(const Cluster& cluster, const PlanningProblem& problem, Violations& violations) {
  const int64_t stages = problem.num_stages.value_or(1);
  const int64_t replicas = problem.num_replicas.value_or(1);
  if (replicas > 1 && problem.replication != Replication::kUniform) {
    violations.Add("problem.num_replicas",
                   absl::StrCat("must be 1 or unset unless problem.replication is UNIFORM, is ", replicas));
  }
  if (problem.split != Split::kContiguous || problem.objective == Objective::kMinLatency) return;
  const DeviceSelection& selection = problem.devices_to_use;
  auto devices = static_cast<int64_t>(SelectedDevices(cluster, selection).size());
  devices = std::min<int64_t>(devices, selection.max_devices.value_or(devices));
  if (devices == 0 || stages * replicas <= devices) return;
  violations.Add(
      problem.num_stages.has_value() ? "problem.num_stages" : "problem.num_replicas",
      absl::StrCat("must leave a device for each copy of each stage: ", stages,
                   stages == 1 ? " stage of " : " stages of ", replicas, replicas == 1 ? " replica" : " replicas",
                   " need ", stages * replicas, ", there are ", devices));
}

void CheckMemoryNumbers(const MemoryModel& memory, Violations& violations) {
  RequireAtLeastIfSet(memory.weight_versions, 1, "problem.memory_model.weight_versions", violations);
  RequireAtLeastIfSet(memory.gradient_copies, 0, "problem.memory_model.gradient_copies", violations);
  RequireNonNegative(
      memory.optimizer_bytes_per_parameter_byte.value_or(0),
      [] { return "problem.memory_model.optimizer_bytes_per_parameter_byte"; }, violations);
  RequireAtLeast(
      memory.reserved_bytes, 0, [] { return "problem.memory_model.reserved_bytes"; }, violations);
  const std::string& preset = memory.preset;
  if (!preset.empty() && preset != "sgd" && preset != "adam_mixed" && preset != "madpipe") {
    violations.Add("problem.memory_model.preset",
                   absl::StrCat(R"(must be "sgd", "adam_mixed" or "madpipe", is ")", preset, "\""));
  }
}

// The ids that a problem refers to.
class IdValidator {
 public:
  IdValidator(const OperatorGraph& graph, const Cluster& cluster, Violations& violations)
      : num_operators_(graph.operators.size()), num_devices_(cluster.devices.size()), violations_(violations) {}

  // Whether all of them are in range.
  bool Check(const PlanningProblem& problem) {
    const std::size_t violations_before = violations_.count();
    CheckAll(problem);
    return violations_.count() == violations_before;
  }

 private:
  void CheckAll(const PlanningProblem& problem) {
    CheckDevices(problem.devices_to_use.devices, "problem.devices_to_use.devices");
    CheckDevices(problem.devices_to_use.excluded_devices, "problem.devices_to_use.excluded_devices");
    CheckPairs(problem.pinned, "problem.pinned");
    CheckPairs(problem.forbidden, "problem.forbidden");
    if (!problem.start_from.has_value()) return;
    for (std::size_t i = 0; i < problem.start_from->stages.size(); ++i) {
      const Placement::Stage& stage = problem.start_from->stages[i];
      const std::string path = ElementPath("problem.start_from.stages", i);
      for (std::size_t j = 0; j < stage.operators.size(); ++j) {
        CheckOperator(stage.operators[j], [&] { return ElementPath(path + ".operators", j); });
      }
      CheckDevices(stage.devices, path + ".devices");
      CheckDevices(stage.ring, path + ".ring_order");
    }
  }

  template <typename Path>
  void CheckOperator(OperatorId op, const Path& path) {
    if (op.index() < num_operators_) return;
    violations_.Add(path(), absl::StrCat("must be an operator of the graph, is number ", op.index()));
  }

  template <typename Path>
  void CheckDevice(DeviceId device, const Path& path) {
    if (device.index() < num_devices_) return;
    violations_.Add(path(), absl::StrCat("must be a device of the cluster, is number ", device.index()));
  }

  void CheckDevices(const std::vector<DeviceId>& devices, const std::string& list) {
    for (std::size_t i = 0; i < devices.size(); ++i) CheckDevice(devices[i], [&] { return ElementPath(list, i); });
  }

  void CheckPairs(const std::vector<OperatorDevice>& pairs, const std::string& list) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      CheckOperator(pairs[i].op, [&] { return ElementPath(list, i) + ".operator"; });
      CheckDevice(pairs[i].device, [&] { return ElementPath(list, i) + ".device"; });
    }
  }

  std::size_t num_operators_;
  std::size_t num_devices_;
  Violations& violations_;
};

// Devices that the problem names for use must be among those that it selects.
class SelectionValidator {
 public:
  SelectionValidator(const Cluster& cluster, const PlanningProblem& problem, Violations& violations)
      : cluster_(cluster),
        problem_(problem),
        violations_(violations),
        selected_(SelectedDevices(cluster, problem.devices_to_use)) {}

  void Check() {
    CheckSelection(cluster_, problem_.devices_to_use, violations_);
    for (std::size_t i = 0; i < problem_.pinned.size(); ++i) {
      RequireSelected(problem_.pinned[i].device, ElementPath("problem.pinned", i) + ".device");
    }
  }

 private:
  void RequireSelected(DeviceId device, const std::string& path) {
    if (std::binary_search(selected_.begin(), selected_.end(), device)) return;
    violations_.Add(path, absl::StrCat("must be a device that problem.devices_to_use selects, is \"",
                                       cluster_.devices[device.index()].name, "\""));
  }

  const Cluster& cluster_;
  const PlanningProblem& problem_;
  Violations& violations_;
  const std::vector<DeviceId> selected_;
};

// All sets of operators are looked at as bits.
constexpr std::size_t kMostOperatorsInTurns = 4'000;
// The reads that go past each cut are listed.
constexpr std::size_t kMostReadsInTurns = 40'000;
constexpr char kBesideTurns[] = " where problem.replication is PER_STAGE and problem.joint.degrees is not";

}  // namespace

void ValidateOptions(const SolverOptions& options, Violations& violations) {
  RequireAtLeastIfSet(options.work_limit, 1, "options.work_limit", violations);
  RequireAtLeastIfSet(options.ideal_limit, 1, "options.ideal_limit", violations);
  RequireAtLeastIfSet(options.threads, 1, "options.threads", violations);
  RequireAtLeastIfSet(options.clusters, 1, "options.clusters", violations);
  RequireNonNegative(
      options.clustering_alpha.value_or(0), [] { return "options.clustering_alpha"; }, violations);
  RequireAtLeastIfSet(options.refinement_steps, 0, "options.refinement_steps", violations);
  if (!(options.relative_gap >= 0 && options.relative_gap < 1)) {
    violations.Add("options.relative_gap", absl::StrCat("must be in [0, 1), is ", options.relative_gap));
  }
}

void ValidateProblem(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                     const SolverOptions& options, Violations& violations) {
  ValidateOptions(options, violations);
  CheckNumbers(problem, violations);
  CheckMemoryNumbers(problem.memory_model, violations);
  if (IdValidator(graph, cluster, violations).Check(problem)) SelectionValidator(cluster, problem, violations).Check();
  if (problem.joint.has_value()) return CheckJoint(graph, cluster, problem, violations);
  if (problem.start_from.has_value() && problem.start_from->joint.has_value()) {
    violations.Add("problem.start_from.joint", "must be unset without problem.joint");
  }
  CheckShape(cluster, problem, violations);
  const ResolvedProblem resolved = ResolveProblem(graph, problem);
  CheckQuantities({graph, cluster, resolved}, problem, violations);
  CheckConstraints({graph, cluster, resolved}, violations);
}

void CheckRoundRobin(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                     const JointSettings& joint, Violations& violations) {
  const auto refuse = [&](bool refused, const char* path, const char* rule) {
    if (refused) violations.Add(path, absl::StrCat(rule, kBesideTurns));
  };
  const auto* uniform = std::get_if<UniformInterconnect>(&cluster.interconnect);
  refuse(uniform == nullptr || uniform->latency > Picoseconds(0), "cluster.interconnect",
         "must be uniform without latency");
  refuse(!graph.layout_changes.empty(), "graph.layout_changes", "must be empty");
  refuse(problem.granularity == Granularity::kLayer, "problem.granularity", "must be OPERATOR");
  for (std::size_t i = 0; i < std::min(graph.operators.size(), kMostOperatorsInTurns); ++i) {
    const std::string path = ElementPath("graph.operators", i);
    refuse(graph.operators[i].pass == Pass::kBackward, (path + ".pass").c_str(),
           "must be FORWARD, with the time of its backward pass,");
    refuse(!graph.operators[i].colocation_group.empty(), (path + ".colocation_group").c_str(), "must be empty");
  }
  refuse(graph.operators.size() > kMostOperatorsInTurns, "graph.operators", "must have at most 4000 elements");
  std::size_t reads = 0;
  for (const Tensor& tensor : graph.tensors) reads += tensor.consumers.size();
  refuse(reads > kMostReadsInTurns, "graph.tensors", "must have at most 40000 consumers in all");
  refuse(problem.objective == Objective::kMinDevices, "problem.objective", "must be MAX_THROUGHPUT");
  refuse(problem.start_from.has_value(), "problem.start_from", "must be unset");
  refuse(problem.num_replicas.has_value(), "problem.num_replicas", "must be unset");
  const bool has_samples = !joint.micro_batch_samples.empty();
  refuse(has_samples && joint.micro_batch_samples != std::vector{graph.samples_per_micro_batch},
         "problem.joint.micro_batch_samples", "must be samples_per_micro_batch of the graph");
  refuse(!joint.orders.empty() && joint.orders != std::vector{PipelineOrder::kOneFOneB}, "problem.joint.schedules",
         "must be ONE_F_ONE_B");
  refuse(!joint.shardings.empty() && joint.shardings != std::vector{Sharding::kNone},
         "problem.joint.optimizer_sharding", "must be NONE");
  refuse(joint.global_batch % graph.samples_per_micro_batch != 0, "problem.joint.global_batch",
         "must be a multiple of samples_per_micro_batch of the graph");
  const int64_t micro_batches = joint.global_batch / graph.samples_per_micro_batch;
  refuse(joint.micro_batches.value_or(micro_batches) != micro_batches, "problem.micro_batches",
         "must be the global batch over samples_per_micro_batch of the graph");
}

}  // namespace planwright
