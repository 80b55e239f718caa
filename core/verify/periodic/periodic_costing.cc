#include "core/verify/periodic/periodic_costing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/known.h"
#include "core/verify/facts/memory.h"
#include "core/verify/facts/operator_time.h"
#include "core/verify/facts/reports.h"
#include "core/verify/periodic/pattern.h"

namespace planwright {
namespace {

class PeriodicCosting {
 public:
  PeriodicCosting(const ResolvedInput& input, const Assignment& assignment)
      : graph_(input.graph), cluster_(input.cluster), problem_(input.problem), assignment_(assignment) {
    pipeline_.cuts = CutsOf(input, assignment);
    for (const Assignment::Stage& stage : assignment.stages) AddStage(stage);
    if (Recomputes(input.problem)) Recompute();
    plan_.problem = input.problem;
  }

  std::optional<Plan> Run(const PeriodicPattern& pattern, Violations& violations) {
    std::optional<JudgedPattern> judged = CheckPattern(cluster_, problem_, assignment_, pipeline_, pattern, violations);
    if (!judged.has_value()) return std::nullopt;
    plan_.objective = pattern.period;
    plan_.tasks = std::move(judged->tasks);
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) FillStage(i, judged->in_flight[i]);
    FillDevices(judged->stored_bytes);
    FillLinks();
    FillEstimate(graph_, plan_);
    return std::move(plan_);
  }

 private:
  DeviceId DeviceOf(std::size_t stage) const { return assignment_.stages[stage].devices.front(); }

  void AddStage(const Assignment::Stage& assigned) {
    Picoseconds forward{0};
    Picoseconds backward{0};
    const DeviceClass& device_class = cluster_.class_of(assigned.devices.front());
    for (const OperatorId op : assigned.operators) {
      const JudgedTime time = Known(TimeOn(graph_.operators[op.index()], device_class, problem_.workload));
      forward += time.forward;
      backward += time.backward;
      if (time.estimated) ++plan_.estimate.estimated_operators;
    }
    pipeline_.forward.push_back(forward);
    pipeline_.backward.push_back(backward);
    pipeline_.stored_bytes.push_back(StoredBytesOf(graph_, problem_, assigned.operators));
    plan_.stages.emplace_back().operators = assigned.operators;
  }

  // The forward pass runs again, from what has come to the stage on the way forward and what its inputs were.
  void Recompute() {
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) pipeline_.backward[i] += pipeline_.forward[i];
    if (problem_.memory_model.kind == MemoryModel::Kind::kDeclared) return;
    for (std::size_t i = 1; i < plan_.stages.size(); ++i) {
      pipeline_.stored_bytes[i] = pipeline_.cuts[i - 1].forward_bytes;
    }
    for (const Tensor& tensor : graph_.tensors) {
      if (graph_.operators[tensor.producer.index()].type != kInputOperatorType) continue;
      if (!assignment_.places(tensor.producer)) continue;
      int64_t& stored_bytes = pipeline_.stored_bytes[assignment_.stage_index(tensor.producer)];
      stored_bytes = SaturatingAdd(stored_bytes, tensor.size_bytes);
    }
  }

  // Whether something is sent between the stage and the next one; false: that is on the same device, or there is none.
  bool IsSent(std::size_t stage) const {
    return stage + 1 < assignment_.stages.size() && DeviceOf(stage) != DeviceOf(stage + 1);
  }

  void FillStage(std::size_t index, int32_t in_flight) {
    Stage& stage = plan_.stages[index];
    if (index > 0 && IsSent(index - 1)) {
      stage.communication_in += pipeline_.cuts[index - 1].forward;
      stage.communication_out += pipeline_.cuts[index - 1].backward;
    }
    if (IsSent(index)) {
      stage.communication_out += pipeline_.cuts[index].forward;
      stage.communication_in += pipeline_.cuts[index].backward;
    }
    stage.compute = pipeline_.forward[index] + pipeline_.backward[index];
    stage.load = stage.compute;
    stage.replicas = {{DeviceOf(index), 0, stage.load}};
    stage.in_flight_micro_batches = in_flight;
    const int64_t stored_bytes = SaturatingMultiply(in_flight, pipeline_.stored_bytes[index]);
    stage.memory_bytes = SaturatingAdd(FixedBytes({index}), stored_bytes);
  }

  // What a device needs for these of its stages beside what they store.
  int64_t FixedBytes(const std::vector<std::size_t>& stages) const {
    int64_t bytes = problem_.memory_model.reserved_bytes;
    int64_t workspace_bytes = 0;
    for (const std::size_t stage : stages) {
      const std::vector<OperatorId>& operators = assignment_.stages[stage].operators;
      bytes = SaturatingAdd(bytes, StaticBytesOf(graph_, problem_, operators));
      workspace_bytes = std::max(workspace_bytes, WorkspaceBytesOf(graph_, problem_, operators));
      if (stage > 0 && IsSent(stage - 1)) bytes = SaturatingAdd(bytes, BufferBytes(stage - 1));
      if (IsSent(stage)) bytes = SaturatingAdd(bytes, BufferBytes(stage));
    }
    return SaturatingAdd(bytes, workspace_bytes);
  }

  int64_t BufferBytes(std::size_t cut) const {
    return problem_.memory_model.kind == MemoryModel::Kind::kDeclared ? 0 : 2 * pipeline_.cuts[cut].bytes;
  }

  void FillDevices(const std::vector<int64_t>& stored_bytes) {
    const std::vector<bool> is_contiguous = BackwardContiguity(graph_, problem_, assignment_);
    std::vector<std::vector<std::size_t>> stages_of(cluster_.devices.size());
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
      plan_.stages[i].backward_contiguous = is_contiguous[i];
      stages_of[DeviceOf(i).index()].push_back(i);
    }
    for (std::size_t i = 0; i < cluster_.devices.size(); ++i) {
      DeviceUsage& usage = plan_.devices.emplace_back();
      usage.device = DeviceId(i);
      usage.memory_limit_bytes = UsableMemoryBytes(cluster_, usage.device);
      for (const std::size_t stage : stages_of[i]) {
        usage.stages.emplace_back(stage);
        usage.load += plan_.stages[stage].load;
      }
      if (!usage.stages.empty()) usage.memory_bytes = SaturatingAdd(FixedBytes(stages_of[i]), stored_bytes[i]);
    }
  }

  // A link may carry what crosses many times.
  static void AddLoad(Picoseconds time, Picoseconds& load) {
    load = Picoseconds(SaturatingAdd(load.count(), time.count()));
  }

  // One for each pair of devices; with full duplex for each direction, the sender first.
  void FillLinks() {
    std::map<std::pair<DeviceId, DeviceId>, Picoseconds> loads;
    for (std::size_t cut = 0; cut < pipeline_.cuts.size(); ++cut) {
      if (!IsSent(cut)) continue;
      const bool is_full_duplex = problem_.overlap == Overlap::kFullDuplex;
      std::pair<DeviceId, DeviceId> there(DeviceOf(cut), DeviceOf(cut + 1));
      std::pair<DeviceId, DeviceId> back(there.second, there.first);
      if (!is_full_duplex) there = back = std::min(there, back);
      AddLoad(pipeline_.cuts[cut].forward, loads[there]);
      if (problem_.workload == Workload::kTraining) AddLoad(pipeline_.cuts[cut].backward, loads[back]);
    }
    for (const auto& [devices, load] : loads) plan_.links.push_back({devices.first, devices.second, load});
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const ResolvedProblem& problem_;
  const Assignment& assignment_;
  JudgedPipeline pipeline_;
  Plan plan_;
};

}  // namespace

std::optional<Plan> CostPeriodicAssignment(const ResolvedInput& input, const Assignment& assignment,
                                           const PeriodicPattern& pattern, Violations& violations) {
  return PeriodicCosting(input, assignment).Run(pattern, violations);
}

}  // namespace planwright
