#include "core/partition/parmesan/uniform_links_bound.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "core/cost/plan_costing.h"
#include "core/partition/contiguous/contiguous_throughput.h"
#include "core/partition/parmesan/remaining_devices.h"
#include "core/partition/parmesan/uniform_links_problem.h"

namespace planwright {
namespace {

constexpr int64_t kMaxIdeals = 200'000;
constexpr int kMaxPrograms = 8;
// Beyond, first splits alone take seconds.
constexpr std::size_t kMaxOperators = 20'000;

// Less is asked of its placements: neither pins nor numbers of stages.
ResolvedProblem RelaxedPipeline(ResolvedProblem problem) {
  problem.pinned.clear();
  problem.forbidden.clear();
  problem.num_stages.reset();
  problem.start_from.reset();
  return problem;
}

// Limits each class to `most` devices.
std::vector<DeviceLimit> LimitsOfClasses(const Cluster& cluster, int64_t most) {
  std::vector<DeviceLimit> limits(cluster.device_classes.size());
  for (std::size_t i = 0; i < cluster.devices.size(); ++i) {
    limits[cluster.devices[i].device_class.index()].devices.emplace_back(i);
  }
  for (DeviceLimit& limit : limits) limit.most = most;
  return limits;
}

}  // namespace

absl::StatusOr<SearchOutcome> SolveWithUniformLinks(const UniformLinksProblem& flat, const ResolvedProblem& problem,
                                                    const SolveLimits& limits, TaskArena& arena) {
  SolverOptions options;
  options.ideal_limit = kMaxIdeals;
  const PlanningInput input{flat.graph, flat.cluster, problem, flat.costs};
  const SearchRequest request{input, options, Algorithm::kIdealDp, {}};
  SearchCallbacks callbacks;
  callbacks.objective = [&](const Placement& placement) { return CostPlan(input, placement).objective; };
  SolveLimits program_limits = limits;
  program_limits.work = std::min(kMaxIdeals, limits.work);
  return SolveContiguousThroughput(request, program_limits, arena, callbacks.Silenced());
}

UniformLinksBound UniformLinksBoundOf(const absl::StatusOr<SearchOutcome>& outcome, const SolveLimits& limits) {
  UniformLinksBound found{.bound = {}, .is_interrupted = CheckInterruption(limits).has_value()};
  if (!outcome.ok()) return found;
  found.work = outcome->work;
  std::optional<Bound>& best = found.bound;
  for (const Bound& bound : outcome->bounds) {
    if (bound.scope != BoundScope::kProblem) continue;
    if (!best.has_value() || bound.value > best->value) best = bound;
  }
  if (best.has_value()) best->method = "fastest_links";
  return found;
}

UniformLinksBound FastestLinksBound(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena) {
  const bool is_plain = request.problem.replication == Replication::kNone && !request.problem.micro_batches.has_value();
  if (!is_plain || request.graph.operators.size() > kMaxOperators || limits.work <= 0) return {};
  UniformLinksProblem flat = WithUniformLinks(request, ConsumerCharge::kPerStage, AssumedSpeed::kFastest);
  flat.cluster = WithinLimits(std::move(flat.cluster), request.device_limits);
  return UniformLinksBoundOf(SolveWithUniformLinks(flat, RelaxedPipeline(flat.problem), limits, arena), limits);
}

UniformLinksBound FastestShapesBound(const SearchRequest& request, const PipelineRule& rule,
                                     std::vector<ShapeBound> shapes, Picoseconds enough, const SolveLimits& limits,
                                     TaskArena& arena) {
  if (shapes.empty() || request.graph.operators.size() > kMaxOperators) return {};
  UniformLinksProblem flat = WithUniformLinks(request, ConsumerCharge::kPerStage, AssumedSpeed::kFastest);
  const Cluster whole = WithinLimits(std::move(flat.cluster), request.device_limits);
  const ResolvedProblem problem = RelaxedPipeline(flat.problem);
  UniformLinksBound found;
  std::set<int32_t> bounded;
  SolveLimits left = limits;
  for (int program = 0; program < kMaxPrograms && left.work > 0 && !found.is_interrupted; ++program) {
    const ShapeBound& least = *std::ranges::min_element(shapes, {}, &ShapeBound::bound);
    const int32_t stages = least.stages;
    if (least.bound >= enough || !bounded.insert(stages).second) break;
    flat.cluster = WithinLimits(whole, LimitsOfClasses(whole, stages));
    const UniformLinksBound load = UniformLinksBoundOf(SolveWithUniformLinks(flat, problem, left, arena), left);
    found.work += load.work;
    left.work -= load.work;
    found.is_interrupted = load.is_interrupted;
    if (!load.bound.has_value()) break;
    for (ShapeBound& shape : shapes) {
      if (shape.stages <= stages) shape.bound = shape.WithLoad(rule, load.bound->value.count());
    }
  }
  found.bound = Bound{std::min(LeastBound(shapes), enough), "fastest_links", BoundScope::kProblem, /*pays_once=*/true};
  return found;
}

}  // namespace planwright
