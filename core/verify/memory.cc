#include "core/verify/memory.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "core/base/units.h"
#include "core/verify/text.h"

namespace planwright {
namespace {

int64_t DeclaredMemory(const OperatorGraph& graph, const std::vector<OperatorId>& operators) {
  int64_t bytes = 0;
  for (const OperatorId op : operators) {
    bytes = SaturatingAdd(bytes, graph.operators[op.index()].memory_bytes.value_or(0));
  }
  return bytes;
}

// Parameters with their versions, gradients and optimizer state.
int64_t StateBytes(int64_t parameter_bytes, const MemoryModel& model) {
  const double copies = 0.0 + model.weight_versions.value_or(1) + model.gradient_copies.value_or(0) +
                        model.optimizer_bytes_per_parameter_byte.value_or(0);
  const double bytes = std::ceil(static_cast<double>(parameter_bytes) * copies);
  return bytes < static_cast<double>(kMaxQuantity) ? static_cast<int64_t>(bytes) : kMaxQuantity;
}

int64_t ComponentMemory(const OperatorGraph& graph, const PlanningProblem& problem,
                        const std::vector<OperatorId>& operators, int64_t boundary_bytes) {
  int64_t parameter_bytes = 0;
  int64_t activation_bytes = 0;
  int64_t workspace_bytes = 0;
  for (const OperatorId id : operators) {
    const Operator& op = graph.operators[id.index()];
    parameter_bytes = SaturatingAdd(parameter_bytes, op.parameter_bytes);
    activation_bytes = SaturatingAdd(activation_bytes, op.activation_bytes);
    workspace_bytes = std::max(workspace_bytes, op.workspace_bytes);
  }
  int64_t bytes = StateBytes(parameter_bytes, problem.memory_model);
  if (*problem.workload == Workload::kTraining) bytes = SaturatingAdd(bytes, activation_bytes);
  bytes = SaturatingAdd(bytes, workspace_bytes);
  bytes = SaturatingAdd(bytes, SaturatingAdd(boundary_bytes, boundary_bytes));
  return SaturatingAdd(bytes, problem.memory_model.reserved_bytes);
}

}  // namespace

int64_t MemoryOf(const OperatorGraph& graph, const PlanningProblem& problem, const std::vector<OperatorId>& operators,
                 int64_t boundary_bytes) {
  return problem.memory_model.kind == MemoryModel::Kind::kDeclared
             ? DeclaredMemory(graph, operators)
             : ComponentMemory(graph, problem, operators, boundary_bytes);
}

void CheckMemory(const Cluster& cluster, const Assignment& assignment, const Plan& plan, Violations& violations) {
  for (const DeviceUsage& usage : plan.devices) {
    if (usage.stages.empty() || !usage.memory_limit_bytes.has_value()) continue;
    const int64_t excess = usage.memory_bytes - *usage.memory_limit_bytes;
    if (excess <= 0) continue;
    violations.Add(
        assignment.StagePath(usage.stages.front().index()),
        absl::StrCat("memory: needs ", SizeText(usage.memory_bytes), ", device '",
                     cluster.devices[usage.device.index()].name, "' offers ", SizeText(*usage.memory_limit_bytes), " (",
                     CountText(excess), excess == 1 ? " byte too many)" : " bytes too many)"));
  }
}

}  // namespace planwright
