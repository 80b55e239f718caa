#include "core/cost/stage_memory.h"

#include <algorithm>

#include "core/cost/memory_form.h"

namespace planwright {

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
  const MemoryForm form(problem);
  return form.TotalBytes(form.PartsOf(graph, operators), boundary_bytes, in_flight);
}

}  // namespace planwright
