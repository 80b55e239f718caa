#include "core/partition/parmesan/flat_bound.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "core/cost/plan_costing.h"
#include "core/partition/contiguous_throughput.h"
#include "core/partition/parmesan/device_room.h"
#include "core/partition/parmesan/flat_problem.h"

namespace planwright {
namespace {

constexpr int64_t kMaxIdeals = 200'000;
// Beyond, first splits alone take seconds.
constexpr std::size_t kMaxOperators = 20'000;

// Less is asked of its placements: neither pins nor numbers of stages.
PlanningProblem RelaxedPipeline(PlanningProblem problem) {
  problem.pinned.clear();
  problem.forbidden.clear();
  problem.num_stages.reset();
  problem.start_from.reset();
  return problem;
}

}  // namespace

FlatBound FastestLinksBound(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena) {
  if (request.problem.replication != Replication::kNone || request.problem.micro_batches.has_value() ||
      request.graph.operators.size() > kMaxOperators || limits.work <= 0) {
    return {};
  }
  FlatProblem flat = FlattenProblem(request, ConsumerCharge::kPerStage, AssumedSpeed::kFastest);
  flat.cluster = WithinLimits(std::move(flat.cluster), request.device_limits);
  const PlanningProblem problem = RelaxedPipeline(flat.problem);
  SolverOptions options;
  options.ideal_limit = kMaxIdeals;
  const SearchRequest relaxed{.graph = flat.graph,
                              .cluster = flat.cluster,
                              .problem = problem,
                              .costs = flat.costs,
                              .options = options,
                              .algorithm = Algorithm::kIdealDp,
                              .starts = {}};
  SearchCallbacks callbacks;
  callbacks.objective = [&](const Placement& placement) {
    return CostPlan(flat.graph, flat.cluster, problem, flat.costs, placement).objective;
  };
  SolveLimits relaxed_limits = limits;
  relaxed_limits.work = std::min(kMaxIdeals, limits.work);
  const absl::StatusOr<SearchOutcome> outcome =
      SolveContiguousThroughput(relaxed, relaxed_limits, arena, callbacks.Silenced());
  FlatBound found{.bound = {}, .is_interrupted = CheckInterruption(limits).has_value()};
  if (!outcome.ok()) return found;
  if (const auto work = outcome->counters.find("work"); work != outcome->counters.end()) found.work = work->second;
  std::optional<Bound>& best = found.bound;
  for (const Bound& bound : outcome->bounds) {
    if (bound.scope != BoundScope::kProblem) continue;
    if (!best.has_value() || bound.value > best->value) best = bound;
  }
  if (best.has_value()) best->method = "fastest_links";
  return found;
}

}  // namespace planwright
