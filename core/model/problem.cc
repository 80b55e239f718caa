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

// Of the best time per micro-batch: what few moves may cost.
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

MemoryModel ResolveMemoryModel(const OperatorGraph& graph, MemoryModel memory, Workload workload,
                               bool trains_operators) {
  using Kind = MemoryModel::Kind;
  if (!memory.kind.has_value()) {
    const bool is_declared = !trains_operators && MemoryIsDeclared(graph, workload);
    memory.kind = is_declared ? Kind::kDeclared : Kind::kComponents;
  }
  if (memory.kind == Kind::kDeclared) return memory;
  const ParameterCopies copies = CopiesOf(memory.preset, workload, trains_operators);
  memory.weight_versions = memory.weight_versions.value_or(copies.weight_versions);
  memory.gradient_copies = memory.gradient_copies.value_or(copies.gradient_copies);
  memory.optimizer_bytes_per_parameter_byte =
      memory.optimizer_bytes_per_parameter_byte.value_or(copies.optimizer_bytes_per_parameter_byte);
  memory.preset.clear();
  return memory;
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

PlanningProblem ResolveProblem(const OperatorGraph& graph, const PlanningProblem& problem) {
  PlanningProblem resolved = problem;
  if (!resolved.workload.has_value()) resolved.workload = InferWorkload(graph);
  const bool trains_operators = problem.joint.has_value() && !graph.transformer.has_value();
  resolved.memory_model = ResolveMemoryModel(graph, problem.memory_model, *resolved.workload, trains_operators);
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

bool HasBackwardOperators(const OperatorGraph& graph) {
  return std::any_of(graph.operators.begin(), graph.operators.end(),
                     [](const Operator& op) { return op.pass == Pass::kBackward; });
}

bool HasBackwardTimes(const OperatorGraph& graph) {
  return std::any_of(graph.operators.begin(), graph.operators.end(), HasBackwardTime);
}

}  // namespace planwright
