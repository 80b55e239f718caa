#include "core/model/problem.h"

#include <algorithm>

namespace planwright {
namespace {

bool HasBackwardTime(const Operator& op) {
  return op.backward_flops > 0 || op.backward_bytes_accessed > 0 ||
         std::any_of(op.costs.begin(), op.costs.end(),
                     [](const OperatorCost& cost) { return cost.backward > Picoseconds(0); }) ||
         std::any_of(op.variants.begin(), op.variants.end(),
                     [](const OperatorVariant& variant) { return variant.backward > Picoseconds(0); });
}

Workload InferWorkload(const OperatorGraph& graph) {
  return HasBackwardOperators(graph) || HasBackwardTimes(graph) ? Workload::kTraining : Workload::kInference;
}

// Every operator that the workload keeps says how much memory it occupies; graph inputs need not where others do.
bool MemoryIsDeclared(const OperatorGraph& graph, Workload workload) {
  bool anything_declares = false;
  bool an_input_does_not = false;
  for (const Operator& op : graph.operators) {
    if (workload == Workload::kInference && op.pass == Pass::kBackward) continue;
    if (op.memory_bytes.has_value()) {
      anything_declares = true;
    } else if (op.type == kInputOperatorType) {
      an_input_does_not = true;
    } else {
      return false;
    }
  }
  return anything_declares || !an_input_does_not;
}

// PERIODIC, NON_CONTIGUOUS: more of them rarely help, and each makes schedules harder to find.
constexpr int32_t kPeriodicStagesPerDevice = 4;

// How much worse than the best time per micro-batch a plan with few moves may be, as a share of it.
constexpr double kReplanTolerance = 0.05;

// What a parameter costs in memory beside itself.
struct ParameterCopies {
  int32_t weight_versions = 1;
  int32_t gradient_copies = 1;
  double optimizer_bytes_per_parameter_byte = 0;
};

// `trains_operators`: by the joint search, which counts an optimizer unless it is told of none.
ParameterCopies CopiesOf(const std::string& preset, Workload workload, bool trains_operators) {
  if (workload == Workload::kInference) return {.gradient_copies = 0};
  // 16-bit parameters and gradients; 32-bit parameters and two moments: 12 bytes for every 2 of parameters.
  if (preset == "adam_mixed") return {.optimizer_bytes_per_parameter_byte = 6};
  if (preset == "madpipe") return {.weight_versions = 2};
  // Two moments of Adam, as wide as the parameters.
  if (preset.empty() && trains_operators) return {.optimizer_bytes_per_parameter_byte = 2};
  return {};
}

// The joint search counts components, whatever operators declare.
MemoryModel::Kind KindOf(const OperatorGraph& graph, const PlanningProblem& problem, Workload workload) {
  if (problem.memory_model.kind.has_value()) return *problem.memory_model.kind;
  const bool is_declared = !problem.joint.has_value() && MemoryIsDeclared(graph, workload);
  return is_declared ? MemoryModel::Kind::kDeclared : MemoryModel::Kind::kComponents;
}

ResolvedMemory ResolveMemory(const OperatorGraph& graph, const PlanningProblem& problem, Workload workload) {
  const MemoryModel& memory = problem.memory_model;
  ResolvedMemory resolved;
  static_cast<MemorySettings&>(resolved) = memory;
  resolved.kind = KindOf(graph, problem, workload);
  if (resolved.kind == MemoryModel::Kind::kDeclared) return resolved;
  const bool trains_operators = problem.joint.has_value() && !graph.transformer.has_value();
  const ParameterCopies copies = CopiesOf(memory.preset, workload, trains_operators);
  resolved.weight_versions = memory.weight_versions.value_or(copies.weight_versions);
  resolved.gradient_copies = memory.gradient_copies.value_or(copies.gradient_copies);
  resolved.optimizer_bytes_per_parameter_byte =
      memory.optimizer_bytes_per_parameter_byte.value_or(copies.optimizer_bytes_per_parameter_byte);
  return resolved;
}

}  // namespace

ScheduleKind ScheduleOf(PipelineOrder order) {
  switch (order) {
    case PipelineOrder::kOneFOneB:
      return ScheduleKind::kOneFOneB;
    case PipelineOrder::kInterleaved:
      return ScheduleKind::kInterleaved;
    case PipelineOrder::kGpipe:
      return ScheduleKind::kGpipe;
    case PipelineOrder::kZeroBubble:
      return ScheduleKind::kZeroBubbleH1;
  }
  return ScheduleKind::kSteadyState;
}

std::optional<PipelineOrder> OrderOf(ScheduleKind schedule) {
  for (const PipelineOrder order :
       {PipelineOrder::kOneFOneB, PipelineOrder::kInterleaved, PipelineOrder::kGpipe, PipelineOrder::kZeroBubble}) {
    if (ScheduleOf(order) == schedule) return order;
  }
  return std::nullopt;
}

ResolvedProblem ResolveProblem(const OperatorGraph& graph, const PlanningProblem& problem) {
  ResolvedProblem resolved;
  static_cast<ProblemSettings&>(resolved) = problem;
  resolved.workload = problem.workload.has_value() ? *problem.workload : InferWorkload(graph);
  resolved.memory_model = ResolveMemory(graph, problem, resolved.workload);
  if (problem.split == Split::kContiguous) {
    // What a device may hold: stages of a pipeline, or subgraphs of each pass.
    std::optional<int32_t>& limit = problem.objective == Objective::kMinLatency ? resolved.max_subgraphs_per_device
                                                                                : resolved.max_stages_per_device;
    limit = limit.value_or(1);
  } else if (problem.schedule == ScheduleKind::kPeriodic) {
    resolved.max_stages_per_device = problem.max_stages_per_device.value_or(kPeriodicStagesPerDevice);
  }
  // The joint search keeps no stages where they are.
  if (problem.start_from.has_value() && !problem.joint.has_value())
    resolved.replan_tolerance = problem.replan_tolerance.value_or(kReplanTolerance);
  return resolved;
}

PlanningProblem AsPosed(const ResolvedProblem& problem) {
  PlanningProblem posed;
  static_cast<ProblemSettings&>(posed) = problem;
  posed.workload = problem.workload;
  const ResolvedMemory& memory = problem.memory_model;
  static_cast<MemorySettings&>(posed.memory_model) = memory;
  posed.memory_model.kind = memory.kind;
  if (memory.kind == MemoryModel::Kind::kDeclared) return posed;
  posed.memory_model.weight_versions = memory.weight_versions;
  posed.memory_model.gradient_copies = memory.gradient_copies;
  posed.memory_model.optimizer_bytes_per_parameter_byte = memory.optimizer_bytes_per_parameter_byte;
  return posed;
}

bool HasBackwardOperators(const OperatorGraph& graph) {
  return std::any_of(graph.operators.begin(), graph.operators.end(),
                     [](const Operator& op) { return op.pass == Pass::kBackward; });
}

bool HasBackwardTimes(const OperatorGraph& graph) {
  return std::any_of(graph.operators.begin(), graph.operators.end(), HasBackwardTime);
}

}  // namespace planwright
