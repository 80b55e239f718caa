#include "core/partition/parmesan/parmesan_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/base/infeasibility.h"
#include "core/cost/plan_costing.h"
#include "core/mapping/mapping.h"
#include "core/partition/parmesan/pipedream_stages.h"
#include "core/partition/parmesan/stage_mapping.h"
#include "core/partition/parmesan/stage_partition.h"
#include "core/partition/parmesan/uniform_links_problem.h"
#include "core/planner/planner.h"
#include "tests/support/builders.h"
#include "tests/support/random_instance.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

absl::StatusOr<Plan> Make(const Instance& instance, const SolverOptions& options, int threads = 1) {
  // As the service does it.
  SolveLimits limits;
  limits.work = options.work_limit.value_or(limits.work);
  TaskArena arena(threads);
  PlannerObserver observer;
  return MakePlan({instance.graph, instance.cluster, instance.problem, options}, ModelLimits(), limits, arena,
                  observer);
}

SolverOptions By(Algorithm algorithm) {
  SolverOptions options;
  options.algorithm = algorithm;
  options.work_limit = 4'000;
  return options;
}

Interconnect RandomInterconnect(std::size_t devices, RandomStream& random) {
  switch (random.Below(3)) {
    case 0:
      return UniformInterconnect{1e12, Picoseconds(1)};
    case 1:
      return GridInterconnect{.dimensions = {static_cast<int32_t>(devices)},
                              .link_bandwidth_bytes_per_second = 1e12,
                              .non_adjacent = GridInterconnect::NonAdjacent::kDividedByHops};
    default: {
      MatrixInterconnect matrix{.bandwidth_bytes_per_second = std::vector<double>(devices * devices, 0)};
      for (std::size_t a = 0; a < devices; ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          const auto bandwidth = 1e11 * static_cast<double>(random.Between(1, 20));
          matrix.bandwidth_bytes_per_second[a * devices + b] = bandwidth;
          matrix.bandwidth_bytes_per_second[b * devices + a] = bandwidth;
        }
      }
      return matrix;
    }
  }
}

// Problem number `seed` on any interconnect; devices and memory as drawn.
Instance RandomProblem(uint64_t seed) {
  RandomStream random(seed);
  Instance instance = MakeRandomInstance(seed, 12);
  const auto overlap = static_cast<Overlap>(random.Below(3));
  instance.problem = {};
  instance.problem.overlap = overlap;
  instance.cluster.interconnect = RandomInterconnect(instance.cluster.devices.size(), random);
  for (Tensor& tensor : instance.graph.tensors) tensor.size_bytes = random.Between(1, 20);
  return instance;
}

TEST(SolveParmesanTest, MakesVerifiedPlansOnAnyInterconnect) {
  int planned = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    for (const Algorithm algorithm : {Algorithm::kParmesan, Algorithm::kParmesanPaper}) {
      const absl::StatusOr<Plan> plan = Make(RandomProblem(seed), By(algorithm));
      if (!plan.ok()) {
        ASSERT_NE(plan.status().code(), absl::StatusCode::kInternal) << seed << plan.status();
        continue;
      }
      ++planned;
      EXPECT_LE(plan->lower_bound, plan->objective) << seed;
      for (const Bound& bound : plan->bounds) {
        // Its own mapping is one of the mappings of its partition.
        EXPECT_LE(bound.value, plan->objective) << seed << " " << bound.method;
      }
    }
  }
  EXPECT_GT(planned, 5);
}

// The same with replicas, steps of micro-batches, numbers of stages and replicas, pins and bans.
Instance RandomUniformProblem(uint64_t seed) {
  Instance instance = RandomProblem(seed);
  RandomStream random(seed, 1);
  PlanningProblem& problem = instance.problem;
  if (random.Unit() < 0.8) problem.replication = Replication::kUniform;
  if (random.Unit() < 0.6) problem.micro_batches = static_cast<int32_t>(random.Between(1, 6));
  if (random.Unit() < 0.3) problem.schedule = ScheduleKind::kGpipe;
  if (random.Unit() < 0.3) problem.schedule = ScheduleKind::kOneFOneB;
  if (random.Unit() < 0.2) problem.num_stages = static_cast<int32_t>(random.Between(1, 3));
  if (random.Unit() < 0.2) {
    problem.num_replicas =
        problem.replication == Replication::kUniform ? static_cast<int32_t>(random.Between(1, 3)) : 1;
  }
  const OperatorId op(random.Below(instance.graph.operators.size()));
  const DeviceId device(random.Below(instance.cluster.devices.size()));
  if (random.Unit() < 0.2) problem.pinned = {{op, device}};
  if (random.Unit() < 0.2) problem.forbidden = {{op, device}};
  for (Operator& data : instance.graph.operators) data.parameter_bytes = random.Between(0, 30);
  return instance;
}

// Bounds that know of no transfers count none of them once.
void ExpectFitWarnings(const Plan& plan) {
  const bool warns = std::ranges::any_of(plan.warnings, [](const std::string& warning) {
    return warning.find("counts each tensor once") != std::string::npos;
  });
  if (!warns) return;
  EXPECT_TRUE(std::ranges::any_of(plan.bounds, [&](const Bound& bound) {
    return bound.method == "fastest_links" && bound.value == plan.lower_bound;
  }));
}

TEST(SolveParmesanTest, MakesVerifiedPlansInEveryMode) {
  int planned = 0;
  int replicated = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Instance instance = RandomUniformProblem(seed);
    for (const Algorithm algorithm : {Algorithm::kParmesan, Algorithm::kParmesanPaper}) {
      const absl::StatusOr<Plan> plan = Make(instance, By(algorithm));
      if (!plan.ok()) {
        ASSERT_NE(plan.status().code(), absl::StatusCode::kInternal) << seed << plan.status();
        continue;
      }
      ++planned;
      ExpectFitWarnings(*plan);
      replicated += plan->stages[0].replicas.size() > 1 ? 1 : 0;
      for (const Bound& bound : plan->bounds) {
        EXPECT_LE(bound.value, plan->objective) << seed << " " << bound.method;
      }
    }
  }
  EXPECT_GT(planned, 10);
  EXPECT_GT(replicated, 1);
}

TEST(SolveParmesanTest, IsNeverBetterThanTheOptimum) {
  int equal = 0;
  int planned = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Instance instance = RandomProblem(seed);
    instance.cluster.interconnect = UniformInterconnect{1e12, Picoseconds(1)};
    const absl::StatusOr<Plan> parmesan = Make(instance, By(Algorithm::kParmesan));
    const absl::StatusOr<Plan> ideal = Make(instance, By(Algorithm::kIdealDp));
    if (!parmesan.ok() || !ideal.ok()) continue;
    ++planned;
    EXPECT_GE(parmesan->objective, ideal->lower_bound) << seed;
    EXPECT_LE(parmesan->lower_bound, ideal->objective) << seed;
    equal += parmesan->objective == ideal->objective ? 1 : 0;
  }
  EXPECT_GT(equal, 0.8 * planned);
}

TEST(SolveParmesanTest, BoundsStagesBeyondTheNumberOfClusters) {
  // A chain of four alike operators on four devices, but only two clusters: two stages, while four would take half.
  Instance instance;
  std::vector<OperatorId> operators;
  for (int i = 0; i < 4; ++i) operators.push_back(AddOperator(instance.graph, absl::StrCat("op", i), 1000, 1000));
  for (int i = 0; i < 3; ++i) AddTensor(instance.graph, operators[Index(i)], {operators[Index(i + 1)]}, 1, 1);
  instance.cluster = MakeCluster(4, 0);
  instance.cluster.interconnect = UniformInterconnect{1e12, Picoseconds(0)};
  SolverOptions options = By(Algorithm::kParmesan);
  options.clusters = 2;
  const absl::StatusOr<Plan> plan = Make(instance, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_LE(plan->lower_bound, Picoseconds(1002));
}

Instance RandomUnevenProblem(uint64_t seed) {
  Instance instance = RandomProblem(seed);
  instance.problem.replication = Replication::kPerStage;
  return instance;
}

void ExpectSamePlans(const Plan& one, const Plan& many) {
  EXPECT_EQ(one.objective, many.objective);
  EXPECT_EQ(one.lower_bound, many.lower_bound);
  EXPECT_EQ(one.provenance.counters, many.provenance.counters);
  ASSERT_EQ(one.stages.size(), many.stages.size());
  const auto devices_of = [](const Stage& stage) {
    std::vector<DeviceId> devices;
    for (const Replica& replica : stage.replicas) devices.push_back(replica.device);
    return devices;
  };
  for (std::size_t stage = 0; stage < one.stages.size(); ++stage) {
    EXPECT_EQ(one.stages[stage].operators, many.stages[stage].operators);
    EXPECT_EQ(devices_of(one.stages[stage]), devices_of(many.stages[stage]));
    EXPECT_EQ(one.stages[stage].ring_order, many.stages[stage].ring_order);
  }
}

TEST(SolveParmesanTest, MakesTheSamePlanForAnyNumberOfThreads) {
  const oneapi::tbb::global_control workers(oneapi::tbb::global_control::max_allowed_parallelism, 8);
  SolverOptions options = By(Algorithm::kParmesan);
  options.clusters = 6;
  int planned = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    for (const auto make : {RandomProblem, RandomUniformProblem, RandomUnevenProblem}) {
      const Instance instance = make(seed);
      SCOPED_TRACE(Describe(instance));
      const absl::StatusOr<Plan> one = Make(instance, options, 1);
      for (const int threads : {2, 8}) {
        const absl::StatusOr<Plan> many = Make(instance, options, threads);
        ASSERT_EQ(one.ok(), many.ok());
        if (one.ok()) ExpectSamePlans(*one, *many);
      }
      planned += one.ok() ? 1 : 0;
    }
  }
  EXPECT_GT(planned, 15);
}

// Random operators, each with tensors from some of the others, on devices alike but for their links.
Instance RandomPipeline(uint64_t seed) {
  RandomStream random(seed);
  Instance instance;
  const auto operators = static_cast<int32_t>(random.Between(5, 10));
  for (int32_t i = 0; i < operators; ++i) {
    AddOperator(instance.graph, absl::StrCat("op", i), random.Between(1, 30), 1);
    for (int32_t j = 0; j < i; ++j) {
      if (random.Unit() < 2.0 / i) AddTensor(instance.graph, OperatorId(j), {OperatorId(i)}, 0, random.Between(1, 20));
    }
  }
  instance.cluster = MakeCluster(6, 0);
  instance.cluster.interconnect = RandomInterconnect(6, random);
  instance.problem.num_stages = static_cast<int32_t>(random.Between(2, 3));
  instance.problem.num_replicas = static_cast<int32_t>(random.Between(1, 2));
  instance.problem.replication = Replication::kUniform;
  instance.problem.micro_batches = static_cast<int32_t>(random.Between(1, 6));
  instance.problem.overlap = static_cast<Overlap>(random.Below(3));
  return instance;
}

// PipeDream's stages, mapped by a search of `limits`.
std::optional<Placement> PipedreamMapped(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena) {
  const UniformLinksProblem flat = WithUniformLinks(request, ConsumerCharge::kPerStage, AssumedSpeed::kMedian);
  const auto stages = PipedreamStages(flat, DeviceClassId(0), *request.problem.num_stages);
  if (!stages.has_value()) return std::nullopt;
  StagePartition partition;
  partition.stages = *stages;
  partition.classes.assign(stages->size(), DeviceClassId(0));
  const StageReplicas replicas(static_cast<int32_t>(stages->size()), *request.problem.num_replicas);
  const MappingInstance instance = MappingInstanceOf(request, partition, replicas);
  const auto outcome = MapStages(instance, MappingOptions(), limits, arena, [](const MappingOutcome&) {});
  if (!outcome.has_value()) return std::nullopt;
  return PlacementOf(partition, replicas, outcome->mapping);
}

TEST(SolveParmesanTest, IsNeverWorseThanMappingPipedreamsStages) {
  TaskArena arena(1);
  SolveLimits limits;
  limits.work = 20'000;
  int compared = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Instance instance = RandomPipeline(seed);
    const ResolvedProblem problem = ResolveProblem(instance.graph, instance.problem);
    const CostTable costs(instance.graph, instance.cluster, problem.workload);
    SolverOptions options;
    if (seed % 2 == 0) {
      // Parts that are coarse and stay so are often worse than PipeDream's.
      options.clusters = 4;
      options.refinement_steps = 0;
    }
    const SearchRequest request{instance.graph, instance.cluster, problem, costs, options, Algorithm::kParmesan, {}};
    const std::optional<Placement> pipedream = PipedreamMapped(request, limits, arena);
    if (!pipedream.has_value()) continue;
    ++compared;
    SearchCallbacks callbacks;
    callbacks.objective = [&](const Placement& placement) {
      return CostPlan({instance.graph, instance.cluster, problem, costs}, placement).objective;
    };
    const absl::StatusOr<SearchOutcome> outcome = SolveParmesan(request, limits, arena, callbacks.Silenced());
    ASSERT_TRUE(outcome.ok()) << seed << outcome.status();
    EXPECT_LE(outcome->objective, callbacks.objective(*pipedream)) << seed;
  }
  EXPECT_GT(compared, 40);
}

absl::StatusOr<SearchOutcome> Solve(const Instance& instance, const SolverOptions& options) {
  TaskArena arena(1);
  SolveLimits limits;
  limits.work = 4'000;
  const ResolvedProblem problem = ResolveProblem(instance.graph, instance.problem);
  const CostTable costs(instance.graph, instance.cluster, problem.workload);
  SearchCallbacks callbacks;
  callbacks.objective = [&](const Placement& placement) {
    return CostPlan({instance.graph, instance.cluster, problem, costs}, placement).objective;
  };
  return SolveParmesan({instance.graph, instance.cluster, problem, costs, options, Algorithm::kParmesan, {}}, limits,
                       arena, callbacks.Silenced());
}

// Whether the stages, by operator, may have devices of their own.
bool FindDevices(const PlanningProblem& problem, const std::vector<int32_t>& stage_of, int32_t num_devices) {
  std::vector<int32_t> device_of(Index(num_devices));
  std::iota(device_of.begin(), device_of.end(), 0);
  const auto is_at = [&](const OperatorDevice& rule) {
    return device_of[Index(stage_of[rule.op.index()])] == static_cast<int32_t>(rule.device.index());
  };
  do {
    if (std::all_of(problem.pinned.begin(), problem.pinned.end(), is_at) &&
        std::none_of(problem.forbidden.begin(), problem.forbidden.end(), is_at)) {
      return true;
    }
  } while (std::next_permutation(device_of.begin(), device_of.end()));
  return false;
}

// Whether the operators from `stage_of.size()` on can be given stages so that a placement is feasible.
bool HasPlacement(const Instance& instance, std::vector<int32_t> stage_of) {
  const int32_t stages = *instance.problem.num_stages;
  if (stage_of.size() == instance.graph.operators.size()) {
    if (std::set<int32_t>(stage_of.begin(), stage_of.end()).size() != Index(stages)) return false;
    const auto goes_back = [&](const Tensor& tensor) {
      return stage_of[tensor.producer.index()] > stage_of[tensor.consumers.front().index()];
    };
    if (std::any_of(instance.graph.tensors.begin(), instance.graph.tensors.end(), goes_back)) return false;
    return FindDevices(instance.problem, stage_of, static_cast<int32_t>(instance.cluster.devices.size()));
  }
  stage_of.push_back(0);
  for (; stage_of.back() < stages; ++stage_of.back()) {
    if (HasPlacement(instance, stage_of)) return true;
  }
  return false;
}

// Operators on 2 to 4 devices, some of them pinned.
Instance PinnedPipeline(uint64_t seed) {
  Instance instance = RandomPipeline(seed);
  RandomStream random(seed, 2);
  instance.graph.operators.resize(5);
  std::erase_if(instance.graph.tensors, [](const Tensor& tensor) { return tensor.consumers.front().index() >= 5; });
  const auto devices = static_cast<std::size_t>(random.Between(2, 4));
  instance.cluster = MakeCluster(static_cast<int>(devices), 0);
  instance.cluster.interconnect = RandomInterconnect(devices, random);
  instance.problem.num_replicas = 1;
  instance.problem.num_stages = static_cast<int32_t>(random.Between(2, static_cast<int64_t>(devices)));
  for (std::size_t op = 0; op < 5; ++op) {
    if (random.Unit() < 0.5) instance.problem.pinned.push_back({OperatorId(op), DeviceId(random.Below(devices))});
  }
  return instance;
}

TEST(SolveParmesanTest, HonoursPinsWhereverAPlanDoes) {
  int feasible = 0;
  int infeasible = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Instance instance = PinnedPipeline(seed);
    SolverOptions options;
    if (seed % 2 == 0) options.clusters = instance.problem.num_stages;
    const bool has_placement = HasPlacement(instance, {});
    (has_placement ? feasible : infeasible) += 1;
    const absl::StatusOr<SearchOutcome> outcome = Solve(instance, options);
    EXPECT_EQ(outcome.ok(), has_placement) << seed << " " << outcome.status();
  }
  EXPECT_GT(feasible, 50);
  EXPECT_GT(infeasible, 50);
}

// Bans may leave several stages the same few devices, which stages that are made one by one do not know.
TEST(SolveParmesanTest, MostlyFindsAPlanThatBansLeave) {
  int feasible = 0;
  int found = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Instance instance = PinnedPipeline(seed);
    instance.problem.pinned.clear();
    RandomStream random(seed, 3);
    for (std::size_t op = 0; op < 5; ++op) {
      for (std::size_t device = 0; device < instance.cluster.devices.size(); ++device) {
        if (random.Unit() < 0.3) instance.problem.forbidden.push_back({OperatorId(op), DeviceId(device)});
      }
    }
    if (!HasPlacement(instance, {})) continue;
    ++feasible;
    found += Solve(instance, SolverOptions()).ok() ? 1 : 0;
  }
  EXPECT_GT(feasible, 100);
  EXPECT_GE(found, 0.88 * feasible) << found << " of " << feasible;
}

// Under ONE_F_ONE_B the first of two stages stores two micro-batches, the last one one.
TEST(SolveParmesanTest, CountsMemoryByThePlaceOfAStage) {
  Instance instance;
  for (std::size_t i = 0; i < 4; ++i) {
    Operator& op = instance.graph.operators.emplace_back(MeasuredOperator(absl::StrCat("l", i), 1, 2));
    op.activation_bytes = 10;
    if (i > 0) instance.graph.tensors.push_back(SizedTensor(absl::StrCat("t", i), i - 1, {i}, 0));
  }
  instance.cluster = SmallCluster(2, 0, UniformInterconnect{1e9, Picoseconds(0)}, /*accelerator_memory_bytes=*/30);
  instance.problem.schedule = ScheduleKind::kOneFOneB;
  instance.problem.micro_batches = 8;
  const absl::StatusOr<Plan> plan = Make(instance, By(Algorithm::kParmesan));
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->stages.size(), 2U);
  EXPECT_EQ(plan->stages[0].operators.size(), 1U);
  EXPECT_EQ(plan->stages[0].in_flight_micro_batches, 2);
}

TEST(SolveParmesanTest, SaysHowManyStagesTheGraphHas) {
  Instance instance = RandomPipeline(1);
  instance.graph.operators.resize(2);
  instance.graph.tensors.clear();
  instance.problem.num_stages = 3;
  instance.problem.num_replicas = 1;
  const absl::Status status = Solve(instance, SolverOptions()).status();
  EXPECT_TRUE(InfeasibilityOf(status).has_value()) << status;
  EXPECT_THAT(status.message(), testing::HasSubstr("make 2 parts, but 3 stages are asked for: ask for at most 2"));
}

// On four devices, 1 byte/ns between each two.
Instance TwoStagesOfTwo(Operator first, Operator second) {
  Instance instance;
  instance.graph.operators = {std::move(first), std::move(second)};
  instance.cluster = SmallCluster(4, 0, UniformInterconnect{1e9, Picoseconds(0)});
  instance.problem.replication = Replication::kUniform;
  instance.problem.num_stages = 2;
  instance.problem.num_replicas = 2;
  return instance;
}

// num-stages-wrong-message: nothing is gained by a stage of its own for what costs nothing, but that is what was asked.
TEST(SolveParmesanTest, OperatorsThatCostNothingMakeAStageWhereOneIsAskedFor) {
  Instance instance = TwoStagesOfTwo(MeasuredOperator("a", 1, 0), MeasuredOperator("b", 0, 0));
  instance.graph.tensors = {SizedTensor("x", 0, {1}, 0)};
  instance.problem.replication = Replication::kNone;
  instance.problem.num_replicas.reset();
  const absl::StatusOr<Plan> plan = Make(instance, By(Algorithm::kParmesan));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->stages.size(), 2);
  EXPECT_EQ(plan->objective, Milliseconds(1));
}

// Two operators of 1 ms in two stages of two replicas take half of that each: no bound may take them for whole.
TEST(SolveParmesanTest, BoundsKnowThatReplicasShareTheLargestOperator) {
  Instance instance = TwoStagesOfTwo(MeasuredOperator("a", 1, 0), MeasuredOperator("b", 1, 0));
  instance.graph.tensors = {SizedTensor("x", 0, {1}, 8)};
  const absl::StatusOr<Plan> plan = Make(instance, By(Algorithm::kParmesan));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_LT(plan->objective, Milliseconds(1));
  EXPECT_LE(plan->lower_bound, plan->objective);
}

// Parameters of 1 and 2 bytes, and times that make both stages take 7 ns: the stage of mean load must not
// be charged for half a byte that it does not have.
TEST(SolveParmesanTest, BoundsKnowThatParametersAreNoWholeNumberOfBytesOnAverage) {
  Instance instance = TwoStagesOfTwo(MeasuredOperator("a", 0), MeasuredOperator("b", 0));
  instance.graph.operators[0].costs[0].backward = Picoseconds(13'000);
  instance.graph.operators[1].costs[0].backward = Picoseconds(12'000);
  instance.graph.operators[0].parameter_bytes = 1;
  instance.graph.operators[1].parameter_bytes = 2;
  const absl::StatusOr<Plan> plan = Make(instance, By(Algorithm::kParmesan));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(7000));
  EXPECT_LE(plan->lower_bound, plan->objective);
}

// Two stages of two replicas, three micro-batches: no picosecond is left between the plan and the bound of its shape.
TEST(SolveParmesanTest, ProvesStagesThatAreAlike) {
  Instance instance = TwoStagesOfTwo(MeasuredOperator("a", 1, 2), MeasuredOperator("b", 1, 2));
  instance.graph.tensors = {SizedTensor("x", 0, {1}, 0)};
  instance.problem.micro_batches = 3;
  const absl::StatusOr<Plan> plan = Make(instance, By(Algorithm::kParmesan));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Milliseconds(2));
  EXPECT_EQ(plan->lower_bound, plan->objective);
}

}  // namespace
}  // namespace planwright
