#include "core/partition/parmesan/uniform_links_problem.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/index.h"
#include "core/base/interruption.h"
#include "core/base/random.h"
#include "core/cost/plan_costing.h"
#include "core/graph/graph_copy.h"
#include "core/partition/contiguous/contiguous_throughput.h"
#include "core/partition/parmesan/remaining_devices.h"
#include "core/partition/search/allowed_devices.h"

namespace planwright {
namespace {

constexpr std::size_t kMaxPairs = std::size_t{1} << 20U;

// How many of the pairs looked at are of each link class.
std::vector<std::size_t> CountPairs(const Network& network, std::size_t num_devices) {
  std::vector<std::size_t> counts(network.num_link_classes(), 0);
  if (num_devices * (num_devices - 1) <= kMaxPairs) {
    for (std::size_t from = 0; from < num_devices; ++from) {
      InterruptionPoint(/*units=*/4 * num_devices);
      for (std::size_t to = 0; to < num_devices; ++to) {
        if (from != to) ++counts[network.LinkClassOf(DeviceId(from), DeviceId(to))];
      }
    }
    return counts;
  }
  RandomStream random(1);
  for (std::size_t pair = 0; pair < kMaxPairs; ++pair) {
    InterruptionPoint(/*units=*/16);
    const std::size_t from = random.Below(num_devices);
    const std::size_t to = (from + 1 + random.Below(num_devices - 1)) % num_devices;
    ++counts[network.LinkClassOf(DeviceId(from), DeviceId(to))];
  }
  return counts;
}

// One tensor for each consumer.
std::vector<Tensor> WithOneConsumerEach(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> single;
  for (const Tensor& tensor : tensors) {
    InterruptionPoint(/*units=*/64 * tensor.consumers.size());
    for (const OperatorId consumer : tensor.consumers) {
      single.push_back(tensor);
      single.back().consumers = {consumer};
    }
  }
  return single;
}

OperatorGraph FlatGraph(const SearchRequest& request, ConsumerCharge charge) {
  OperatorGraph graph = WithPinsUnited(CopyOf(request.graph), request.problem);
  if (charge == ConsumerCharge::kPerOperator) graph.tensors = WithOneConsumerEach(graph.tensors);
  if (GivenTimesCount(request.cluster.interconnect)) return graph;
  for (Tensor& tensor : graph.tensors) tensor.transfer.reset();
  return graph;
}

LinkSpeed SpeedOf(const Network& network, std::size_t num_devices, AssumedSpeed assumed) {
  const bool takes_fastest = assumed == AssumedSpeed::kFastest && network.num_link_classes() > 0;
  return takes_fastest ? network.FastestLink() : MedianSpeed(network, num_devices);
}

Cluster FlatCluster(const SearchRequest& request, AssumedSpeed assumed) {
  Cluster cluster = request.cluster;
  const LinkSpeed speed = SpeedOf(request.costs.network(), cluster.devices.size(), assumed);
  cluster.interconnect = UniformInterconnect{speed.bandwidth_bytes_per_second, speed.latency};
  return cluster;
}

ResolvedProblem FlatPipeline(ResolvedProblem problem) {
  problem.replication = Replication::kNone;
  problem.schedule = ScheduleKind::kSteadyState;
  problem.micro_batches.reset();
  return problem;
}

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

LinkSpeed MedianSpeed(const Network& network, std::size_t num_devices) {
  if (num_devices < 2 || network.num_link_classes() == 0) return {};
  const std::vector<std::size_t> counts = CountPairs(network, num_devices);
  std::vector<std::size_t> classes = FirstNumbers<std::size_t>(counts.size());
  std::stable_sort(classes.begin(), classes.end(), [&](std::size_t a, std::size_t b) {
    return network.speed(a).bandwidth_bytes_per_second < network.speed(b).bandwidth_bytes_per_second;
  });
  const std::size_t pairs = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  std::size_t slower = 0;
  for (const std::size_t link_class : classes) {
    slower += counts[link_class];
    if (2 * slower >= pairs) return network.speed(link_class);
  }
  return network.speed(classes.back());
}

UniformLinksProblem WithUniformLinks(const SearchRequest& request, ConsumerCharge charge, AssumedSpeed assumed) {
  OperatorGraph graph = FlatGraph(request, charge);
  Cluster cluster = FlatCluster(request, assumed);
  CostTable costs(graph, cluster, request.problem.workload);
  return {std::move(graph), std::move(cluster), FlatPipeline(request.problem), std::move(costs)};
}

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
