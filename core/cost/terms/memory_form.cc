#include "core/cost/terms/memory_form.h"

#include <algorithm>
#include <cmath>

#include "core/base/interruption.h"
#include "core/base/units.h"

namespace planwright {

void MemoryParts::Add(const MemoryParts& other) {
  declared += other.declared;
  parameters += other.parameters;
  stored += other.stored;
  workspace = std::max(workspace, other.workspace);
}

int64_t ParameterStateBytes(int64_t parameter_bytes, double copies) {
  return static_cast<int64_t>(std::ceil(static_cast<double>(parameter_bytes) * copies));
}

MemoryForm::MemoryForm(const ResolvedProblem& problem)
    : is_declared_(problem.memory_model.kind == MemoryModel::Kind::kDeclared) {
  const ResolvedMemory& model = problem.memory_model;
  const bool is_training = problem.workload == Workload::kTraining;
  makes_activations_again_ = is_training && model.recomputation == MemoryModel::Recomputation::kFull;
  stores_activations_ = is_training && !makes_activations_again_;
  if (is_declared_) return;
  // In doubles from the start: the two counts may add up to more than int32 holds.
  copies_ = 0.0 + model.weight_versions + model.gradient_copies + model.optimizer_bytes_per_parameter_byte;
  reserved_bytes_ = model.reserved_bytes;
}

MemoryParts MemoryForm::PartsOf(const Operator& op) const {
  if (is_declared_) return {.declared = op.memory_bytes.value_or(0)};
  return {.parameters = op.parameter_bytes,
          .stored = stores_activations_ ? op.activation_bytes : 0,
          .workspace = op.workspace_bytes + (makes_activations_again_ ? op.activation_bytes : 0)};
}

MemoryParts MemoryForm::PartsOf(const OperatorGraph& graph, const std::vector<OperatorId>& operators) const {
  InterruptionPoint(2 * operators.size());
  MemoryParts parts;
  for (const OperatorId op : operators) parts.Add(PartsOf(graph.operators[op.index()]));
  return parts;
}

int64_t MemoryForm::TotalBytes(const MemoryParts& parts, int64_t boundary_bytes, int32_t in_flight) const {
  const int64_t kept = parts.declared + ParameterStateBytes(parts.parameters, copies_) + parts.workspace +
                       BufferBytes(boundary_bytes) + reserved_bytes_;
  return SaturatingAdd(kept, SaturatingMultiply(in_flight, parts.stored));
}

int64_t StageMemoryBytes(const OperatorGraph& graph, const ResolvedProblem& problem,
                         const std::vector<OperatorId>& operators, int64_t boundary_bytes, int32_t in_flight) {
  const MemoryForm form(problem);
  return form.TotalBytes(form.PartsOf(graph, operators), boundary_bytes, in_flight);
}

}  // namespace planwright
