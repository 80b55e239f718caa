#include "server/codec/problem.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/planner/joint/joint_request.h"
#include "server/codec/joint.h"
#include "server/codec/names.h"
#include "server/codec/scalars.h"

namespace planwright::server {
namespace {

using google::protobuf::RepeatedPtrField;

AllReduce DecodeAllReduce(const v1::AllReduce& wire, const FieldPath& path, Violations& violations) {
  AllReduce allreduce;
  allreduce.factor = DecodeEnum(wire.factor(), path.Field("factor"), violations);
  allreduce.amortize_over_micro_batches = wire.amortize_over_micro_batches();
  allreduce.ring = DecodeEnum(wire.ring(), path.Field("ring"), violations);
  allreduce.charge = DecodeEnum(wire.charge(), path.Field("charge"), violations);
  return allreduce;
}

MemoryModel DecodeMemoryModel(const v1::MemoryModel& wire, const FieldPath& path, Violations& violations) {
  MemoryModel model;
  model.kind = DecodeOptionalEnum(wire.kind(), path.Field("kind"), violations);
  model.weight_versions = PLANWRIGHT_OPTIONAL_FIELD(wire, weight_versions);
  model.gradient_copies = PLANWRIGHT_OPTIONAL_FIELD(wire, gradient_copies);
  model.optimizer_bytes_per_parameter_byte = PLANWRIGHT_OPTIONAL_FIELD(wire, optimizer_bytes_per_parameter_byte);
  model.recomputation = DecodeEnum(wire.recomputation(), path.Field("recomputation"), violations);
  model.reserved_bytes = wire.reserved_bytes();
  model.preset = wire.preset();
  return model;
}

DeviceSelection DecodeSelection(const v1::DeviceSelection& wire, RequestNames& names, const FieldPath& path,
                                Violations& violations) {
  DeviceSelection selection;
  selection.hosts.assign(wire.hosts().begin(), wire.hosts().end());
  selection.devices = names.ResolveDevices(wire.devices(), "devices", path, violations);
  selection.match_labels.insert(wire.match_labels().begin(), wire.match_labels().end());
  selection.excluded_devices = names.ResolveDevices(wire.excluded_devices(), "excluded_devices", path, violations);
  selection.max_devices = PLANWRIGHT_OPTIONAL_FIELD(wire, max_devices);
  return selection;
}

std::vector<OperatorDevice> DecodePairs(const RepeatedPtrField<v1::OperatorDevice>& wire, RequestNames& names,
                                        std::string_view field, const FieldPath& path, Violations& violations) {
  std::vector<OperatorDevice> pairs;
  for (int i = 0; i < wire.size(); ++i) {
    const FieldPath pair_path = path.Element(field, i);
    const auto op = names.ResolveOperator(wire.Get(i).operator_(), pair_path.Field("operator"), violations);
    const auto device = names.ResolveDevice(wire.Get(i).device(), pair_path.Field("device"), violations);
    if (op.has_value() && device.has_value()) pairs.push_back({*op, *device});
  }
  return pairs;
}

// One of the cluster's at least, or it is a placement on another cluster.
void CheckStart(const std::vector<Placement::Stage>& stages, const std::vector<AbsentDevice>& absent,
                const FieldPath& path, Violations& violations) {
  const bool is_any_left = std::any_of(stages.begin(), stages.end(), [](const auto& s) { return !s.devices.empty(); });
  if (is_any_left || absent.empty()) return;
  violations.Add(path.ToString(),
                 absl::StrCat("must be on devices of which the cluster has one at least, it has none: \"",
                              absent.front().name, "\""));
}

// Devices that the cluster no longer has are left out and noted in `absent`.
Placement DecodeStart(const v1::Placement& wire, RequestNames& names, const FieldPath& path, Violations& violations,
                      std::vector<AbsentDevice>& absent) {
  Placement placement;
  for (int i = 0; i < wire.stages_size(); ++i) {
    Placement::Stage& stage = placement.stages.emplace_back();
    stage.operators =
        names.ResolveOperators(wire.stages(i).operators(), "operators", path.Element("stages", i), violations);
    for (int j = 0; j < wire.stages(i).devices_size(); ++j) {
      const std::string& name = wire.stages(i).devices(j);
      const std::optional<DeviceId> device = names.FindDevice(name);
      if (device.has_value()) {
        stage.devices.push_back(*device);
      } else {
        absent.push_back({static_cast<std::size_t>(i), static_cast<std::size_t>(j), name});
      }
    }
    for (const std::string& name : wire.stages(i).ring_order()) {
      const std::optional<DeviceId> device = names.FindDevice(name);
      if (device.has_value()) stage.ring.push_back(*device);
    }
  }
  CheckStart(placement.stages, absent, path, violations);
  return placement;
}

void EncodeMemoryModel(const MemoryModel& model, v1::MemoryModel& wire) {
  if (model.kind.has_value()) wire.set_kind(ToWire(*model.kind));
  if (model.weight_versions.has_value()) wire.set_weight_versions(*model.weight_versions);
  if (model.gradient_copies.has_value()) wire.set_gradient_copies(*model.gradient_copies);
  if (model.optimizer_bytes_per_parameter_byte.has_value()) {
    wire.set_optimizer_bytes_per_parameter_byte(*model.optimizer_bytes_per_parameter_byte);
  }
  wire.set_recomputation(ToWire(model.recomputation));
  wire.set_reserved_bytes(model.reserved_bytes);
  wire.set_preset(model.preset);
}

void EncodeSelection(const DeviceSelection& selection, const Cluster& cluster, v1::DeviceSelection& wire) {
  wire.mutable_hosts()->Add(selection.hosts.begin(), selection.hosts.end());
  for (const DeviceId device : selection.devices) wire.add_devices(cluster.devices[device.index()].name);
  wire.mutable_match_labels()->insert(selection.match_labels.begin(), selection.match_labels.end());
  for (const DeviceId device : selection.excluded_devices) {
    wire.add_excluded_devices(cluster.devices[device.index()].name);
  }
  if (selection.max_devices.has_value()) wire.set_max_devices(*selection.max_devices);
}

void EncodePair(const OperatorDevice& pair, const OperatorGraph& graph, const Cluster& cluster,
                v1::OperatorDevice& wire) {
  wire.set_operator_(graph.operators[pair.op.index()].name);
  wire.set_device(cluster.devices[pair.device.index()].name);
}

void EncodeStart(const Placement& start, const std::vector<AbsentDevice>& absent_devices, const OperatorGraph& graph,
                 const Cluster& cluster, v1::Placement& wire) {
  auto absent = absent_devices.begin();
  for (std::size_t i = 0; i < start.stages.size(); ++i) {
    const Placement::Stage& stage = start.stages[i];
    v1::Placement::PlacedStage& encoded = *wire.add_stages();
    for (const OperatorId op : stage.operators) encoded.add_operators(graph.operators[op.index()].name);
    const auto add_absent = [&] {
      for (; absent != absent_devices.end() && absent->stage == i &&
             std::cmp_equal(absent->position, encoded.devices_size());
           ++absent) {
        encoded.add_devices(absent->name);
      }
    };
    for (const DeviceId device : stage.devices) {
      add_absent();
      encoded.add_devices(cluster.devices[device.index()].name);
    }
    add_absent();
    for (const DeviceId device : stage.ring) encoded.add_ring_order(cluster.devices[device.index()].name);
  }
}

void EncodeModes(const PlanningProblem& problem, v1::PlanningProblem& wire) {
  wire.set_objective(ToWire(problem.objective));
  if (problem.workload.has_value()) wire.set_workload(ToWire(*problem.workload));
  wire.set_split(ToWire(problem.split));
  wire.set_require_contiguous_backward(problem.require_contiguous_backward);
  wire.set_replication(ToWire(problem.replication));
  wire.set_overlap(ToWire(problem.overlap));
  wire.set_schedule(ToWire(problem.schedule));
  wire.mutable_allreduce()->set_factor(ToWire(problem.allreduce.factor));
  wire.mutable_allreduce()->set_amortize_over_micro_batches(problem.allreduce.amortize_over_micro_batches);
  wire.mutable_allreduce()->set_ring(ToWire(problem.allreduce.ring));
  wire.mutable_allreduce()->set_charge(ToWire(problem.allreduce.charge));
  EncodeMemoryModel(problem.memory_model, *wire.mutable_memory_model());
  wire.set_granularity(ToWire(problem.granularity));
}

void EncodeNumbers(const PlanningProblem& problem, v1::PlanningProblem& wire) {
  if (problem.target_period.has_value()) wire.set_target_period_ms(ToMilliseconds(*problem.target_period));
  if (problem.max_stages_per_device.has_value()) wire.set_max_stages_per_device(*problem.max_stages_per_device);
  if (problem.max_subgraphs_per_device.has_value()) {
    wire.set_max_subgraphs_per_device(*problem.max_subgraphs_per_device);
  }
  if (problem.micro_batches.has_value()) wire.set_micro_batches(*problem.micro_batches);
  if (problem.num_stages.has_value()) wire.set_num_stages(*problem.num_stages);
  if (problem.num_replicas.has_value()) wire.set_num_replicas(*problem.num_replicas);
  if (problem.replan_tolerance.has_value()) wire.set_replan_tolerance(*problem.replan_tolerance);
}

void DecodeModes(const v1::PlanningProblem& wire, const FieldPath& path, Violations& violations,
                 PlanningProblem& problem) {
  problem.objective = DecodeEnum(wire.objective(), path.Field("objective"), violations);
  problem.workload = DecodeOptionalEnum(wire.workload(), path.Field("workload"), violations);
  problem.split = DecodeEnum(wire.split(), path.Field("split"), violations);
  problem.require_contiguous_backward = wire.require_contiguous_backward();
  problem.replication = DecodeEnum(wire.replication(), path.Field("replication"), violations);
  problem.schedule = DecodeEnum(wire.schedule(), path.Field("schedule"), violations);
  // Beside joint settings the schedule itself is refused, and nothing that it would bring.
  const bool is_periodic = problem.schedule == ScheduleKind::kPeriodic && !wire.has_joint();
  problem.overlap = DecodeOptionalEnum(wire.overlap(), path.Field("overlap"), violations)
                        .value_or(is_periodic ? Overlap::kOverlapped : Overlap::kSerial);
  problem.allreduce = DecodeAllReduce(wire.allreduce(), path.Field("allreduce"), violations);
  problem.memory_model = DecodeMemoryModel(wire.memory_model(), path.Field("memory_model"), violations);
  problem.granularity = DecodeEnum(wire.granularity(), path.Field("granularity"), violations);
}

void DecodeNumbers(const v1::PlanningProblem& wire, const FieldPath& path, Violations& violations,
                   PlanningProblem& problem) {
  if (wire.has_target_period_ms()) {
    problem.target_period = DecodeTime(wire.target_period_ms(), path.Field("target_period_ms"), violations);
  }
  problem.max_stages_per_device = PLANWRIGHT_OPTIONAL_FIELD(wire, max_stages_per_device);
  problem.max_subgraphs_per_device = PLANWRIGHT_OPTIONAL_FIELD(wire, max_subgraphs_per_device);
  problem.micro_batches = PLANWRIGHT_OPTIONAL_FIELD(wire, micro_batches);
  problem.num_stages = PLANWRIGHT_OPTIONAL_FIELD(wire, num_stages);
  problem.num_replicas = PLANWRIGHT_OPTIONAL_FIELD(wire, num_replicas);
  problem.replan_tolerance = PLANWRIGHT_OPTIONAL_FIELD(wire, replan_tolerance);
}

}  // namespace

PlanningProblem DecodeProblem(const v1::PlanningProblem& wire, const OperatorGraph& graph, const Cluster& cluster,
                              const FieldPath& path, Violations& violations) {
  PlanningProblem problem;
  DecodeModes(wire, path, violations, problem);
  DecodeNumbers(wire, path, violations, problem);
  RequestNames names(graph, cluster);
  problem.devices_to_use = DecodeSelection(wire.devices_to_use(), names, path.Field("devices_to_use"), violations);
  problem.pinned = DecodePairs(wire.pinned(), names, "pinned", path, violations);
  problem.forbidden = DecodePairs(wire.forbidden(), names, "forbidden", path, violations);
  if (wire.has_start_from()) {
    const FieldPath start_path = path.Field("start_from");
    Placement& start = problem.start_from.emplace(
        DecodeStart(wire.start_from(), names, start_path, violations, problem.absent_devices));
    if (wire.start_from().has_joint()) {
      start.joint = DecodeStartChoices(wire.start_from().joint(), graph, start_path.Field("joint"), violations);
    }
  }
  if (wire.has_joint()) DecodeJoint(wire.joint(), path.Field("joint"), violations, problem);
  return problem;
}

v1::PlanningProblem EncodeProblem(const PlanningProblem& problem, const OperatorGraph& graph, const Cluster& cluster) {
  v1::PlanningProblem wire;
  EncodeModes(problem, wire);
  EncodeNumbers(problem, wire);
  if (!problem.devices_to_use.empty()) {
    EncodeSelection(problem.devices_to_use, cluster, *wire.mutable_devices_to_use());
  }
  for (const OperatorDevice& pair : problem.pinned) EncodePair(pair, graph, cluster, *wire.add_pinned());
  for (const OperatorDevice& pair : problem.forbidden) EncodePair(pair, graph, cluster, *wire.add_forbidden());
  if (problem.start_from.has_value()) {
    v1::Placement& start = *wire.mutable_start_from();
    EncodeStart(*problem.start_from, problem.absent_devices, graph, cluster, start);
    if (problem.start_from->joint.has_value()) {
      EncodeStartChoices(*problem.start_from->joint, graph, *start.mutable_joint());
    }
  }
  if (problem.joint.has_value()) EncodeJoint(*problem.joint, *wire.mutable_joint());
  return wire;
}

v1::PlanningProblem EncodeResolved(const PlanningProblem& problem, const OperatorGraph& graph, const Cluster& cluster) {
  return EncodeProblem(AsPosed(WithJointDefaults({graph, cluster, ResolveProblem(graph, problem)})), graph, cluster);
}

std::optional<v1::PlanningProblem> ResolvedForm(const v1::PlanningProblem& wire, const OperatorGraph& graph,
                                                const Cluster& cluster) {
  Violations violations;
  const PlanningProblem problem = DecodeProblem(wire, graph, cluster, FieldPath("problem"), violations);
  if (!violations.empty()) return std::nullopt;
  return EncodeResolved(problem, graph, cluster);
}

DecodedOptions DecodeOptions(const v1::SolverOptions& wire, Violations& violations) {
  const FieldPath path("options");
  DecodedOptions decoded;
  decoded.options.algorithm = DecodeEnum(wire.algorithm(), path.Field("algorithm"), violations);
  decoded.options.work_limit = PLANWRIGHT_OPTIONAL_FIELD(wire, work_limit);
  if (wire.has_relative_gap()) decoded.options.relative_gap = wire.relative_gap();
  if (wire.has_seed()) decoded.options.seed = wire.seed();
  decoded.options.ideal_limit = PLANWRIGHT_OPTIONAL_FIELD(wire, ideal_limit);
  decoded.options.threads = PLANWRIGHT_OPTIONAL_FIELD(wire, threads);
  decoded.options.explain = wire.explain();
  decoded.options.clusters = PLANWRIGHT_OPTIONAL_FIELD(wire, clusters);
  decoded.options.clustering_alpha = PLANWRIGHT_OPTIONAL_FIELD(wire, clustering_alpha);
  decoded.options.refinement_steps = PLANWRIGHT_OPTIONAL_FIELD(wire, refinement_steps);
  if (!wire.has_time_limit()) return decoded;
  decoded.time_limit = DecodeDuration(wire.time_limit(), path.Field("time_limit"), violations);
  return decoded;
}

}  // namespace planwright::server
