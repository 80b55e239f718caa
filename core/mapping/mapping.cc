#include "core/mapping/mapping.h"

#include <utility>

#include "core/mapping/mapping_annealing.h"
#include "core/mapping/mapping_tables.h"
#include "core/mapping/stage_kinds.h"

namespace planwright {
namespace {

constexpr double kRounding = 1e-9;

// What the annealing has so far.
void Update(MappingOutcome& outcome, const MappingAnnealing& annealing) {
  outcome.mapping = annealing.incumbent();
  outcome.value = annealing.value();
  outcome.proven = outcome.value.value_ms <= outcome.bound_ms() * (1 + kRounding);
  outcome.work = annealing.moves();
  outcome.counters["moves"] = annealing.moves();
}

StopReason StopReasonOf(const MappingOutcome& outcome, double relative_gap, const SolveLimits& limits) {
  if (outcome.proven) return StopReason::kOptimal;
  const double gap = (outcome.value.value_ms - outcome.bound_ms()) / outcome.value.value_ms;
  if (gap <= relative_gap) return StopReason::kGapReached;
  const std::optional<Interruption> interruption = CheckInterruption(limits);
  if (!interruption.has_value()) return StopReason::kWorkLimit;
  return *interruption == Interruption::kCancelled ? StopReason::kCancelled : StopReason::kTimeLimit;
}

}  // namespace

std::optional<MappingOutcome> MapStages(const MappingInstance& instance, const MappingOptions& options,
                                        const SolveLimits& limits, TaskArena& arena,
                                        const MappingCallback& on_improvement) {
  const std::optional<KindAssignment> kinds = AssignKinds(instance);
  if (!kinds.has_value()) return std::nullopt;
  const MappingTables tables(instance, limits, arena);
  MappingAnnealing annealing(tables, *kinds, options.seed, limits, arena);
  for (const Mapping& start : options.starts) annealing.Offer(start);
  MappingOutcome outcome;
  outcome.bounds = {{.value_ms = instance.load_weight * kinds->bottleneck_ms, .method = "compute"}};
  annealing.RaiseBound(outcome.bound_ms() / (1 - options.relative_gap));
  Update(outcome, annealing);
  on_improvement(outcome);
  for (bool goes_on = !outcome.proven; goes_on;) {
    const double before = outcome.value.value_ms;
    goes_on = annealing.RunBatch();
    Update(outcome, annealing);
    if (outcome.value.value_ms < before) on_improvement(outcome);
  }
  outcome.stop_reason = StopReasonOf(outcome, options.relative_gap, limits);
  return outcome;
}

}  // namespace planwright
