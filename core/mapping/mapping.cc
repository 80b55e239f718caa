#include "core/mapping/mapping.h"

#include <utility>

#include "core/mapping/simple_mappings.h"
#include "core/mapping/stage_kinds.h"

namespace planwright {
namespace {

constexpr double kRounding = 1e-9;

}  // namespace

std::optional<MappingOutcome> MapStages(const MappingInstance& instance, const MappingOptions& options,
                                        const SolveLimits& /*limits*/, TaskArena& /*arena*/,
                                        const MappingCallback& on_improvement) {
  const std::optional<KindAssignment> kinds = AssignKinds(instance);
  if (!kinds.has_value()) return std::nullopt;
  const LinkTimes links(instance.network, instance.num_devices());
  std::vector<Mapping> starts = {MapConsecutively(instance, *kinds), MapCopiesTogether(instance, *kinds),
                                 MapGreedily(instance, links, *kinds)};
  starts.insert(starts.end(), options.starts.begin(), options.starts.end());
  MappingOutcome outcome;
  outcome.bounds = {{.value_ms = instance.load_weight * kinds->bottleneck_ms, .method = "compute"}};
  for (Mapping& start : starts) {
    const MappingValue value = Evaluate(instance, links, start);
    if (!outcome.mapping.devices.empty() && value.value_ms >= outcome.value.value_ms) continue;
    outcome.mapping = std::move(start);
    outcome.value = value;
    outcome.proven = value.value_ms <= outcome.bound_ms() * (1 + kRounding);
    on_improvement(outcome);
  }
  if (outcome.proven) outcome.stop_reason = StopReason::kOptimal;
  return outcome;
}

}  // namespace planwright
