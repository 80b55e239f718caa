#include "core/mapping/mapping.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "core/mapping/stage_kinds.h"

namespace planwright {
namespace {

constexpr double kRounding = 1e-9;

// All copies of a stage side by side, and all stages of a copy side by side.
std::vector<Mapping> SimpleMappings(const MappingInstance& instance, const KindAssignment& kinds) {
  const std::vector<DeviceId> devices = ParticipatingDevices(instance);
  std::vector<std::size_t> vertices(instance.num_vertices());
  std::iota(vertices.begin(), vertices.end(), std::size_t{0});
  const auto rings = RingsInCopyOrder(instance);
  std::vector<Mapping> mappings = {{.devices = HandOut(instance, kinds, vertices, devices), .rings = rings}};
  const std::size_t stages = Index(instance.num_stages);
  std::stable_sort(vertices.begin(), vertices.end(),
                   [stages](std::size_t a, std::size_t b) { return a % stages < b % stages; });
  mappings.push_back({.devices = HandOut(instance, kinds, vertices, devices), .rings = rings});
  return mappings;
}

}  // namespace

std::optional<MappingOutcome> MapStages(const MappingInstance& instance, const MappingOptions& options,
                                        const SolveLimits& /*limits*/, TaskArena& /*arena*/,
                                        const MappingCallback& on_improvement) {
  const std::optional<KindAssignment> kinds = AssignKinds(instance);
  if (!kinds.has_value()) return std::nullopt;
  const LinkTimes links(instance.network, instance.num_devices());
  std::vector<Mapping> starts = SimpleMappings(instance, *kinds);
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
