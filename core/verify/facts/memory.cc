#include "core/verify/facts/memory.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/interruption.h"
#include "core/base/quantity_text.h"
#include "core/base/units.h"

namespace planwright {
namespace {

template <typename BytesOf>
int64_t SumOver(const OperatorGraph& graph, const std::vector<OperatorId>& operators, const BytesOf& bytes_of) {
  int64_t bytes = 0;
  for (const OperatorId op : operators) bytes = SaturatingAdd(bytes, bytes_of(graph.operators[op.index()]));
  return bytes;
}

// Parameters with their versions, gradients and optimizer state.
int64_t StateBytes(int64_t parameter_bytes, const ResolvedMemory& model) {
  const double copies = 0.0 + model.weight_versions + model.gradient_copies + model.optimizer_bytes_per_parameter_byte;
  const double bytes = std::ceil(static_cast<double>(parameter_bytes) * copies);
  return bytes < static_cast<double>(kMaxQuantity) ? static_cast<int64_t>(bytes) : kMaxQuantity;
}

bool IsDeclared(const ResolvedProblem& problem) { return problem.memory_model.kind == MemoryModel::Kind::kDeclared; }

}  // namespace

int64_t ParameterBytesOf(const OperatorGraph& graph, const std::vector<OperatorId>& operators) {
  return SumOver(graph, operators, [](const Operator& op) { return op.parameter_bytes; });
}

bool Recomputes(const ResolvedProblem& problem) {
  return problem.workload == Workload::kTraining &&
         problem.memory_model.recomputation == MemoryModel::Recomputation::kFull;
}

int64_t StaticBytesOf(const OperatorGraph& graph, const ResolvedProblem& problem,
                      const std::vector<OperatorId>& operators) {
  if (IsDeclared(problem)) {
    return SumOver(graph, operators, [](const Operator& op) { return op.memory_bytes.value_or(0); });
  }
  return StateBytes(ParameterBytesOf(graph, operators), problem.memory_model);
}

int64_t StoredBytesOf(const OperatorGraph& graph, const ResolvedProblem& problem,
                      const std::vector<OperatorId>& operators) {
  if (IsDeclared(problem) || problem.workload == Workload::kInference || Recomputes(problem)) return 0;
  return SumOver(graph, operators, [](const Operator& op) { return op.activation_bytes; });
}

int64_t WorkspaceBytesOf(const OperatorGraph& graph, const ResolvedProblem& problem,
                         const std::vector<OperatorId>& operators) {
  int64_t bytes = 0;
  if (IsDeclared(problem)) return bytes;
  for (const OperatorId op : operators) {
    const Operator& fields = graph.operators[op.index()];
    const int64_t activation_bytes = Recomputes(problem) ? fields.activation_bytes : 0;
    bytes = std::max(bytes, SaturatingAdd(fields.workspace_bytes, activation_bytes));
  }
  return bytes;
}

int64_t MemoryOf(const OperatorGraph& graph, const ResolvedProblem& problem, const std::vector<OperatorId>& operators,
                 int64_t boundary_bytes, int32_t in_flight) {
  InterruptionPoint(8 * operators.size());
  const int64_t stored = SaturatingMultiply(in_flight, StoredBytesOf(graph, problem, operators));
  int64_t bytes = SaturatingAdd(StaticBytesOf(graph, problem, operators), stored);
  if (IsDeclared(problem)) return bytes;
  bytes = SaturatingAdd(bytes, WorkspaceBytesOf(graph, problem, operators));
  bytes = SaturatingAdd(bytes, SaturatingAdd(boundary_bytes, boundary_bytes));
  return SaturatingAdd(bytes, problem.memory_model.reserved_bytes);
}

void CheckMemory(const Cluster& cluster, const Assignment& assignment, const Plan& plan, Violations& violations) {
  for (const DeviceUsage& usage : plan.devices) {
    if (usage.stages.empty() || !usage.memory_limit_bytes.has_value()) continue;
    const int64_t excess = usage.memory_bytes - *usage.memory_limit_bytes;
    if (excess <= 0) continue;
    violations.Add(assignment.StagePath(usage.stages.front().index()),
                   absl::StrCat("memory: needs ", SizeText(usage.memory_bytes), ", device '",
                                cluster.devices[usage.device.index()].name, "' offers ",
                                SizeText(*usage.memory_limit_bytes), ": ", ExactSizeText(excess), " too many"));
  }
}

}  // namespace planwright
