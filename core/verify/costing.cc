#include "core/verify/costing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/verify/backward_contiguity.h"
#include "core/verify/operator_time.h"
#include "core/verify/text.h"

namespace planwright {
namespace {

constexpr double kPicosecondsPerSecond = 1e12;

bool IsHostStaged(const Interconnect& interconnect) {
  return std::holds_alternative<HostStagedInterconnect>(interconnect);
}

// A given transfer time stands as it is; otherwise latency and bytes over the bandwidth, which the validator saw to.
Picoseconds TransferOf(const Tensor& tensor, const Interconnect& interconnect) {
  if (tensor.transfer.has_value()) return *tensor.transfer;
  const auto over = [&](const auto& link) {
    return link.latency + TransferTime(tensor.size_bytes, link.bandwidth_bytes_per_second.value());
  };
  if (const auto* host = std::get_if<HostStagedInterconnect>(&interconnect)) return over(*host);
  return over(std::get<UniformInterconnect>(interconnect));
}

// One stage that a tensor reaches, with its device first so that sorting brings devices together.
using Receiver = std::pair<DeviceId, std::size_t>;

class Costing {
 public:
  Costing(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
          const Assignment& assignment)
      : graph_(graph),
        cluster_(cluster),
        problem_(problem),
        assignment_(assignment),
        gradients_return_(*problem.workload == Workload::kTraining && !HasBackwardOperators(graph)),
        boundary_bytes_(assignment.stages.size()) {
    plan_.problem = problem;
    plan_.stages.resize(assignment.stages.size());
  }

  Plan Run() {
    for (std::size_t stage = 0; stage < plan_.stages.size(); ++stage) Compute(stage);
    for (const Tensor& tensor : graph_.tensors) Charge(tensor);
    for (std::size_t stage = 0; stage < plan_.stages.size(); ++stage) Finish(stage);
    ReportBackwardContiguity();
    FillDevices();
    FillLinks();
    FillEstimate();
    return std::move(plan_);
  }

 private:
  void Compute(std::size_t index) {
    Stage& stage = plan_.stages[index];
    stage.operators = assignment_.stages[index].operators;
    const DeviceClass& device_class = cluster_.class_of(assignment_.stages[index].device);
    for (const OperatorId op : stage.operators) {
      const JudgedTime time = TimeOn(graph_.operators[op.index()], device_class, *problem_.workload).value();
      stage.compute += time.total;
      if (time.estimated) ++plan_.estimate.estimated_operators;
    }
  }

  std::size_t StageOf(OperatorId op) const { return static_cast<std::size_t>(assignment_.stage_of[op.index()]); }
  DeviceId DeviceOf(std::size_t stage) const { return assignment_.stages[stage].device; }

  // Stages other than the producer's that consume the tensor, each once, by device and then by position.
  std::vector<Receiver> ReceiversOf(const Tensor& tensor) const {
    std::vector<Receiver> receivers;
    for (const OperatorId consumer : tensor.consumers) {
      if (assignment_.stage_of[consumer.index()] == Assignment::kDropped) continue;
      if (StageOf(consumer) == StageOf(tensor.producer)) continue;
      receivers.emplace_back(DeviceOf(StageOf(consumer)), StageOf(consumer));
    }
    std::sort(receivers.begin(), receivers.end());
    receivers.erase(std::unique(receivers.begin(), receivers.end()), receivers.end());
    return receivers;
  }

  void Charge(const Tensor& tensor) {
    if (assignment_.stage_of[tensor.producer.index()] == Assignment::kDropped) return;
    const std::size_t sender = StageOf(tensor.producer);
    std::vector<Receiver> receivers = ReceiversOf(tensor);
    if (receivers.empty()) return;
    AddBoundary(sender, tensor.size_bytes);
    for (const Receiver& receiver : receivers) AddBoundary(receiver.second, tensor.size_bytes);

    // Of the stages of one device the first one receives; within the sender's device nothing is transferred.
    const auto same_device = [](const Receiver& a, const Receiver& b) { return a.first == b.first; };
    receivers.erase(std::unique(receivers.begin(), receivers.end(), same_device), receivers.end());
    const auto is_local = [&](const Receiver& receiver) { return receiver.first == DeviceOf(sender); };
    receivers.erase(std::remove_if(receivers.begin(), receivers.end(), is_local), receivers.end());
    if (receivers.empty()) return;
    const Picoseconds transfer = TransferOf(tensor, cluster_.interconnect);
    if (IsHostStaged(cluster_.interconnect)) {
      ChargeThroughHost(sender, receivers, transfer);
    } else {
      ChargeEachPair(sender, receivers, transfer);
    }
  }

  void AddBoundary(std::size_t stage, int64_t size_bytes) {
    boundary_bytes_[stage] = SaturatingAdd(boundary_bytes_[stage], size_bytes);
  }

  // Every accelerator that the tensor is partly on pays once.
  void ChargeThroughHost(std::size_t sender, const std::vector<Receiver>& receivers, Picoseconds transfer) {
    const auto pays = [&](DeviceId device) { return cluster_.class_of(device).kind == DeviceKind::kAccelerator; };
    if (pays(DeviceOf(sender))) Send(sender, transfer);
    for (const auto& [device, stage] : receivers) {
      if (pays(device)) Receive(stage, transfer);
    }
  }

  // The sender pays once for each receiving device, and so does each of those.
  void ChargeEachPair(std::size_t sender, const std::vector<Receiver>& receivers, Picoseconds transfer) {
    const DeviceId from = DeviceOf(sender);
    for (const auto& [device, stage] : receivers) {
      Send(sender, transfer);
      Receive(stage, transfer);
      link_loads_[std::minmax(from, device)] += (gradients_return_ ? 2 : 1) * transfer;
    }
  }

  // A tensor leaves the stage; its gradient comes back.
  void Send(std::size_t stage, Picoseconds transfer) {
    plan_.stages[stage].communication_out += transfer;
    if (gradients_return_) plan_.stages[stage].communication_in += transfer;
  }

  // A tensor enters the stage; its gradient leaves.
  void Receive(std::size_t stage, Picoseconds transfer) {
    plan_.stages[stage].communication_in += transfer;
    if (gradients_return_) plan_.stages[stage].communication_out += transfer;
  }

  void Finish(std::size_t index) {
    Stage& stage = plan_.stages[index];
    stage.load = stage.communication_in + stage.compute + stage.communication_out;
    stage.replicas = {{DeviceOf(index), 0, stage.load}};
    stage.in_flight_micro_batches = InFlight(index);
    stage.memory_bytes = MemoryOf(index);
  }

  // With many micro-batches, a stage of 1F1B holds one for itself and one for each stage behind it.
  int32_t InFlight(std::size_t index) const {
    if (problem_.schedule == ScheduleKind::kSteadyState) return 1;
    return static_cast<int32_t>(plan_.stages.size() - index);
  }

  int64_t MemoryOf(std::size_t index) const {
    return problem_.memory_model.kind == MemoryModel::Kind::kDeclared ? DeclaredMemory(index) : ComponentMemory(index);
  }

  int64_t DeclaredMemory(std::size_t index) const {
    int64_t bytes = 0;
    for (const OperatorId op : plan_.stages[index].operators) {
      bytes = SaturatingAdd(bytes, graph_.operators[op.index()].memory_bytes.value_or(0));
    }
    return bytes;
  }

  int64_t ComponentMemory(std::size_t index) const {
    int64_t parameter_bytes = 0;
    int64_t activation_bytes = 0;
    int64_t workspace_bytes = 0;
    for (const OperatorId id : plan_.stages[index].operators) {
      const Operator& op = graph_.operators[id.index()];
      parameter_bytes = SaturatingAdd(parameter_bytes, op.parameter_bytes);
      activation_bytes = SaturatingAdd(activation_bytes, op.activation_bytes);
      workspace_bytes = std::max(workspace_bytes, op.workspace_bytes);
    }
    int64_t bytes = StateBytes(parameter_bytes);
    if (*problem_.workload == Workload::kTraining) bytes = SaturatingAdd(bytes, activation_bytes);
    bytes = SaturatingAdd(bytes, workspace_bytes);
    bytes = SaturatingAdd(bytes, SaturatingAdd(boundary_bytes_[index], boundary_bytes_[index]));
    return SaturatingAdd(bytes, problem_.memory_model.reserved_bytes);
  }

  // Parameters with their versions, gradients and optimizer state.
  int64_t StateBytes(int64_t parameter_bytes) const {
    const MemoryModel& model = problem_.memory_model;
    const double copies = 0.0 + model.weight_versions.value_or(1) + model.gradient_copies.value_or(0) +
                          model.optimizer_bytes_per_parameter_byte.value_or(0);
    const double bytes = std::ceil(static_cast<double>(parameter_bytes) * copies);
    return bytes < static_cast<double>(kMaxQuantity) ? static_cast<int64_t>(bytes) : kMaxQuantity;
  }

  void ReportBackwardContiguity() {
    const std::vector<bool> is_contiguous = BackwardContiguity(graph_, problem_, assignment_);
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) plan_.stages[i].backward_contiguous = is_contiguous[i];
  }

  void FillDevices() {
    for (std::size_t i = 0; i < cluster_.devices.size(); ++i) {
      DeviceUsage& usage = plan_.devices.emplace_back();
      usage.device = DeviceId(i);
      usage.memory_limit_bytes = UsableMemoryBytes(cluster_, usage.device);
    }
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
      DeviceUsage& usage = plan_.devices[DeviceOf(i).index()];
      usage.stages.emplace_back(i);
      usage.load += plan_.stages[i].load;
      usage.memory_bytes = SaturatingAdd(usage.memory_bytes, plan_.stages[i].memory_bytes);
      plan_.objective = std::max(plan_.objective, usage.load);
    }
  }

  void FillLinks() {
    for (const auto& [ends, load] : link_loads_) plan_.links.push_back({ends.first, ends.second, load});
  }

  void FillEstimate() {
    Estimate& estimate = plan_.estimate;
    for (const DeviceUsage& usage : plan_.devices) {
      estimate.peak_memory_bytes = std::max(estimate.peak_memory_bytes, usage.memory_bytes);
    }
    if (plan_.objective.count() == 0) return;
    const auto objective = static_cast<double>(plan_.objective.count());
    estimate.micro_batches_per_second = kPicosecondsPerSecond / objective;
    estimate.samples_per_second =
        estimate.micro_batches_per_second * static_cast<double>(graph_.samples_per_micro_batch);
    double busy = 0;
    int devices_in_use = 0;
    for (const DeviceUsage& usage : plan_.devices) {
      busy += static_cast<double>(usage.load.count());
      if (!usage.stages.empty()) ++devices_in_use;
    }
    estimate.bubble_fraction = 1 - busy / (devices_in_use * objective);
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const PlanningProblem& problem_;
  const Assignment& assignment_;
  // Training by backward times: whatever crosses forward comes back as a gradient of the same size.
  const bool gradients_return_;
  // Of each stage: sizes of the tensors that cross its border.
  std::vector<int64_t> boundary_bytes_;
  std::map<std::pair<DeviceId, DeviceId>, Picoseconds> link_loads_;
  Plan plan_;
};

}  // namespace

Plan CostAssignment(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                    const Assignment& assignment) {
  return Costing(graph, cluster, problem, assignment).Run();
}

void CheckMemory(const Cluster& cluster, const Assignment& assignment, const Plan& plan, Violations& violations) {
  for (const DeviceUsage& usage : plan.devices) {
    if (usage.stages.empty() || !usage.memory_limit_bytes.has_value()) continue;
    const int64_t excess = usage.memory_bytes - *usage.memory_limit_bytes;
    if (excess <= 0) continue;
    const std::size_t given_index = assignment.stages[usage.stages.front().index()].given_index;
    violations.Add(
        absl::StrCat("plan.stages[", given_index, "]"),
        absl::StrCat("memory: needs ", SizeText(usage.memory_bytes), ", device '",
                     cluster.devices[usage.device.index()].name, "' offers ", SizeText(*usage.memory_limit_bytes), " (",
                     CountText(excess), excess == 1 ? " byte too many)" : " bytes too many)"));
  }
}

}  // namespace planwright
