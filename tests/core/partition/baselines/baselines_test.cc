#include "core/partition/baselines/baselines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/cost/plan_costing.h"
#include "core/partition/baselines/proposals.h"
#include "core/verify/verify.h"
#include "tests/support/builders.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A request and all that it refers to.
struct Posed {
  OperatorGraph graph;
  Cluster cluster = MakeCluster(2, 1);
  PlanningProblem problem;
  SolverOptions options;
  SolveLimits limits;

  absl::StatusOr<SearchOutcome> Run(Algorithm algorithm) const {
    const ResolvedProblem resolved = ResolveProblem(graph, problem);
    const CostTable costs(graph, cluster, resolved.workload);
    SearchCallbacks callbacks;
    callbacks.objective = [&](const Placement& placement) {
      return CostPlan({graph, cluster, resolved, costs}, placement).objective;
    };
    callbacks.objection = [&](const Placement& placement) {
      const Verdict verdict = VerifyPlacement({graph, cluster, resolved}, placement);
      return verdict.violations.empty() ? "" : verdict.violations.listed().front().rule;
    };
    TaskArena arena(1);
    return MakeBaseline({graph, cluster, resolved, costs, options, algorithm, {}}, limits, arena, callbacks);
  }

  std::vector<OperatorId> AddChain(int length) {
    std::vector<OperatorId> chain;
    for (int i = 0; i < length; ++i) {
      chain.push_back(AddOperator(graph, "op" + std::to_string(i), 10, 100));
      graph.operators.back().memory_bytes = 1;
      if (i > 0) AddTensor(graph, chain[chain.size() - 2], {chain.back()}, 1);
    }
    return chain;
  }
};

std::string MessageOf(const absl::StatusOr<SearchOutcome>& outcome) { return std::string(outcome.status().message()); }

TEST(SingleDeviceTest, TakesTheDeviceWhereEverythingTakesLeast) {
  Posed posed;
  posed.AddChain(4);
  const auto outcome = posed.Run(Algorithm::kSingleDevice);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->objective, Picoseconds(40));
  EXPECT_EQ(outcome->algorithm, "single_device");
  ASSERT_THAT(outcome->placement.stages, SizeIs(1));
  EXPECT_EQ(outcome->placement.stages[0].devices, std::vector{DeviceId(0)});
}

TEST(SingleDeviceTest, TakesTheCpuWhereAcceleratorsAreTooSmall) {
  Posed posed;
  posed.cluster = MakeCluster(2, 1, /*accelerator_memory_bytes=*/3);
  posed.AddChain(4);
  const auto outcome = posed.Run(Algorithm::kSingleDevice);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->objective, Picoseconds(400));
}

TEST(SingleDeviceTest, SaysWhyThereIsNoPlan) {
  Posed posed;
  posed.cluster = MakeCluster(2, 0, /*accelerator_memory_bytes=*/3);
  posed.AddChain(4);
  const auto outcome = posed.Run(Algorithm::kSingleDevice);
  EXPECT_TRUE(IsNoPlanFound(outcome.status())) << outcome.status();
  EXPECT_THAT(MessageOf(outcome), HasSubstr("single_device makes no plan that the problem allows"));

  Posed unsupported;
  unsupported.cluster = MakeCluster(1, 0);
  const OperatorId op = AddOperator(unsupported.graph, "sort", 1, 1);
  unsupported.graph.operators[op.index()].unsupported_device_classes = {kAcceleratorClass};
  EXPECT_THAT(MessageOf(unsupported.Run(Algorithm::kSingleDevice)),
              HasSubstr("devices of class \"accelerator\" cannot run operator \"sort\""));
}

TEST(DataParallelTest, DividesTheLoadByTheReplicas) {
  Posed posed;
  posed.AddChain(4);
  posed.problem.replication = Replication::kPerStage;
  const auto outcome = posed.Run(Algorithm::kDataParallel);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->objective, Picoseconds(20));
  ASSERT_THAT(outcome->placement.stages, SizeIs(1));
  EXPECT_THAT(outcome->placement.stages[0].devices, ElementsAre(DeviceId(0), DeviceId(1)));
}

TEST(GreedyTest, FillsDevicesUpToTheLeastLoadForThroughput) {
  Posed posed;
  posed.AddChain(6);
  const auto outcome = posed.Run(Algorithm::kGreedy);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->objective, Picoseconds(31));
}

// 4 bytes fit on an accelerator: two operators of the chain of 6 are left for the CPU, which takes 100 for each, after
// 40 + 1 + 1 of the first accelerator. With one more accelerator they run there.
TEST(GreedyTest, FillsMemoryForLatency) {
  Posed posed;
  posed.problem.objective = Objective::kMinLatency;
  posed.cluster = MakeCluster(1, 1, /*accelerator_memory_bytes=*/4);
  posed.AddChain(6);
  const auto with_cpu = posed.Run(Algorithm::kGreedy);
  ASSERT_TRUE(with_cpu.ok()) << with_cpu.status();
  EXPECT_EQ(with_cpu->objective, Picoseconds(40 + 1 + 200));
  posed.cluster = MakeCluster(2, 1, /*accelerator_memory_bytes=*/4);
  const auto with_two = posed.Run(Algorithm::kGreedy);
  ASSERT_TRUE(with_two.ok()) << with_two.status();
  EXPECT_EQ(with_two->objective, Picoseconds(41 + 1 + 20));
}

TEST(GreedyTest, NeedsACpuForWhatIsLeft) {
  Posed posed;
  posed.problem.objective = Objective::kMinLatency;
  posed.cluster = MakeCluster(1, 0, /*accelerator_memory_bytes=*/4);
  posed.AddChain(6);
  const auto outcome = posed.Run(Algorithm::kGreedy);
  EXPECT_TRUE(IsNoPlanFound(outcome.status()));
  EXPECT_THAT(MessageOf(outcome), HasSubstr("not every operator finds a device"));
}

TEST(MaxLoadTest, RunsTheSplitOfGreatestThroughputForOneMicroBatch) {
  Posed posed;
  posed.problem.objective = Objective::kMinLatency;
  posed.cluster = MakeCluster(2, 1);
  posed.AddChain(6);
  const auto outcome = posed.Run(Algorithm::kMaxLoad);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  // Three operators on each accelerator.
  EXPECT_EQ(outcome->objective, Picoseconds(31 + 31));
}

TEST(LocalSearchTest, ReachesALocalOptimumOfTheNonContiguousProblem) {
  Posed posed;
  // Nothing between them: any balanced assignment is optimal, and contiguous.
  for (int i = 0; i < 8; ++i) AddOperator(posed.graph, "op" + std::to_string(i), 10, 100);
  const auto outcome = posed.Run(Algorithm::kLocalSearch);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->objective, Picoseconds(40));
  EXPECT_EQ(outcome->counters.at("restarts"), 10);
  EXPECT_GT(outcome->counters.at("moves"), 0);
}

TEST(LocalSearchTest, EndsByWorkAndByStopRequest) {
  Posed posed;
  posed.AddChain(30);
  posed.options.work_limit = 5;
  EXPECT_THAT(MessageOf(posed.Run(Algorithm::kLocalSearch)), HasSubstr("no plan was found within the work limit"));
  posed.options.work_limit.reset();
  const std::stop_source stop;
  stop.request_stop();
  posed.limits.stop = stop.get_token();
  EXPECT_EQ(posed.Run(Algorithm::kLocalSearch).status().code(), absl::StatusCode::kCancelled);
}

// A diamond between two chains: its tails, a and the two branches, become one block; the mask that everything reads
// takes no time and makes no branching.
TEST(PipedreamTest, ContractsBranchings) {
  Posed posed;
  const OperatorId a = AddOperator(posed.graph, "a", 10, 100);
  const OperatorId left = AddOperator(posed.graph, "left", 10, 100);
  const OperatorId right = AddOperator(posed.graph, "right", 10, 100);
  const OperatorId join = AddOperator(posed.graph, "join", 10, 100);
  const OperatorId end = AddOperator(posed.graph, "end", 10, 100);
  const OperatorId mask = AddOperator(posed.graph, "mask", 0, 0);
  AddTensor(posed.graph, a, {left, right}, 1);
  AddTensor(posed.graph, left, {join}, 1);
  AddTensor(posed.graph, right, {join}, 1);
  AddTensor(posed.graph, join, {end}, 1);
  AddTensor(posed.graph, mask, {a, left, right, join, end}, 0);
  const ResolvedProblem problem = ResolveProblem(posed.graph, posed.problem);
  const CostTable costs(posed.graph, posed.cluster, problem.workload);
  const OperatorGraph contracted =
      ContractBranchings({posed.graph, posed.cluster, problem, costs, posed.options, Algorithm::kPipedream, {}});
  const auto group_of = [&](OperatorId op) { return contracted.operators[op.index()].colocation_group; };
  EXPECT_EQ(group_of(left), group_of(a));
  EXPECT_EQ(group_of(right), group_of(a));
  EXPECT_NE(group_of(join), group_of(a));
  EXPECT_NE(group_of(end), group_of(join));
  EXPECT_NE(group_of(mask), group_of(a));
  const auto outcome = posed.Run(Algorithm::kPipedream);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->objective, Picoseconds(32));
}

TEST(ScotchTest, BalancesWhatHangsTogether) {
  if (!HasScotch()) GTEST_SKIP() << "this build has no Scotch";
  Posed posed;
  posed.AddChain(40);
  const auto outcome = posed.Run(Algorithm::kScotch);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  // Half of the chain on each accelerator, give or take a few operators.
  EXPECT_LE(outcome->objective, Picoseconds(225));
  EXPECT_EQ(posed.Run(Algorithm::kScotch)->objective, outcome->objective);
}

// Every baseline on instances of every shape: what comes out is feasible and costs what it says, the same every time;
// otherwise the answer is NO_PLAN_FOUND.
TEST(BaselinesTest, MakeOnlyPlansThatTheProblemAllows) {
  constexpr Algorithm kBaselines[] = {Algorithm::kSingleDevice, Algorithm::kGreedy, Algorithm::kLocalSearch,
                                      Algorithm::kPipedream, Algorithm::kScotch};
  int planned = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Instance instance = MakeRandomInstance(seed);
    Posed posed{std::move(instance.graph), std::move(instance.cluster), std::move(instance.problem), {}, {}};
    for (const Algorithm algorithm : kBaselines) {
      if (algorithm == Algorithm::kScotch && !HasScotch()) continue;
      const auto outcome = posed.Run(algorithm);
      if (!outcome.ok()) {
        EXPECT_TRUE(IsNoPlanFound(outcome.status())) << seed << ": " << outcome.status();
        continue;
      }
      ++planned;
      const Verdict verdict =
          VerifyPlacement({posed.graph, posed.cluster, ResolveProblem(posed.graph, posed.problem)}, outcome->placement);
      EXPECT_TRUE(verdict.violations.empty()) << seed;
      EXPECT_EQ(verdict.costed->objective, outcome->objective) << seed;
      EXPECT_EQ(posed.Run(algorithm)->objective, outcome->objective) << seed;
    }
  }
  EXPECT_GT(planned, 500);
}

}  // namespace
}  // namespace planwright
