#include "server/codec/plan.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "server/codec/joint.h"
#include "server/codec/names.h"
#include "server/codec/problem.h"
#include "server/codec/scalars.h"

namespace planwright::server {
namespace {

// Passes of tasks.
constexpr char kForward[] = "forward";
constexpr char kBackward[] = "backward";

// Encodes the parts of one plan.
class PlanEncoder {
 public:
  PlanEncoder(const OperatorGraph& graph, const Cluster& cluster) : graph_(graph), cluster_(cluster) {}

  void Encode(const Stage& stage, v1::Stage& wire) const {
    for (const OperatorId op : stage.operators) wire.add_operators(graph_.operators[op.index()].name);
    for (const Replica& replica : stage.replicas) Encode(replica, *wire.add_replicas());
    for (const DeviceId device : stage.ring_order) wire.add_ring_order(NameOf(device));
    wire.set_compute_ms(ToMilliseconds(stage.compute));
    wire.set_communication_in_ms(ToMilliseconds(stage.communication_in));
    wire.set_communication_out_ms(ToMilliseconds(stage.communication_out));
    wire.set_allreduce_ms(ToMilliseconds(stage.allreduce));
    wire.set_load_ms(ToMilliseconds(stage.load));
    wire.set_memory_bytes(stage.memory_bytes);
    wire.set_in_flight_micro_batches(stage.in_flight_micro_batches);
    wire.set_backward_contiguous(stage.backward_contiguous);
    wire.set_transfer_slots(stage.transfer_slots);
  }

  void Encode(const DeviceUsage& usage, v1::DeviceUsage& wire) const {
    wire.set_device(NameOf(usage.device));
    for (const StageId stage : usage.stages) wire.add_stages(static_cast<int32_t>(stage.index()));
    wire.set_load_ms(ToMilliseconds(usage.load));
    wire.set_memory_bytes(usage.memory_bytes);
    if (usage.memory_limit_bytes.has_value()) wire.set_memory_limit_bytes(*usage.memory_limit_bytes);
  }

  void Encode(const LinkUsage& link, v1::LinkUsage& wire) const {
    wire.set_device_a(NameOf(link.device_a));
    wire.set_device_b(NameOf(link.device_b));
    wire.set_load_ms(ToMilliseconds(link.load));
  }

 private:
  const std::string& NameOf(DeviceId device) const { return cluster_.devices[device.index()].name; }

  void Encode(const Replica& replica, v1::Replica& wire) const {
    wire.set_device(NameOf(replica.device));
    wire.set_copy(replica.copy);
    wire.set_load_ms(ToMilliseconds(replica.load));
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
};

void EncodeTask(const ScheduledTask& task, v1::Schedule::Task& wire) {
  wire.set_operation(task.operation);
  wire.set_stage(static_cast<int32_t>(task.stage.index()));
  wire.set_pass(task.pass == Pass::kForward ? kForward : kBackward);
  wire.set_resource(task.resource);
  wire.set_start_ms(ToMilliseconds(task.start));
  wire.set_index_shift(task.index_shift);
}

void EncodeSchedule(const Plan& plan, v1::Schedule& wire) {
  wire.set_kind(ToWire(plan.problem.schedule));
  if (plan.problem.micro_batches.has_value()) wire.set_micro_batches(*plan.problem.micro_batches);
  wire.set_period_ms(ToMilliseconds(plan.objective));
  for (const ScheduledTask& task : plan.tasks) EncodeTask(task, *wire.add_tasks());
}

void EncodeEstimate(const Estimate& estimate, v1::Estimate& wire) {
  wire.set_step_time_ms(ToMilliseconds(estimate.step_time));
  wire.set_micro_batches_per_second(estimate.micro_batches_per_second);
  wire.set_samples_per_second(estimate.samples_per_second);
  wire.set_bubble_fraction(estimate.bubble_fraction);
  wire.set_peak_memory_bytes(estimate.peak_memory_bytes);
  wire.set_estimated_operators(estimate.estimated_operators);
  for (const UncountedMemory& uncounted : estimate.uncounted_memory) {
    v1::UncountedMemory& encoded = *wire.add_uncounted_memory();
    encoded.set_what(uncounted.what);
    encoded.set_peak_memory_bytes(uncounted.peak_memory_bytes);
  }
}

void EncodeProvenance(const Provenance& provenance, v1::Provenance& wire) {
  wire.set_algorithm(provenance.algorithm);
  wire.set_algorithm_version(provenance.algorithm_version);
  wire.set_seed(provenance.seed);
  wire.set_wall_time_ms(provenance.wall_time_ms);
  wire.set_cpu_time_ms(provenance.cpu_time_ms);
  wire.set_proven_optimal(provenance.proven_optimal);
  wire.set_stop_reason(ToWire(provenance.stop_reason));
  wire.mutable_counters()->insert(provenance.counters.begin(), provenance.counters.end());
  for (const Incumbent& incumbent : provenance.incumbents) EncodeIncumbent(incumbent, *wire.add_incumbents());
  wire.set_fallback(provenance.fallback);
}

void EncodeBaseline(const Baseline& baseline, v1::Baseline& wire) {
  wire.set_algorithm(baseline.algorithm);
  if (baseline.objective.has_value()) wire.set_objective_ms(ToMilliseconds(*baseline.objective));
  wire.set_reason(baseline.reason);
  wire.set_admissible(baseline.admissible);
}

// How `plan` differs.
void EncodeReplanning(const Replanning& replanning, const Plan& plan, v1::Replanning& wire) {
  wire.set_moved_stages(replanning.moved_stages);
  wire.set_kept_stages(replanning.kept_stages);
  wire.set_best_objective_ms(ToMilliseconds(replanning.best_objective));
  wire.set_time_lost_ms(ToMilliseconds(plan.objective - replanning.best_objective));
}

void EncodeExplanation(const Explanation& explanation, v1::Explanation& wire) {
  wire.set_bottleneck(explanation.bottleneck);
  wire.set_slack_ms(ToMilliseconds(explanation.slack));
  for (const Explanation::Relief& relief : explanation.relief) {
    v1::Explanation::Relief& encoded = *wire.add_relief();
    encoded.set_resource(relief.resource);
    encoded.set_amount(relief.amount);
    encoded.set_predicted_objective_ms(ToMilliseconds(relief.predicted_objective));
  }
}

}  // namespace

void EncodeBound(const Bound& bound, v1::Bound& wire) {
  wire.set_value_ms(ToMilliseconds(bound.value));
  wire.set_method(bound.method);
  wire.set_scope(ToWire(bound.scope));
}

void EncodeIncumbent(const Incumbent& incumbent, v1::Provenance::Incumbent& wire) {
  wire.set_time_ms(incumbent.time_ms);
  wire.set_work(incumbent.work);
  wire.set_objective_ms(ToMilliseconds(incumbent.objective));
  wire.set_lower_bound_ms(ToMilliseconds(incumbent.lower_bound));
  wire.set_algorithm(incumbent.algorithm);
}

namespace {

PatternTask DecodeTask(const v1::Schedule::Task& wire, int num_stages, const FieldPath& path, Violations& violations) {
  PatternTask task;
  const std::optional<PatternOperation> operation = PatternOperationOf(wire.operation());
  if (operation.has_value()) {
    task.operation = *operation;
  } else {
    violations.Add(
        path.Field("operation").ToString(),
        absl::StrCat("must be forward, backward, send_forward or send_backward, is \"", wire.operation(), "\""));
  }
  if (wire.stage() >= 0 && wire.stage() < num_stages) {
    task.stage = StageId(static_cast<std::size_t>(wire.stage()));
  } else {
    violations.Add(path.Field("stage").ToString(),
                   absl::StrCat("must be the index of one of ", num_stages, " stages, is ", wire.stage()));
  }
  task.start = DecodeTime(wire.start_ms(), path.Field("start_ms"), violations);
  task.shift = wire.index_shift();
  return task;
}

// What the tasks say, whether it can be run or not.
PeriodicPattern DecodePattern(const v1::Schedule& wire, int num_stages, const FieldPath& path, Violations& violations) {
  PeriodicPattern pattern;
  pattern.period = DecodeTime(wire.period_ms(), path.Field("period_ms"), violations);
  for (int i = 0; i < wire.tasks_size(); ++i) {
    pattern.tasks.push_back(DecodeTask(wire.tasks(i), num_stages, path.Element("tasks", i), violations));
  }
  return pattern;
}

bool StatesPattern(const v1::Plan& wire) {
  const bool is_periodic =
      wire.schedule().kind() == v1::SCHEDULE_KIND_PERIODIC || wire.problem().schedule() == v1::SCHEDULE_KIND_PERIODIC;
  return is_periodic && !wire.schedule().tasks().empty();
}

}  // namespace

v1::Plan EncodePlan(const Plan& plan, const OperatorGraph& graph, const Cluster& cluster) {
  const PlanEncoder encoder(graph, cluster);
  v1::Plan wire;
  wire.set_cost_model_version(plan.cost_model_version);
  *wire.mutable_problem() = EncodeProblem(AsPosed(plan.problem), graph, cluster);
  wire.set_objective_ms(ToMilliseconds(plan.objective));
  wire.set_lower_bound_ms(ToMilliseconds(plan.lower_bound));
  wire.set_relative_gap(RelativeGap(plan.objective, plan.lower_bound));
  for (const Bound& bound : plan.bounds) EncodeBound(bound, *wire.add_bounds());
  for (const Stage& stage : plan.stages) {
    v1::Stage& encoded = *wire.add_stages();
    encoded.set_index(wire.stages_size() - 1);
    encoder.Encode(stage, encoded);
  }
  for (const DeviceUsage& usage : plan.devices) encoder.Encode(usage, *wire.add_devices());
  for (const LinkUsage& link : plan.links) encoder.Encode(link, *wire.add_links());
  EncodeSchedule(plan, *wire.mutable_schedule());
  EncodeEstimate(plan.estimate, *wire.mutable_estimate());
  for (const Baseline& baseline : plan.baselines) EncodeBaseline(baseline, *wire.add_baselines());
  if (!plan.explanation.bottleneck.empty()) EncodeExplanation(plan.explanation, *wire.mutable_explanation());
  EncodeProvenance(plan.provenance, *wire.mutable_provenance());
  wire.mutable_warnings()->Add(plan.warnings.begin(), plan.warnings.end());
  if (plan.replanning.has_value()) EncodeReplanning(*plan.replanning, plan, *wire.mutable_replanning());
  if (plan.joint.has_value()) EncodeJointPlan(*plan.joint, graph, wire);
  return wire;
}

namespace {

// Reads what PlanEncoder and the functions above write.
class PlanDecoder {
 public:
  PlanDecoder(const v1::Plan& wire, const NameIndex<OperatorId>& operators, const NameIndex<DeviceId>& devices,
              Violations& violations)
      : wire_(wire), operators_(operators), devices_(devices), violations_(violations) {}

  // All but the joint part.
  Plan Decode() {
    Plan plan;
    plan.cost_model_version = wire_.cost_model_version();
    plan.objective = Time(wire_.objective_ms());
    plan.lower_bound = Time(wire_.lower_bound_ms());
    for (const v1::Bound& bound : wire_.bounds()) {
      plan.bounds.push_back({Time(bound.value_ms()), bound.method(), DecodeEnum(bound.scope(), path_, violations_)});
    }
    for (const v1::Stage& stage : wire_.stages()) plan.stages.push_back(Decode(stage));
    for (const v1::DeviceUsage& usage : wire_.devices()) plan.devices.push_back(Decode(usage));
    for (const v1::LinkUsage& link : wire_.links()) {
      plan.links.push_back({DeviceOf(link.device_a()), DeviceOf(link.device_b()), Time(link.load_ms())});
    }
    plan.problem.schedule = DecodeEnum(wire_.schedule().kind(), path_, violations_);
    plan.problem.micro_batches = PLANWRIGHT_OPTIONAL_FIELD(wire_.schedule(), micro_batches);
    for (const v1::Schedule::Task& task : wire_.schedule().tasks()) plan.tasks.push_back(Decode(task));
    plan.estimate = Decode(wire_.estimate());
    for (const v1::Baseline& baseline : wire_.baselines()) plan.baselines.push_back(Decode(baseline));
    plan.explanation = Decode(wire_.explanation());
    plan.provenance = Decode(wire_.provenance());
    plan.warnings.assign(wire_.warnings().begin(), wire_.warnings().end());
    if (wire_.has_replanning()) plan.replanning = Decode(wire_.replanning());
    return plan;
  }

 private:
  Picoseconds Time(double milliseconds) { return DecodeTime(milliseconds, path_, violations_); }
  DeviceId DeviceOf(const std::string& name) {
    return devices_.Resolve(name, "a device of the plan", path_, violations_).value_or(DeviceId());
  }
  OperatorId OperatorOf(const std::string& name) {
    return operators_.Resolve(name, "an operator of the graph", path_, violations_).value_or(OperatorId());
  }
  StageId StageOf(int32_t index) {
    if (index >= 0 && index < wire_.stages_size()) return StageId(static_cast<std::size_t>(index));
    violations_.Add(path_.ToString(), absl::StrCat("must speak of its own stages, of which ", index, " is none"));
    return {};
  }

  Stage Decode(const v1::Stage& wire) {
    Stage stage{.operators = {},
                .replicas = {},
                .ring_order = {},
                .compute = Time(wire.compute_ms()),
                .communication_in = Time(wire.communication_in_ms()),
                .communication_out = Time(wire.communication_out_ms()),
                .allreduce = Time(wire.allreduce_ms()),
                .load = Time(wire.load_ms()),
                .memory_bytes = wire.memory_bytes(),
                .in_flight_micro_batches = wire.in_flight_micro_batches(),
                .transfer_slots = wire.transfer_slots(),
                .backward_contiguous = wire.backward_contiguous()};
    for (const std::string& op : wire.operators()) stage.operators.push_back(OperatorOf(op));
    for (const v1::Replica& replica : wire.replicas()) {
      stage.replicas.push_back({DeviceOf(replica.device()), replica.copy(), Time(replica.load_ms())});
    }
    for (const std::string& device : wire.ring_order()) stage.ring_order.push_back(DeviceOf(device));
    return stage;
  }

  DeviceUsage Decode(const v1::DeviceUsage& wire) {
    DeviceUsage usage;
    usage.device = DeviceOf(wire.device());
    for (const int32_t stage : wire.stages()) usage.stages.push_back(StageOf(stage));
    usage.load = Time(wire.load_ms());
    usage.memory_bytes = wire.memory_bytes();
    usage.memory_limit_bytes = PLANWRIGHT_OPTIONAL_FIELD(wire, memory_limit_bytes);
    return usage;
  }

  ScheduledTask Decode(const v1::Schedule::Task& wire) {
    return {.operation = wire.operation(),
            .stage = StageOf(wire.stage()),
            .pass = wire.pass() == kBackward ? Pass::kBackward : Pass::kForward,
            .resource = wire.resource(),
            .start = Time(wire.start_ms()),
            .index_shift = wire.index_shift()};
  }

  Estimate Decode(const v1::Estimate& wire) {
    Estimate estimate{.step_time = Time(wire.step_time_ms()),
                      .micro_batches_per_second = wire.micro_batches_per_second(),
                      .samples_per_second = wire.samples_per_second(),
                      .bubble_fraction = wire.bubble_fraction(),
                      .peak_memory_bytes = wire.peak_memory_bytes(),
                      .estimated_operators = wire.estimated_operators()};
    for (const v1::UncountedMemory& uncounted : wire.uncounted_memory()) {
      estimate.uncounted_memory.push_back({uncounted.what(), uncounted.peak_memory_bytes()});
    }
    return estimate;
  }

  Baseline Decode(const v1::Baseline& wire) {
    Baseline baseline{.algorithm = wire.algorithm(),
                      .objective = std::nullopt,
                      .reason = wire.reason(),
                      .admissible = wire.admissible()};
    if (wire.has_objective_ms()) baseline.objective = Time(wire.objective_ms());
    return baseline;
  }

  Explanation Decode(const v1::Explanation& wire) {
    Explanation explanation{.bottleneck = wire.bottleneck(), .slack = Time(wire.slack_ms()), .relief = {}};
    for (const v1::Explanation::Relief& relief : wire.relief()) {
      explanation.relief.push_back({relief.resource(), relief.amount(), Time(relief.predicted_objective_ms())});
    }
    return explanation;
  }

  Incumbent Decode(const v1::Provenance::Incumbent& wire) {
    return {.time_ms = wire.time_ms(),
            .work = wire.work(),
            .objective = Time(wire.objective_ms()),
            .lower_bound = Time(wire.lower_bound_ms()),
            .algorithm = wire.algorithm()};
  }

  Provenance Decode(const v1::Provenance& wire) {
    Provenance provenance{.algorithm = wire.algorithm(),
                          .algorithm_version = wire.algorithm_version(),
                          .seed = wire.seed(),
                          .wall_time_ms = wire.wall_time_ms(),
                          .cpu_time_ms = wire.cpu_time_ms(),
                          .proven_optimal = wire.proven_optimal(),
                          .stop_reason = DecodeEnum(wire.stop_reason(), path_, violations_),
                          .counters = {wire.counters().begin(), wire.counters().end()},
                          .incumbents = {},
                          .fallback = wire.fallback()};
    for (const auto& incumbent : wire.incumbents()) provenance.incumbents.push_back(Decode(incumbent));
    return provenance;
  }

  Replanning Decode(const v1::Replanning& wire) {
    return {.moved_stages = wire.moved_stages(),
            .kept_stages = wire.kept_stages(),
            .best_objective = Time(wire.best_objective_ms())};
  }

  const v1::Plan& wire_;
  const NameIndex<OperatorId>& operators_;
  const NameIndex<DeviceId>& devices_;
  Violations& violations_;
  const FieldPath path_{"plan"};
};

}  // namespace

Plan DecodePlan(const v1::Plan& wire, const OperatorGraph& graph, const NameIndex<OperatorId>& operators,
                const NameIndex<DeviceId>& devices, Violations& violations) {
  Plan plan = PlanDecoder(wire, operators, devices, violations).Decode();
  if (wire.has_joint()) plan.joint = DecodeJointPlan(wire, graph, violations);
  return plan;
}

namespace {

bool StatesNumbers(const v1::Stage& stage) {
  return stage.load_ms() != 0 || stage.compute_ms() != 0 || stage.memory_bytes() != 0 ||
         stage.in_flight_micro_batches() != 0 ||
         std::any_of(stage.replicas().begin(), stage.replicas().end(),
                     [](const v1::Replica& replica) { return replica.load_ms() != 0; });
}

// Whether anything of it follows the rules of cost.
bool StatesNumbers(const v1::Plan& plan) {
  return plan.objective_ms() != 0 || plan.has_estimate() || plan.schedule().period_ms() != 0 ||
         !plan.devices().empty() || !plan.links().empty() || !plan.bounds().empty() ||
         std::any_of(plan.stages().begin(), plan.stages().end(),
                     [](const v1::Stage& stage) { return StatesNumbers(stage); });
}

}  // namespace

bool HasDirectedLinks(const v1::PlanningProblem& problem) {
  return problem.schedule() == v1::SCHEDULE_KIND_PERIODIC && problem.overlap() == v1::OVERLAP_FULL_DUPLEX;
}

std::optional<std::string> OtherRulesWarning(const v1::Plan& plan) {
  if (plan.cost_model_version() == kCostModelVersion || !StatesNumbers(plan)) return std::nullopt;
  // Plans that state none are of the first.
  const int32_t version = std::max(plan.cost_model_version(), 1);
  return absl::StrCat("the numbers that the plan states follow version ", version,
                      " of the cost model, those of this program version ", kCostModelVersion,
                      ": they are not comparable");
}

Placement DecodePlacement(const v1::Plan& wire, const OperatorGraph& graph, const Cluster& cluster,
                          Violations& violations) {
  const FieldPath path("plan");
  RequestNames names(graph, cluster);
  Placement placement;
  for (int i = 0; i < wire.stages_size(); ++i) {
    const FieldPath stage_path = path.Element("stages", i);
    Placement::Stage& stage = placement.stages.emplace_back();
    stage.operators = names.ResolveOperators(wire.stages(i).operators(), "operators", stage_path, violations);
    for (int j = 0; j < wire.stages(i).replicas_size(); ++j) {
      const FieldPath replica_path = stage_path.Element("replicas", j);
      const auto device =
          names.ResolveDevice(wire.stages(i).replicas(j).device(), replica_path.Field("device"), violations);
      if (device.has_value()) stage.devices.push_back(*device);
    }
    stage.ring = names.ResolveDevices(wire.stages(i).ring_order(), "ring_order", stage_path, violations);
  }
  if (StatesPattern(wire)) {
    placement.pattern = DecodePattern(wire.schedule(), wire.stages_size(), path.Field("schedule"), violations);
  }
  if (wire.has_joint()) placement.joint = DecodeJointChoices(wire, graph, violations);
  return placement;
}

}  // namespace planwright::server
