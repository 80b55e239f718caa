#include "core/cost/terms/stage_memory.h"

#include "core/cost/terms/memory_form.h"

namespace planwright {

int64_t StageMemoryBytes(const OperatorGraph& graph, const ResolvedProblem& problem,
                         const std::vector<OperatorId>& operators, int64_t boundary_bytes, int32_t in_flight) {
  const MemoryForm form(problem);
  return form.TotalBytes(form.PartsOf(graph, operators), boundary_bytes, in_flight);
}

}  // namespace planwright
