// One test for each defect that an attack on plans found (issue 14): the smallest instance of the same kind, and what
// brute force or a plan made by hand reaches on it. Times are picoseconds, links move a byte in one.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/planner/plan_simulation.h"
#include "core/verify/verify.h"
#include "tests/property/brute_force.h"
#include "tests/property/latency_brute_force.h"
#include "tests/property/metamorphosis.h"
#include "tests/property/planning.h"
#include "tests/support/builders.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

constexpr double kBytePerPicosecond = 1e12;

// A forward operator with a backward pass that takes `backward` on every class.
Operator& AddTrained(Instance& instance, int64_t forward, int64_t backward, int64_t activation_bytes = 0,
                     int64_t parameter_bytes = 0) {
  OperatorGraph& graph = instance.graph;
  const OperatorId id = AddOperator(graph, absl::StrCat("o", graph.operators.size()), forward, forward);
  Operator& op = graph.operators[id.index()];
  for (OperatorCost& cost : op.costs) cost.backward = Picoseconds(backward);
  op.activation_bytes = activation_bytes;
  op.parameter_bytes = parameter_bytes;
  return op;
}

void Connect(Instance& instance, std::size_t producer, const std::vector<std::size_t>& consumers, int64_t size_bytes) {
  std::vector<OperatorId> ids;
  for (const std::size_t consumer : consumers) ids.emplace_back(consumer);
  AddTensor(instance.graph, OperatorId(producer), ids, 0, size_bytes);
  instance.graph.tensors.back().transfer.reset();
}

Instance OnAccelerators(int count, std::optional<int64_t> memory_bytes = std::nullopt) {
  Instance instance;
  instance.cluster = MakeCluster(count, 0, memory_bytes);
  instance.cluster.interconnect = UniformInterconnect{kBytePerPicosecond, Picoseconds(0)};
  return instance;
}

// The default search finds what brute force finds, and proves it. Returns its plan, without stages where it has none.
Plan ExpectOptimal(const Instance& instance, int64_t expected) {
  const std::optional<Picoseconds> optimum = instance.problem.objective == Objective::kMinLatency
                                                 ? NaiveLatencyJudge(instance).Optimum()
                                                 : NaiveJudge(instance).Optimum();
  EXPECT_EQ(optimum, Picoseconds(expected)) << Describe(instance);
  SolverOptions options;
  options.work_limit = 3'000'000;
  absl::StatusOr<Plan> plan = MakePlanOf(instance, options);
  EXPECT_TRUE(plan.ok()) << plan.status() << "\n" << Describe(instance);
  if (!plan.ok()) return {};
  EXPECT_EQ(plan->objective, Picoseconds(expected)) << Describe(instance);
  EXPECT_TRUE(plan->provenance.proven_optimal) << "bound " << plan->lower_bound.count();
  return *std::move(plan);
}

Plan Judged(const Instance& instance, const Placement& placement) {
  const ResolvedProblem problem = ResolveProblem(instance.graph, instance.problem);
  const Verdict verdict = VerifyPlacement({instance.graph, instance.cluster, problem}, placement);
  EXPECT_TRUE(verdict.violations.empty()) << verdict.violations.ToStatus();
  return verdict.costed.value_or(Plan());
}

PlanSimulation Simulated(const Instance& instance, const Placement& placement, int32_t micro_batches) {
  SimulationSettings settings;
  settings.micro_batches = micro_batches;
  absl::StatusOr<PlanSimulation> simulation = SimulatePlacement(
      {instance.graph, instance.cluster, instance.problem, SolverOptions()}, ModelLimits(), placement, settings);
  EXPECT_TRUE(simulation.ok()) << simulation.status();
  return simulation.ok() ? *std::move(simulation) : PlanSimulation();
}

Placement::Stage StageOf(const std::vector<std::size_t>& operators, const std::vector<std::size_t>& devices) {
  Placement::Stage stage;
  for (const std::size_t op : operators) stage.operators.emplace_back(op);
  for (const std::size_t device : devices) stage.devices.emplace_back(device);
  return stage;
}

// 1f1b-in-flight-of-first-stage: every stage was counted with the micro-batches in flight of the first.
TEST(DefectsTest, TheLastStageOfOneFOneBKeepsOneMicroBatch) {
  Instance instance = OnAccelerators(2, 30);
  for (int i = 0; i < 4; ++i) AddTrained(instance, 8, 16, /*activation_bytes=*/10);
  for (std::size_t i = 0; i < 3; ++i) Connect(instance, i, {i + 1}, 0);
  instance.problem.schedule = ScheduleKind::kOneFOneB;
  instance.problem.micro_batches = 8;
  // {o0} keeps 2 x 10 bytes, {o1, o2, o3} 1 x 30: (8 + 2 - 1) x 72 / 8.
  ExpectOptimal(instance, 81);
}

// async-components-matrix-2x.
TEST(DefectsTest, StagesOfAsynchronousPipelinesAreCountedByTheirPlace) {
  Instance instance = OnAccelerators(4, 304);
  MatrixInterconnect matrix;
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) matrix.bandwidth_bytes_per_second.push_back((a + b) % 4 == 1 ? 1e12 : 1e11);
  }
  instance.cluster.interconnect = matrix;
  for (const int64_t activation_bytes : {100, 150, 300}) AddTrained(instance, 4, 8, activation_bytes);
  for (std::size_t i = 0; i < 2; ++i) Connect(instance, i, {i + 1}, 1);
  instance.problem.schedule = ScheduleKind::kPipedreamAsync;
  // Three stages keep 3 x 100, 2 x 150 and 1 x 300 bytes; nothing else fits. The middle one has a slow link.
  ExpectOptimal(instance, 12 + 2 * 1 + 2 * 10);
}

// data-parallel-overcharged: a whole all-reduce was charged to every micro-batch.
TEST(DefectsTest, ReplicasReduceTheirGradientsOnceARound) {
  Instance instance = OnAccelerators(4);
  AddTrained(instance, 16, 24, 0, /*parameter_bytes=*/8);
  AddTrained(instance, 4, 4, 0, /*parameter_bytes=*/8);
  Connect(instance, 0, {1}, 1);
  instance.problem.replication = Replication::kPerStage;
  // (48 + 1.5 x 16) / 4.
  const Plan plan = ExpectOptimal(instance, 18);
  instance.problem.schedule = ScheduleKind::kPipedreamAsync;
  EXPECT_LE(Simulated(instance, PlacementOf(plan), 256).period, Picoseconds(18));
}

// hierarchy-more-devices-worse: branches that are best left on one of two machines were left on one device.
TEST(DefectsTest, TwoMachinesAreNoWorseThanOne) {
  Instance instance = OnAccelerators(4);
  instance.cluster.interconnect = HierarchyInterconnect{{{2, 1e12, Picoseconds(0)}, {2, 1e10, Picoseconds(0)}}};
  for (std::size_t i = 0; i < 4; ++i) instance.cluster.devices[i].host = i < 2 ? "host0" : "host1";
  AddTrained(instance, 1, 1);
  for (int branch = 0; branch < 4; ++branch) AddTrained(instance, 10, 10);
  AddTrained(instance, 1, 1);
  Connect(instance, 0, {1, 2, 3, 4}, 1);
  for (std::size_t branch = 1; branch < 5; ++branch) Connect(instance, branch, {5}, 1);
  Instance half = instance;
  half.problem.devices_to_use.hosts = {"host0"};
  const absl::StatusOr<Plan> on_half = MakePlanOf(half);
  ASSERT_TRUE(on_half.ok()) << on_half.status();
  EXPECT_LT(on_half->objective, Picoseconds(84));
  ExpectOptimal(instance, on_half->objective.count());
}

// hierarchy-unequal-memory-4x: the first devices of a group were taken, whatever they reserve.
TEST(DefectsTest, ReservedMemoryDecidesWhichDevicesOfAHierarchyAreTaken) {
  Instance instance = OnAccelerators(4, 3);
  instance.cluster.interconnect = HierarchyInterconnect{{{2, 4e12, Picoseconds(0)}, {2, 1e11, Picoseconds(0)}}};
  instance.cluster.devices[2].reserved_memory_bytes = 1;
  const std::pair<int64_t, int64_t> times_and_memory[] = {{10, 2}, {6, 1}, {5, 3}};
  for (const auto& [time, memory_bytes] : times_and_memory) AddTrained(instance, time, 0).memory_bytes = memory_bytes;
  instance.problem.workload = Workload::kInference;
  Connect(instance, 0, {1, 2}, 0);
  Connect(instance, 1, {2}, 8);
  // o1 and o2 are neighbours, 2 ps apart; o2 does not fit on the device that reserves memory.
  ExpectOptimal(instance, 10);
}

// input-order-*: another order of the same operators got another plan, and the search stopped after a millisecond.
class InputOrderTest : public ::testing::TestWithParam<int> {};

Instance TwoClassesInSteps() {
  Instance instance = OnAccelerators(2);
  instance.cluster.device_classes[1].kind = DeviceKind::kAccelerator;
  instance.cluster.devices[1].device_class = DeviceClassId(1);
  const std::pair<int64_t, int64_t> times[] = {{1, 2},  {0, 0},   {16, 8},  {108, 432},
                                               {16, 0}, {40, 80}, {16, 64}, {64, 0}};
  for (const auto& [first, second] : times) {
    Operator& op = AddTrained(instance, first, 0);
    op.memory_bytes = 1;
    op.costs[1].forward = Picoseconds(second);
    if (second == 0 && first > 0) op.costs.pop_back();
  }
  Connect(instance, 0, {1, 5}, 8);
  Connect(instance, 1, {6}, 5);
  Connect(instance, 2, {5}, 16);
  Connect(instance, 3, {7}, 5);
  Connect(instance, 5, {6}, 0);
  Connect(instance, 6, {7}, 5);
  instance.problem.schedule = ScheduleKind::kOneFOneB;
  instance.problem.micro_batches = 8;
  return instance;
}

Instance SixDevicesInNodes() {
  Instance instance = OnAccelerators(6);
  NodesInterconnect nodes;
  nodes.devices_per_node = 2;
  nodes.bandwidth_bytes_per_second = 1e12;
  nodes.levels = {{3, 5e11, Picoseconds(1)}};
  instance.cluster.interconnect = nodes;
  const std::pair<int64_t, int64_t> times[] = {{40, 120}, {8, 16}, {40, 120}, {25, 50},
                                               {40, 80},  {0, 0},  {9, 27},   {24, 48}};
  for (const auto& [forward, backward] : times) AddTrained(instance, forward, backward, /*activation_bytes=*/10);
  Connect(instance, 0, {2, 3}, 24);
  Connect(instance, 1, {2}, 12);
  Connect(instance, 1, {5, 6, 7}, 62);
  Connect(instance, 2, {3, 6}, 62);
  Connect(instance, 4, {5}, 12);
  Connect(instance, 5, {7}, 12);
  Connect(instance, 6, {7}, 8);
  instance.problem.overlap = Overlap::kOverlapped;
  instance.problem.micro_batches = 2;
  return instance;
}

Instance FiveDevicesOnLinks() {
  Instance instance = OnAccelerators(4);
  LinksInterconnect links;
  for (std::size_t i = 1; i < 4; ++i) {
    links.links.push_back({DeviceId(i - 1), DeviceId(i), i == 2 ? 2.5e11 : 1e12, Picoseconds(0)});
  }
  instance.cluster.interconnect = links;
  const int64_t times[] = {12, 40, 30, 8, 25, 16, 50};
  for (const int64_t time : times) AddTrained(instance, time, 2 * time);
  Connect(instance, 0, {1, 2}, 9);
  Connect(instance, 1, {4}, 3);
  Connect(instance, 2, {4, 5}, 12);
  Connect(instance, 3, {5}, 1);
  Connect(instance, 5, {6}, 6);
  instance.problem.overlap = Overlap::kOverlapped;
  return instance;
}

TEST_P(InputOrderTest, AnyOrderOfTheInputGivesTheSameAnswer) {
  constexpr std::array kMakers = {&TwoClassesInSteps, &SixDevicesInNodes, &FiveDevicesOnLinks};
  const Instance instance = kMakers.at(static_cast<std::size_t>(GetParam()))();
  SolverOptions options;
  options.work_limit = 200'000;
  const absl::StatusOr<Plan> plan = MakePlanOf(instance, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (uint64_t seed = 0; seed < 4; ++seed) {
    RandomStream random(seed);
    const absl::StatusOr<Plan> other = MakePlanOf(WithGraphShuffled(instance, random, seed % 2 == 1), options);
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ(other->objective, plan->objective);
    EXPECT_EQ(other->lower_bound, plan->lower_bound);
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, InputOrderTest, ::testing::Values(0, 1, 2));

// latency-stuck-168pct: a colocation union was never spread over two subgraphs of one device.
TEST(DefectsTest, AUnionMayBeSpreadOverTwoSubgraphs) {
  Instance instance;
  instance.cluster = MakeCluster(3, 1, 8);
  instance.cluster.interconnect = HostStagedInterconnect{kBytePerPicosecond, Picoseconds(0)};
  const auto add = [&](int64_t accelerator, int64_t cpu, int64_t memory_bytes) -> Operator& {
    Operator& op = AddTrained(instance, accelerator, 0);
    op.costs[1].forward = Picoseconds(cpu);
    op.memory_bytes = memory_bytes;
    return op;
  };
  add(12, 12, 3).colocation_group = "union";
  add(0, 0, 5).type = kInputOperatorType;
  add(0, 0, 5).type = kInputOperatorType;
  add(52, 208, 1).colocation_group = "union";
  add(8, 0, 5).costs.pop_back();
  Connect(instance, 0, {1}, 2);
  Connect(instance, 1, {2, 4}, 3);
  Connect(instance, 2, {3}, 6);
  Connect(instance, 3, {4}, 2);
  instance.problem.objective = Objective::kMinLatency;
  instance.problem.split = Split::kNonContiguous;
  instance.problem.max_subgraphs_per_device = 2;
  // o0 on an accelerator 12 + 2, its inputs on CPUs, o3 on the same accelerator 6 + 52 + 2, o4 on another 3 + 2 + 8.
  ExpectOptimal(instance, 14 + 60 + 13);
}

// links-direct-link-ignored: a pair with a link of its own was routed over others.
TEST(DefectsTest, ADirectLinkIsUsedAsItIs) {
  Instance instance = OnAccelerators(3);
  LinksInterconnect links;
  links.links = {{DeviceId(0), DeviceId(1), 5e11, Picoseconds(0)},
                 {DeviceId(0), DeviceId(2), 1.5e12, Picoseconds(1)},
                 {DeviceId(1), DeviceId(2), 1.5e12, Picoseconds(10)}};
  instance.cluster.interconnect = links;
  AddTrained(instance, 5, 0);
  AddTrained(instance, 3, 0);
  instance.problem.workload = Workload::kInference;
  Connect(instance, 0, {1}, 3);
  EXPECT_EQ(Judged(instance, {{StageOf({0}, {0}), StageOf({1}, {1})}}).objective, Picoseconds(5 + 6));
}

// links-trivial-no-plan: three operators, independent of each other, on two devices.
TEST(DefectsTest, IndependentOperatorsArePackedIntoStages) {
  Instance instance = OnAccelerators(2, 5);
  LinksInterconnect links;
  links.links = {{DeviceId(0), DeviceId(1), 2e12, Picoseconds(1)}};
  instance.cluster.interconnect = links;
  AddTrained(instance, 0, 0).memory_bytes = 1;
  instance.graph.operators[0].type = kInputOperatorType;
  AddTrained(instance, 5, 10).memory_bytes = 5;
  AddTrained(instance, 13, 13).memory_bytes = 1;
  instance.problem.overlap = Overlap::kFullDuplex;
  ExpectOptimal(instance, 26);
}

// more-nodes-no-plan: with more machines the first stages of longer pipelines did not fit, and nothing else was tried.
TEST(DefectsTest, MoreMachinesNeverTakeThePlanAway) {
  constexpr std::size_t kLayers = 12;
  std::optional<Picoseconds> before;
  for (int32_t machines = 2; machines <= 8; ++machines) {
    Instance instance = OnAccelerators(2 * machines, 135);
    instance.cluster.interconnect =
        HierarchyInterconnect{{{2, 1e12, Picoseconds(0)}, {machines, 2.5e11, Picoseconds(1)}}};
    // With all layers apart the first one would keep 12 x 10 bytes.
    for (std::size_t i = 0; i < kLayers; ++i) AddTrained(instance, 10, 20, i == 0 ? 10 : 6, /*parameter_bytes=*/8);
    for (std::size_t i = 1; i < kLayers; ++i) Connect(instance, i - 1, {i}, 1);
    instance.problem.schedule = ScheduleKind::kOneFOneB;
    instance.problem.replication = Replication::kUniform;
    instance.problem.micro_batches = 16;
    SolverOptions options;
    options.work_limit = 200'000;
    const absl::StatusOr<Plan> plan = MakePlanOf(instance, options);
    if (!plan.ok() && !before.has_value()) continue;
    ASSERT_TRUE(plan.ok()) << machines << " machines: " << plan.status();
    if (before.has_value()) {
      EXPECT_LE(plan->objective, *before) << machines << " machines";
    }
    before = plan->objective;
  }
  EXPECT_TRUE(before.has_value());
}

// num-stages-wrong-message: two operators in two stages, one of which takes no time.
TEST(DefectsTest, AnOperatorThatTakesNoTimeMayBeAStage) {
  Instance instance = OnAccelerators(4, 16'000);
  AddTrained(instance, 1, 0, 50, 100);
  AddTrained(instance, 0, 0);
  Connect(instance, 0, {1}, 0);
  instance.problem.num_stages = 2;
  ExpectOptimal(instance, 1);
}

// overlap-1f1b-closed-form-not-upper-bound: with transfers beside the devices, as many micro-batches in flight as
// stages do not keep the pace.
TEST(DefectsTest, TheClosedFormBoundsOverlappedSteps) {
  for (const Overlap overlap : {Overlap::kSerial, Overlap::kOverlapped, Overlap::kFullDuplex}) {
    Instance instance = OnAccelerators(4);
    for (int i = 0; i < 4; ++i) AddTrained(instance, 10, 20).memory_bytes = 1;
    for (std::size_t i = 1; i < 4; ++i) Connect(instance, i - 1, {i}, 14);
    instance.problem.overlap = overlap;
    instance.problem.schedule = ScheduleKind::kOneFOneB;
    instance.problem.micro_batches = 16;
    const Placement placement{{StageOf({0}, {0}), StageOf({1}, {1}), StageOf({2}, {2}), StageOf({3}, {3})}};
    EXPECT_LE(Simulated(instance, placement, 16).report.step_time, Judged(instance, placement).estimate.step_time);
  }
}

// per-stage-in-flight: with 2 micro-batches in flight three replicas cannot be busy.
TEST(DefectsTest, AStageHoldsAMicroBatchForEachReplicaBehindIt) {
  Instance instance = OnAccelerators(4);
  AddTrained(instance, 4, 8).memory_bytes = 1;
  AddTrained(instance, 12, 24).memory_bytes = 1;
  Connect(instance, 0, {1}, 0);
  instance.problem.replication = Replication::kPerStage;
  instance.problem.schedule = ScheduleKind::kPipedreamAsync;
  const Placement placement{{StageOf({0}, {0}), StageOf({1}, {1, 2, 3})}};
  const Plan plan = Judged(instance, placement);
  EXPECT_EQ(plan.objective, Picoseconds(12));
  EXPECT_EQ(plan.stages.front().in_flight_micro_batches, 4);
  EXPECT_LE(Simulated(instance, placement, 120).period, Picoseconds(12));
}

// perstage-matrix-hetero-2x: two classes on a matrix, replicas of each.
TEST(DefectsTest, EachClassOfAMatrixHasReplicas) {
  Instance instance = OnAccelerators(4, 2000);
  instance.cluster.device_classes[1].kind = DeviceKind::kAccelerator;
  instance.cluster.device_classes[1].memory_bytes = 4000;
  for (const std::size_t device : {1, 3}) instance.cluster.devices[device].device_class = DeviceClassId(1);
  instance.cluster.devices[1].reserved_memory_bytes = 10;
  MatrixInterconnect matrix;
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) matrix.bandwidth_bytes_per_second.push_back(1e12 * (1 + (a + b) % 3));
  }
  instance.cluster.interconnect = matrix;
  AddTrained(instance, 20, 20, 50, 4);
  AddTrained(instance, 10, 20, 200, 0).costs[1].forward = Picoseconds(20);
  instance.graph.operators[1].costs[1].backward = Picoseconds(40);
  Connect(instance, 0, {1}, 2);
  instance.problem.overlap = Overlap::kFullDuplex;
  instance.problem.replication = Replication::kPerStage;
  // o0 on the two devices of the second class, o1 on the two of the first.
  ExpectOptimal(instance, 20);
}

// pinned-uniform-46pct: pins sent a small problem to a heuristic.
TEST(DefectsTest, PinsLeaveSmallProblemsProven) {
  Instance instance = OnAccelerators(2);
  instance.cluster.devices[1].device_class = DeviceClassId(1);
  const std::pair<int64_t, int64_t> times[] = {{5, 24}, {12, 12}, {9, 12}, {9, 18}, {12, 36}, {6, 18}};
  for (const auto& [accelerator, cpu] : times) {
    Operator& op = AddTrained(instance, accelerator, 0);
    op.costs[1].forward = Picoseconds(cpu);
    op.memory_bytes = 1;
  }
  instance.graph.operators[2].colocation_group = "union";
  instance.graph.operators[4].colocation_group = "union";
  instance.problem.workload = Workload::kInference;
  Connect(instance, 0, {1}, 2);
  Connect(instance, 1, {5}, 8);
  instance.problem.pinned = {{OperatorId(2), DeviceId(1)}};
  instance.problem.forbidden = {{OperatorId(1), DeviceId(0)}};
  // {o0, o3} 14 + 2; {o1, o2, o4, o5} 2 + 12 + 12 + 36 + 18.
  ExpectOptimal(instance, 80);
}

// unequal-reserved-no-data-parallel: a device that reserves a byte was no replica of another one.
TEST(DefectsTest, DevicesThatReserveMemoryAreReplicas) {
  Instance instance = OnAccelerators(2, 16'000);
  instance.cluster.devices[1].reserved_memory_bytes = 1;
  AddTrained(instance, 80, 160, 10, 100);
  AddTrained(instance, 16, 32, 10, 100);
  Connect(instance, 0, {1}, 8);
  instance.problem.replication = Replication::kUniform;
  instance.problem.micro_batches = 8;
  instance.problem.schedule = ScheduleKind::kOneFOneB;
  // (8 x 288 + 200) / 16.
  EXPECT_FALSE(ExpectOptimal(instance, 157).baselines.empty());
}

}  // namespace
}  // namespace planwright
