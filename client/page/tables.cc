#include "client/page/tables.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/report/enum_text.h"
#include "client/report/joint_report.h"
#include "client/report/memory_text.h"
#include "client/report/quantities.h"
#include "client/report/text_report.h"

namespace planwright::client {
namespace {

std::string Milliseconds(double value) { return absl::StrFormat("%.3f", value); }

std::string Percent(double share) { return absl::StrFormat("%.1f %%", share * 100); }

std::string DevicesText(const v1::Stage& stage) {
  if (stage.replicas().empty()) return "";
  const std::string& first = stage.replicas(0).device();
  const std::string& last = stage.replicas(stage.replicas_size() - 1).device();
  return stage.replicas_size() == 1 ? first : absl::StrCat(first, " .. ", last, " (", stage.replicas_size(), ")");
}

std::string ScopeText(v1::Bound::Scope scope) {
  std::string text = EnumText(v1::Bound::Scope_Name(scope), "SCOPE_");
  std::replace(text.begin(), text.end(), '_', ' ');
  return scope == v1::Bound::SCOPE_PROBLEM ? "the problem as posed" : text;
}

void AddJointRows(const v1::Plan& plan, PageTable& table) {
  const v1::JointPlan& joint = plan.joint();
  const std::string chunks =
      joint.chunks_per_stage() > 1 ? absl::StrCat(", ", joint.chunks_per_stage(), " chunks per stage") : "";
  table.rows.push_back({"schedule", absl::StrCat(EnumText(v1::ScheduleKind_Name(joint.schedule()), "SCHEDULE_KIND_"),
                                                 chunks, ", ", ShardingText(joint.optimizer_sharding()))});
  table.rows.push_back(
      {"batch", absl::StrCat(GroupedText(plan.problem().joint().global_batch()),
                             " samples: ", CountedText(joint.micro_batches(), "micro-batch", "micro-batches"), " of ",
                             joint.micro_batch_samples(),
                             joint.degrees() == v1::JOINT_DEGREES_PER_STAGE ? " for all ranks" : " on each rank")});
  // Neither is known for graphs without a transformer.
  if (joint.tokens_per_second() > 0) {
    table.rows.push_back(
        {"speed", absl::StrCat(TokenSpeedText(joint.tokens_per_second()), ", ", Percent(joint.peak_share_in_use()),
                               " of the peak of the devices in use (MFU)")});
  }
  if (TakesTurns(plan)) return;
  table.rows.push_back({"task by task", TaskByTaskText(plan)});
}

void AddMemoryRows(const v1::Plan& plan, PageTable& table) {
  const std::string counted = CountedMemoryText(plan);
  const std::string uncounted = UncountedMemoryText(plan);
  if (!counted.empty() && !plan.has_joint()) table.rows.push_back({"memory", counted});
  if (!uncounted.empty()) table.rows.push_back({"memory not counted", uncounted});
}

PageTable ReliefTable(const v1::Plan& plan) {
  PageTable table{"What more hardware would bring", {"with", "time", "change"}, {}};
  for (const v1::Explanation::Relief& relief : plan.explanation().relief()) {
    const double change = relief.predicted_objective_ms() / plan.objective_ms() - 1;
    table.rows.push_back({relief.amount(), DurationText(relief.predicted_objective_ms()),
                          plan.objective_ms() > 0 ? absl::StrFormat("%+.1f %%", change * 100) : ""});
  }
  return table;
}

PageTable BaselineTable(const v1::Plan& plan) {
  PageTable table{"Simpler ways to run it", {"way", "time", "beside the plan", "remark"}, {}};
  for (const v1::Baseline& baseline : plan.baselines()) {
    const bool has_time = baseline.has_objective_ms();
    table.rows.push_back({baseline.algorithm(), has_time ? DurationText(baseline.objective_ms()) : "-",
                          has_time ? MoreText(baseline.objective_ms(), plan.objective_ms()) : "", baseline.reason()});
  }
  return table;
}

PageTable WorthTable(const v1::Plan& plan) {
  const char* title = IsWorthHeuristic(plan) ? "What the choices are worth, by the best that was found without each"
                                             : "What the choices are worth";
  PageTable table{title, {"without", "step", "beside the plan"}, {}};
  for (const v1::JointPlan::ChoiceWorth& worth : plan.joint().worth()) {
    table.rows.push_back({worth.without(), worth.has_step_ms() ? DurationText(worth.step_ms()) : "-",
                          worth.has_step_ms() ? MoreText(worth.step_ms(), plan.objective_ms()) : "nothing fits"});
  }
  return table;
}

PageTable EqualStagesTable(const v1::Plan& plan) {
  PageTable table{"Equal stages, one choice for all",
                  {"stages", "spread", "samples", "recomputation", "sharding", "step", "beside the plan"},
                  {}};
  for (const v1::JointPlan::JointConfiguration& equal : plan.joint().equal_stages()) {
    table.rows.push_back({absl::StrCat(equal.stages()), DegreesText(equal), absl::StrCat(equal.micro_batch_samples()),
                          RecomputationText(equal.recomputation()), ShortShardingText(equal.optimizer_sharding()),
                          DurationText(equal.step_ms()), MoreText(equal.step_ms(), plan.objective_ms())});
  }
  return table;
}

std::vector<PageTable> WithRows(std::vector<PageTable> tables) {
  std::erase_if(tables, [](const PageTable& table) { return table.rows.empty(); });
  return tables;
}

PageTable JointStagesTable(const v1::Plan& plan) {
  PageTable table{"Stages",
                  {"stage", "devices", "layers", "spread", "recomputed", "forward ms", "backward ms", "transfers ms",
                   "end of step ms", "in flight"},
                  {}};
  for (const v1::Stage& stage : plan.stages()) {
    const v1::JointStage& joint = stage.joint();
    table.rows.push_back({absl::StrCat(stage.index()), DevicesText(stage), LayersText(joint), DegreesText(joint),
                          RecomputedText(joint), Milliseconds(joint.forward_ms()), Milliseconds(joint.backward_ms()),
                          Milliseconds(joint.transfers_ms()), Milliseconds(joint.step_end_ms()),
                          absl::StrCat(stage.in_flight_micro_batches())});
  }
  return table;
}

// How good the time is, or the number of devices where that is the objective.
std::string ProofText(const v1::Plan& plan) {
  if (plan.problem().objective() == v1::OBJECTIVE_MIN_DEVICES && WasSearched(plan)) return FewestText(plan);
  if (IsObjectiveOptimal(plan)) return ", proven optimal";
  if (plan.lower_bound_ms() <= 0) return "";
  return absl::StrFormat(", at most %.3g %% above the optimum",
                         (plan.objective_ms() / plan.lower_bound_ms() - 1) * 100);
}

}  // namespace

int DevicesInUse(const v1::Plan& plan) {
  return static_cast<int>(std::count_if(plan.devices().begin(), plan.devices().end(),
                                        [](const v1::DeviceUsage& usage) { return !usage.stages().empty(); }));
}

std::string HeadlineText(const v1::Plan& plan) {
  return absl::StrCat(DurationText(plan.objective_ms()), " ", ObjectiveNoun(plan), ProofText(plan));
}

PageTable OverviewTable(const v1::Plan& plan, const CpuNames& cpus) {
  PageTable table{"In short", {"", ""}, {}};
  const v1::Estimate& estimate = plan.estimate();
  table.rows.push_back({"pipeline", absl::StrCat(CountedText(plan.stages_size(), "stage", "stages"), " on ",
                                                 GroupedText(DevicesInUse(plan)), " of ",
                                                 CountedText(plan.devices_size(), "device", "devices"))});
  table.rows.push_back(
      {"throughput", absl::StrFormat("%.4g micro-batches/s, %.4g samples/s, %s", estimate.micro_batches_per_second(),
                                     estimate.samples_per_second(), IdleText(plan, cpus))});
  if (plan.has_joint()) AddJointRows(plan, table);
  AddMemoryRows(plan, table);
  table.rows.push_back({"lower bound", absl::StrFormat("%s (gap %.3g %%)", DurationText(plan.lower_bound_ms()),
                                                       plan.relative_gap() * 100)});
  const v1::Provenance& provenance = plan.provenance();
  if (!provenance.algorithm().empty()) {
    table.rows.push_back({"found by", absl::StrCat(provenance.algorithm(), " ", provenance.algorithm_version(), " in ",
                                                   DurationText(provenance.wall_time_ms()),
                                                   ", ended: ", StopReasonText(provenance.stop_reason()))});
  }
  if (plan.has_explanation()) table.rows.push_back({"decided by", plan.explanation().bottleneck()});
  return table;
}

PageTable StagesTable(const v1::Plan& plan) {
  if (plan.has_joint()) return JointStagesTable(plan);
  PageTable table{"Stages",
                  {"stage", "devices", "operators", "compute ms", "in ms", "out ms", "all-reduce ms", "load ms",
                   "memory", "in flight"},
                  {}};
  for (const v1::Stage& stage : plan.stages()) {
    table.rows.push_back({absl::StrCat(stage.index()), DevicesText(stage), absl::StrCat(stage.operators_size()),
                          Milliseconds(stage.compute_ms()), Milliseconds(stage.communication_in_ms()),
                          Milliseconds(stage.communication_out_ms()), Milliseconds(stage.allreduce_ms()),
                          Milliseconds(stage.load_ms()), BytesText(stage.memory_bytes()),
                          absl::StrCat(stage.in_flight_micro_batches())});
  }
  return table;
}

std::vector<PageTable> TrafficTables(const v1::Plan& plan, const Traffic& traffic) {
  PageTable flows{"Who talks to whom, for each micro-batch", {"from", "to", "tensors", "bytes"}, {}};
  const auto end = [&](int stage) {
    return absl::StrCat("stage ", plan.stages(stage).index(), ", ", DevicesText(plan.stages(stage)));
  };
  for (const Flow& flow : traffic.between_stages) {
    flows.rows.push_back({end(flow.from), end(flow.to), absl::StrCat(flow.tensors.size()), BytesText(flow.bytes)});
  }
  PageTable links{"Links", {"between", "and", "busy ms"}, {}};
  for (const v1::LinkUsage& link : plan.links()) {
    links.rows.push_back({link.device_a(), link.device_b(), Milliseconds(link.load_ms())});
  }
  return WithRows({std::move(flows), std::move(links)});
}

std::vector<PageTable> MemoryTables(const v1::Plan& plan) {
  if (!plan.has_joint()) return {};
  PageTable table{"Memory of each device of a stage",
                  {"stage", "parameters", "gradients", "optimizer", "activations", "workspace", "reserved", "together"},
                  {}};
  for (const v1::Stage& stage : plan.stages()) {
    const v1::JointStage::Memory& memory = stage.joint().memory();
    table.rows.push_back({absl::StrCat(stage.index()), BytesText(memory.parameters()), BytesText(memory.gradients()),
                          BytesText(memory.optimizer()), BytesText(memory.activations()), BytesText(memory.workspace()),
                          BytesText(memory.reserved()), BytesText(stage.memory_bytes())});
  }
  return WithRows({std::move(table)});
}

PageTable BoundsTable(const v1::Plan& plan) {
  PageTable table{"Proven bounds", {"no plan below", "proven by", "speaks of"}, {}};
  for (const v1::Bound& bound : plan.bounds()) {
    table.rows.push_back({DurationText(bound.value_ms()), bound.method(), ScopeText(bound.scope())});
  }
  return table;
}

std::vector<PageTable> AlternativeTables(const v1::Plan& plan) {
  return WithRows({ReliefTable(plan), BaselineTable(plan), WorthTable(plan), EqualStagesTable(plan)});
}

PageTable SentTable(const v1::Plan& plan, int stage, const Traffic& traffic, const v1::Graph& graph) {
  PageTable table{"Tensors that it sends", {"tensor", "to stage", "bytes"}, {}};
  for (const Flow& flow : traffic.between_stages) {
    if (flow.from != stage) continue;
    for (const int tensor : flow.tensors) {
      table.rows.push_back({graph.tensors(tensor).name(), absl::StrCat(plan.stages(flow.to).index()),
                            BytesText(graph.tensors(tensor).size_bytes())});
    }
  }
  return table;
}

}  // namespace planwright::client
