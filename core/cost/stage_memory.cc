#include "core/cost/stage_memory.h"

#include <algorithm>
#include <cmath>

#include "core/base/units.h"

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
  const int64_t kept_bytes = training ? SaturatingMultiply(in_flight, activation_bytes) : 0;
  const int64_t fixed_bytes = ParameterStateBytes(parameter_bytes, memory) + workspace_bytes + 2 * boundary_bytes;
  return SaturatingAdd(SaturatingAdd(fixed_bytes, kept_bytes), memory.reserved_bytes);
}

}  // namespace planwright
