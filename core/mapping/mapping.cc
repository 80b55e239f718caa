#include "core/mapping/mapping.h"

#include "core/mapping/mapping_search.h"
#include "core/mapping/problem/stage_kinds.h"

namespace planwright {

std::optional<MappingOutcome> MapStages(const MappingInstance& instance, const MappingOptions& options,
                                        const SolveLimits& limits, TaskArena& arena,
                                        const MappingCallback& on_improvement) {
  const std::optional<KindAssignment> kinds = AssignKinds(instance);
  if (!kinds.has_value()) return std::nullopt;
  return MappingSearch(instance, *kinds, options, limits, arena, on_improvement).Run();
}

}  // namespace planwright
