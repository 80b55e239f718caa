#include "core/partition/sequence/sequence_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/zoo/zoo.h"
#include "tests/core/partition/sequence/chain_case.h"
#include "tests/property/cases.h"
#include "tests/support/mode_instance.h"

namespace planwright {
namespace {

absl::StatusOr<SearchOutcome> Solve(const SequenceCase& given, int threads = 1) {
  TaskArena arena(threads);
  SolveLimits limits;
  limits.work = 300'000;
  return SolveAlongSequences(given.Request(), limits, arena, given.Callbacks());
}

// The best placement without replicas: every map from operators to devices, stages in every order.
class SearchOracle {
 public:
  explicit SearchOracle(const SequenceCase& given) : given_(given), device_of_(given.instance.graph.operators.size()) {
    Assign(0);
  }

  std::optional<Picoseconds> best() const { return best_; }

 private:
  void Assign(std::size_t op) {
    if (op == device_of_.size()) return TryOrders();
    for (std::size_t device = 0; device < given_.instance.cluster.devices.size(); ++device) {
      device_of_[op] = device;
      Assign(op + 1);
    }
  }

  void TryOrders() {
    std::vector<std::size_t> devices = device_of_;
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    do {
      Placement placement;
      for (const std::size_t device : devices) {
        Placement::Stage& stage = placement.stages.emplace_back();
        stage.devices = {DeviceId(device)};
        for (std::size_t op = 0; op < device_of_.size(); ++op) {
          if (device_of_[op] == device) stage.operators.emplace_back(op);
        }
      }
      const std::optional<Picoseconds> cost = given_.Judge(placement);
      if (cost.has_value()) best_ = std::min(*cost, best_.value_or(*cost));
    } while (std::next_permutation(devices.begin(), devices.end()));
  }

  const SequenceCase& given_;
  std::vector<std::size_t> device_of_;
  std::optional<Picoseconds> best_;
};

// Some operators of a random graph on three devices, with pins, bans and every mode without replicas.
Instance RandomGraph(uint64_t seed) {
  RandomStream random(seed, 1);
  Instance instance = RandomChain(seed, 5, 3);
  for (std::size_t op = 2; op < 5; ++op) {
    if (random.Below(3) == 0) {
      // One draw a statement: compilers differ in which argument they look at first.
      const auto size = random.Between(0, 9);
      const auto producer = random.Below(op);
      instance.graph.tensors[op - 1] = SizedTensor("x" + std::to_string(op - 1), producer, {op}, size);
    }
    if (random.Below(5) == 0) instance.problem.pinned.push_back({OperatorId(op), DeviceId(random.Below(3))});
    if (random.Below(5) == 0) instance.problem.forbidden.push_back({OperatorId(op - 2), DeviceId(random.Below(3))});
  }
  if (instance.problem.micro_batches.has_value() && random.Below(3) == 0) {
    instance.problem.schedule = ScheduleKind::kGpipe;
  }
  return instance;
}

TEST(SolveAlongSequencesTest, MostlyFindsTheBestPlacementAndNeverClaimsABetterOne) {
  int feasible = 0;
  int optimal = 0;
  for (uint64_t seed = 0; seed < NumCases(60); ++seed) {
    SCOPED_TRACE(seed);
    const SequenceCase given(RandomGraph(seed));
    const std::optional<Picoseconds> best = SearchOracle(given).best();
    const absl::StatusOr<SearchOutcome> outcome = Solve(given);
    if (!best.has_value()) {
      EXPECT_FALSE(outcome.ok());
      continue;
    }
    ++feasible;
    if (!outcome.ok()) continue;
    EXPECT_TRUE(given.IsFeasible(outcome->placement));
    EXPECT_EQ(outcome->objective, given.Cost(outcome->placement));
    EXPECT_GE(outcome->objective, *best);
    for (const Bound& bound : outcome->bounds) EXPECT_LE(bound.value, *best);
    optimal += outcome->objective == *best ? 1 : 0;
  }
  EXPECT_GT(feasible, 25);
  EXPECT_GE(optimal, 0.95 * feasible) << optimal << " of " << feasible;
}

TEST(SolveAlongSequencesTest, PlacementsOfEveryModeAreFeasible) {
  for (const InstanceMode mode : {InstanceMode::kContiguous, InstanceMode::kReplicated, InstanceMode::kHierarchy,
                                  InstanceMode::kTopology, InstanceMode::kSteps}) {
    int found = 0;
    for (uint64_t seed = 0; seed < NumCases(40); ++seed) {
      SCOPED_TRACE(seed);
      const SequenceCase given(MakeModeInstance(mode, seed, 8));
      const absl::StatusOr<SearchOutcome> outcome = Solve(given);
      if (!outcome.ok()) continue;
      ++found;
      EXPECT_TRUE(given.IsFeasible(outcome->placement));
      EXPECT_EQ(outcome->objective, given.Cost(outcome->placement));
    }
    EXPECT_GT(found, 20) << static_cast<int>(mode);
  }
}

TEST(SolveAlongSequencesTest, AnswersTheSameForAnyThreads) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const SequenceCase given(RandomGraph(seed));
    const absl::StatusOr<SearchOutcome> one = Solve(given);
    const absl::StatusOr<SearchOutcome> two = Solve(given, 2);
    ASSERT_EQ(one.ok(), two.ok());
    if (one.ok()) {
      EXPECT_EQ(one->objective, two->objective);
    }
  }
}

TEST(SolveAlongSequencesTest, ReplicatesStagesOfTheirOwn) {
  Instance instance;
  instance.graph.operators = {MeasuredOperator("short", 1), MeasuredOperator("long", 3)};
  instance.graph.tensors = {SizedTensor("x", 0, {1}, 0)};
  instance.cluster = SmallCluster(4, 0, UniformInterconnect{1e9, Picoseconds(0)});
  instance.problem.replication = Replication::kPerStage;
  const SequenceCase given(std::move(instance));
  const absl::StatusOr<SearchOutcome> outcome = Solve(given);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->objective.count(), 1'000'000'000);
}

TEST(SolveAlongSequencesTest, UsesNoMoreDevicesThanAllowed) {
  Instance instance = RandomChain(1, 6, 4);
  instance.problem = {};
  instance.cluster.device_classes[0].memory_bytes.reset();
  const SequenceCase given(std::move(instance));
  SearchRequest request = given.Request();
  request.device_limits = {{{DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)}, 2}};
  TaskArena arena(1);
  const absl::StatusOr<SearchOutcome> outcome = SolveAlongSequences(request, SolveLimits(), arena, given.Callbacks());
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_LE(outcome->placement.stages.size(), 2U);
}

struct Job {
  const char* model;
  const char* cluster;
  Replication replication;
};

class RealJobTest : public testing::TestWithParam<Job> {};

// Jobs whose first stages have room for the micro-batches in flight only where the last ones are counted with fewer.
TEST_P(RealJobTest, HasAPlanUnderOneFOneB) {
  const absl::StatusOr<OperatorGraph> graph = MakeZooModel(GetParam().model);
  const absl::StatusOr<Cluster> cluster = MakeZooCluster(GetParam().cluster);
  ASSERT_TRUE(graph.ok() && cluster.ok());
  Instance instance{*graph, *cluster, {}};
  instance.problem.schedule = ScheduleKind::kOneFOneB;
  instance.problem.micro_batches = 64;
  instance.problem.memory_model.preset = "adam_mixed";
  instance.problem.granularity = Granularity::kLayer;
  instance.problem.replication = GetParam().replication;
  const SequenceCase given(std::move(instance));
  TaskArena arena(1);
  SolveLimits limits;
  limits.work = 2'000'000;
  const absl::StatusOr<SearchOutcome> outcome = SolveAlongSequences(given.Request(), limits, arena, given.Callbacks());
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(given.IsFeasible(outcome->placement));
}

INSTANTIATE_TEST_SUITE_P(Zoo, RealJobTest,
                         testing::Values(Job{"llama2-70b?sequence=2048", "dgx-h100:4", Replication::kNone},
                                         Job{"llama3-70b?sequence=4096", "dgx-h100:8", Replication::kNone},
                                         Job{"gpt-175b", "dgx-a100:11", Replication::kNone},
                                         Job{"gpt-175b", "dgx-a100:48", Replication::kUniform}));

// What hierarchical_dp missed by four times (a device of a pair reserves memory): idle devices lie between busy ones.
TEST(SolveAlongSequencesTest, LeavesOutTheDeviceThatHasLessMemory) {
  Instance instance;
  instance.graph.operators = {MeasuredOperator("a", 10), MeasuredOperator("b", 5), MeasuredOperator("c", 6)};
  const int64_t memory[] = {2, 1, 3};
  for (std::size_t op = 0; op < 3; ++op) instance.graph.operators[op].memory_bytes = memory[op];
  instance.graph.tensors = {SizedTensor("x", 0, {1}, 0), SizedTensor("y", 1, {2}, 7777)};
  instance.cluster = SmallCluster(4, 0, HierarchyInterconnect{{{2, 4e6, Picoseconds(0)}, {2, 4e5, Picoseconds(0)}}});
  instance.cluster.device_classes[0].memory_bytes = 3;
  instance.cluster.devices[2].reserved_memory_bytes = 1;
  const SequenceCase given(std::move(instance));
  const absl::StatusOr<SearchOutcome> outcome = Solve(given);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->objective, SearchOracle(given).best());
}

}  // namespace
}  // namespace planwright
