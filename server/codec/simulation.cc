#include "server/codec/simulation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/base/units.h"
#include "server/codec/field_path.h"
#include "server/codec/names.h"
#include "server/codec/scalars.h"

namespace planwright::server {
namespace {

// In the order of TaskKind.
constexpr std::array<const char*, kNumTaskKinds> kOperations = {
    "forward",         "backward",      "backward_input", "backward_weight", "recompute",       "send",
    "receive",         "send",          "receive",        "allreduce",       "tensor_exchange", "context_exchange",
    "expert_exchange", "data_exchange", "update"};

std::vector<PassTask> DecodePasses(const v1::SimulatePlanRequest::DeviceOrder& wire, const FieldPath& path,
                                   Violations& violations) {
  std::vector<PassTask> passes;
  for (int i = 0; i < wire.tasks_size(); ++i) {
    const std::optional<PassTask> pass = ParsePassTask(wire.tasks(i));
    if (pass.has_value()) {
      passes.push_back(*pass);
    } else {
      violations.Add(path.Element("tasks", i).ToString(),
                     absl::StrCat("must be a stage, an operation (F, B, I, W or R) and a micro-batch, such as 2F0, is "
                                  "\"",
                                  wire.tasks(i), "\""));
    }
  }
  return passes;
}

// Sends of both passes are one operation, as are receives.
void AddOperationTimes(const ResourceReport& report, v1::SimulationSummary::Resource& wire) {
  for (const KindTime& time : report.kinds) {
    const char* operation = kOperations.at(static_cast<std::size_t>(time.kind));
    auto& times = *wire.mutable_operation_times();
    auto found =
        std::find_if(times.begin(), times.end(), [&](const auto& any) { return any.operation() == operation; });
    auto& entry = found == times.end() ? *times.Add() : *found;
    entry.set_operation(operation);
    entry.set_busy_ms(entry.busy_ms() + ToMilliseconds(time.busy));
    entry.set_added_by_contention_ms(entry.added_by_contention_ms() + ToMilliseconds(time.added));
  }
}

void EncodeResource(const PlanSimulation& simulation, std::size_t index, v1::SimulationSummary::Resource& wire) {
  using Wire = v1::SimulationSummary::Resource;
  const TaskResource& resource = simulation.list.resources[index];
  const ResourceReport& report = simulation.report.resources[index];
  const bool is_device = resource.kind == TaskResource::Kind::kDevice;
  wire.set_name(resource.name);
  wire.set_kind(is_device ? Wire::KIND_DEVICE : Wire::KIND_LINK);
  wire.set_tasks(report.tasks);
  wire.set_busy_ms(ToMilliseconds(report.busy));
  wire.set_utilization(Utilization(report, simulation.report.step_time));
  AddOperationTimes(report, wire);
  if (!is_device) return;
  wire.set_initial_memory_bytes(resource.initial_memory_bytes);
  wire.set_peak_memory_bytes(report.peak_memory_bytes);
  wire.set_peak_memory_at_ms(ToMilliseconds(report.peak_memory_at));
  const std::optional<int64_t>& limit_bytes = simulation.memory_limits[index];
  if (limit_bytes.has_value()) wire.set_memory_limit_bytes(*limit_bytes);
}

}  // namespace

SimulationSettings DecodeSimulationSettings(const v1::SimulatePlanRequest& request, const OperatorGraph& graph,
                                            const Cluster& cluster, Violations& violations) {
  SimulationSettings settings;
  settings.schedule = DecodeOptionalEnum(request.schedule(), FieldPath("schedule"), violations);
  settings.micro_batches = PLANWRIGHT_OPTIONAL_FIELD(request, micro_batches);
  settings.recomputation = DecodeOptionalEnum(request.recomputation(), FieldPath("recomputation"), violations);
  if (request.contention() != v1::SimulatePlanRequest::CONTENTION_UNSPECIFIED) {
    settings.contention = DecodeEnum(request.contention(), FieldPath("contention"), violations);
  }
  settings.collectives = DecodeEnum(request.collectives(), FieldPath("collectives"), violations);
  if (!v1::SimulatePlanRequest::View_IsValid(request.view())) {
    violations.Add("view", absl::StrCat("must be a value of planwright.v1.SimulatePlanRequest.View, is ",
                                        static_cast<int>(request.view())));
  }
  RequestNames names(graph, cluster);
  for (int i = 0; i < request.order_size(); ++i) {
    const std::string root = absl::StrCat("order[", i, "]");
    const FieldPath path(root);
    const auto device = names.ResolveDevice(request.order(i).device(), path.Field("device"), violations);
    settings.order.push_back({device.value_or(DeviceId()), DecodePasses(request.order(i), path, violations)});
  }
  return settings;
}

v1::SimulationSummary EncodeSummary(const PlanSimulation& simulation, int64_t samples_per_micro_batch) {
  v1::SimulationSummary wire;
  const SimulationReport& report = simulation.report;
  wire.set_schedule(ToWire(simulation.settings.schedule));
  wire.set_micro_batches(simulation.settings.micro_batches);
  wire.set_recomputation(ToWire(simulation.settings.recomputation));
  wire.set_contention(ToWire(simulation.settings.contention));
  wire.set_collectives(ToWire(simulation.settings.collectives));
  wire.set_layers_per_task(simulation.layers_per_task);
  wire.set_step_time_ms(ToMilliseconds(report.step_time));
  wire.set_period_ms(ToMilliseconds(simulation.period));
  if (simulation.step_without_contention.has_value()) {
    wire.set_step_time_without_contention_ms(ToMilliseconds(*simulation.step_without_contention));
  }
  if (report.step_time > Picoseconds(0)) {
    wire.set_micro_batches_per_second(1000 * simulation.settings.micro_batches / wire.step_time_ms());
  }
  wire.set_samples_per_second(wire.micro_batches_per_second() * static_cast<double>(samples_per_micro_batch));
  wire.set_bubble_fraction(report.bubble_fraction);
  for (std::size_t i = 0; i < report.resources.size(); ++i) {
    EncodeResource(simulation, i, *wire.add_resources());
    wire.set_peak_memory_bytes(std::max(wire.peak_memory_bytes(), report.resources[i].peak_memory_bytes));
  }
  wire.set_tasks(static_cast<int64_t>(simulation.list.tasks.size()));
  wire.mutable_warnings()->Add(simulation.warnings.begin(), simulation.warnings.end());
  return wire;
}

void EncodeTask(const PlanSimulation& simulation, int32_t task, v1::SimulatedTask& wire) {
  const Task& described = simulation.list.tasks[Index(task)];
  wire.set_name(TaskName(described));
  wire.set_operation(kOperations.at(static_cast<std::size_t>(described.kind)));
  wire.set_stage(described.stage);
  wire.set_micro_batch(described.micro_batch);
  wire.set_resource(described.resource);
  wire.set_start_ms(ToMilliseconds(simulation.timeline.starts[Index(task)]));
  wire.set_end_ms(ToMilliseconds(simulation.timeline.ends[Index(task)]));
  wire.set_memory_at_start_bytes(described.memory_at_start_bytes);
  wire.set_memory_at_end_bytes(described.memory_at_end_bytes);
  if (described.link_uses == Task::kNoLinks) return;
  for (const LinkUse& use : simulation.list.link_uses[Index(described.link_uses)]) wire.add_links(use.link);
}

}  // namespace planwright::server
