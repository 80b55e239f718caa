#include "core/cost/stage_memory.h"

#include <algorithm>
#include <cmath>

namespace planwright {
namespace {

int64_t DeclaredBytes(const OperatorGraph& graph, const std::vector<OperatorId>& operators) {
  int64_t bytes = 0;
  for (const OperatorId op : operators) bytes += graph.operators[op.index()].memory_bytes.value_or(0);
  return bytes;
}

}  // namespace

int64_t ParameterStateBytes(int64_t parameter_bytes, const MemoryModel& memory) {
  // In doubles from the start: the two counts may add up to more than int32 holds.
  const double copies =
      0.0 + *memory.weight_versions + *memory.gradient_copies + *memory.optimizer_bytes_per_parameter_byte;
  return static_cast<int64_t>(std::ceil(static_cast<double>(parameter_bytes) * copies));
}

int32_t InFlightMicroBatches(const PlanningProblem& problem, std::size_t stages_behind) {
  const ScheduleKind schedule = problem.schedule;
  const bool drains_early = schedule == ScheduleKind::kOneFOneB || schedule == ScheduleKind::kPipedreamAsync;
  const int32_t all = problem.micro_batches.value_or(1);
  if (!drains_early) return all;
  const auto fill = static_cast<int32_t>(stages_behind) + 1;
  return problem.micro_batches.has_value() ? std::min(fill, all) : fill;
}

int64_t StageMemoryBytes(const OperatorGraph& graph, const PlanningProblem& problem,
                         const std::vector<OperatorId>& operators, int64_t boundary_bytes, int32_t in_flight) {
  const MemoryModel& memory = problem.memory_model;
  if (memory.kind == MemoryModel::Kind::kDeclared) return DeclaredBytes(graph, operators);
  int64_t parameter_bytes = 0;
  int64_t activation_bytes = 0;
  int64_t workspace_bytes = 0;
  for (const OperatorId id : operators) {
    const Operator& op = graph.operators[id.index()];
    parameter_bytes += op.parameter_bytes;
    activation_bytes += op.activation_bytes;
    workspace_bytes = std::max(workspace_bytes, op.workspace_bytes);
  }
  const bool training = problem.workload == Workload::kTraining;
  const int64_t kept_bytes = training ? in_flight * activation_bytes : 0;
  return ParameterStateBytes(parameter_bytes, memory) + kept_bytes + workspace_bytes + 2 * boundary_bytes +
         memory.reserved_bytes;
}

}  // namespace planwright
