#include "core/cost/pipeline_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/base/index.h"
#include "core/cost/terms/traffic.h"
#include "core/verify/verify.h"
#include "tests/core/cost/worked_examples.h"
#include "tests/support/mode_instance.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

PipelineWork WorkOf(const OperatorGraph& graph, const Cluster& cluster, const Plan& plan) {
  return MeasurePipelineWork(graph, cluster, CostTable(graph, cluster, plan.problem.workload), plan);
}

TEST(PipelineWorkTest, HostStagedStagesCopyOutOnceAndInOnceEach) {
  const OperatorGraph graph = Diamond(/*training=*/true);
  const Cluster cluster = SmallCluster(3);
  const PipelineWork work = WorkOf(graph, cluster, Cost(graph, cluster, Place({{0}, {1}, {2}}, {0, 1, 2})));
  ASSERT_THAT(work.stages, SizeIs(3));
  EXPECT_EQ(work.stages[1].forward, Picoseconds(6'000'000'000));
  EXPECT_EQ(work.stages[1].backward, Picoseconds(12'000'000'000));
  // x: out of 0, into 1 and 2; y: out of 1, into 2; and the same back.
  EXPECT_THAT(work.transfers, SizeIs(2 * (1 + 2 + 1 + 1) - 1));
}

// What a stage pays: the sums that the cost model charges it, here as pieces.
struct Charges {
  std::vector<Picoseconds> in;
  std::vector<Picoseconds> out;
};

Charges ChargesOf(const PipelineWork& work) {
  Charges charges{std::vector<Picoseconds>(work.stages.size()), std::vector<Picoseconds>(work.stages.size())};
  for (const TransferWork& transfer : work.transfers) {
    const bool receives = transfer.kind == TaskKind::kReceiveForward || transfer.kind == TaskKind::kReceiveBackward;
    (receives ? charges.in : charges.out)[Index(transfer.stage)] += transfer.LongestTime();
  }
  return charges;
}

TEST(PipelineWorkTest, PiecesOfSerialDevicesAddUpToTheChargesOfTheCostModel) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const InstanceMode mode = seed % 2 == 0 ? InstanceMode::kContiguous : InstanceMode::kNonContiguous;
    Instance instance = MakeModeInstance(mode, seed, 10);
    instance.problem.overlap = Overlap::kSerial;
    RandomStream random(seed);
    const ResolvedProblem problem = ResolveProblem(instance.graph, instance.problem);
    const Verdict verdict =
        VerifyPlacement({instance.graph, instance.cluster, problem}, MakeModePlacement(instance, random));
    if (!verdict.costed.has_value()) continue;
    const Plan plan = CostPlan(
        {instance.graph, instance.cluster, problem, CostTable(instance.graph, instance.cluster, problem.workload)},
        PlacementOf(*verdict.costed));
    const Charges charges = ChargesOf(WorkOf(instance.graph, instance.cluster, plan));
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
      EXPECT_EQ(charges.in[stage], plan.stages[stage].communication_in) << seed;
      EXPECT_EQ(charges.out[stage], plan.stages[stage].communication_out) << seed;
    }
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

TEST(PipelineWorkTest, OverlappedTransfersAreOnePieceOnTheLink) {
  const OperatorGraph graph = Diamond(/*training=*/true);
  Cluster cluster = SmallCluster(3);
  cluster.interconnect = UniformInterconnect();
  PlanningProblem problem;
  problem.overlap = Overlap::kOverlapped;
  const Placement placement = Place({{0}, {1}, {2}}, {0, 1, 2});
  EXPECT_THAT(WorkOf(graph, cluster, Cost(graph, cluster, placement, problem)).transfers, SizeIs(2 * 3));
  problem.overlap = Overlap::kSerial;
  EXPECT_THAT(WorkOf(graph, cluster, Cost(graph, cluster, placement, problem)).transfers, SizeIs(2 * 2 * 3));
}

TEST(PipelineWorkTest, BackwardOperatorsSendWhatTheirTensorsSay) {
  const OperatorGraph graph = WithBackwardOperator();
  Cluster cluster = SmallCluster(2);
  cluster.interconnect = UniformInterconnect();
  PlanningProblem problem;
  problem.overlap = Overlap::kOverlapped;
  const PipelineWork work = WorkOf(graph, cluster, Cost(graph, cluster, Place({{0, 2}, {1}}, {0, 1}), problem));
  ASSERT_THAT(work.transfers, SizeIs(2));
  EXPECT_EQ(work.transfers[0].kind, TaskKind::kSendForward);
  // The gradient comes from the forward operator b, so it is forward traffic, for the backward pass of stage 0.
  EXPECT_EQ(work.transfers[1].kind, TaskKind::kSendForward);
  EXPECT_EQ(work.stages[0].backward, Picoseconds(8'000'000'000));
}

TEST(PipelineWorkTest, MemoryIsWhatTheStageMemoryGrowsBy) {
  OperatorGraph graph = Diamond(/*training=*/true);
  for (Operator& op : graph.operators) {
    op.parameter_bytes = 100;
    op.activation_bytes = 7;
    op.workspace_bytes = 5;
  }
  for (Tensor& tensor : graph.tensors) tensor.size_bytes = 3;
  PlanningProblem problem;
  problem.memory_model.kind = MemoryModel::Kind::kComponents;
  const Cluster cluster = SmallCluster(3);
  const Plan plan = Cost(graph, cluster, Place({{0}, {1, 2}}, {0, 1}), problem);
  const PipelineWork work = WorkOf(graph, cluster, plan);
  EXPECT_EQ(work.stages[1].stored_bytes, 14);
  EXPECT_EQ(work.stages[1].largest_stored_bytes, 7);
  EXPECT_EQ(work.stages[1].received_bytes, 3);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(work.devices[i].static_bytes + work.stages[i].stored_bytes, plan.stages[i].memory_bytes);
  }
}

// A matrix may have as many classes of links as pairs of devices.
TEST(PipelineWorkTest, ATransferKnowsTheLinksItTakesOnly) {
  const OperatorGraph graph = Diamond(/*training=*/true);
  Cluster cluster = SmallCluster(4);
  MatrixInterconnect matrix;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) matrix.bandwidth_bytes_per_second.push_back(i == j ? 0 : 1e6 * (1 + i * i + j * j));
  }
  cluster.interconnect = matrix;
  const Plan plan = Cost(graph, cluster, Place({{0}, {1, 2}}, {0, 3}));
  const PipelineWork work = WorkOf(graph, cluster, plan);
  const std::size_t link_class = work.network.LinkClassOf(DeviceId(0), DeviceId(3));
  EXPECT_GT(work.network.num_link_classes(), 5U);
  ASSERT_FALSE(work.transfers.empty());
  for (const TransferWork& transfer : work.transfers) {
    ASSERT_THAT(transfer.times, SizeIs(1));
    EXPECT_EQ(transfer.times.front().link_class, link_class);
    EXPECT_EQ(transfer.TimeOver(link_class), transfer.LongestTime());
  }
}

TEST(PipelineWorkTest, AStageStartsFromWhatItReceivesAndFromItsInputs) {
  OperatorGraph graph = Diamond(/*training=*/true);
  graph.tensors[0].size_bytes = 7;
  const Cluster cluster = SmallCluster(2);
  const Placement placement = Place({{0}, {1, 2}}, {0, 1});
  EXPECT_EQ(WorkOf(graph, cluster, Cost(graph, cluster, placement)).stages[0].received_bytes, 0);
  graph.operators[0].type = kInputOperatorType;
  const PipelineWork work = WorkOf(graph, cluster, Cost(graph, cluster, placement));
  EXPECT_EQ(work.stages[0].received_bytes, 7);
  EXPECT_EQ(work.stages[1].received_bytes, 7);
}

TEST(PipelineWorkTest, BothDirectionsHoldEveryStageTwiceAndReduceTheirGradients) {
  OperatorGraph graph = Diamond(/*training=*/true);
  for (Operator& op : graph.operators) op.parameter_bytes = 1000;
  Cluster cluster = SmallCluster(2);
  cluster.interconnect = UniformInterconnect{1e9, Picoseconds(0)};
  const Plan plan = Cost(graph, cluster, Place({{0}, {1, 2}}, {0, 1}));
  const PipelineWork work =
      MeasureBidirectionalWork(graph, cluster, CostTable(graph, cluster, plan.problem.workload), plan);
  EXPECT_THAT(work.stages[0].devices, ElementsAre(0, 1));
  EXPECT_THAT(work.stages[1].devices, ElementsAre(1, 0));
  // 2 (2 - 1) / 2 of the parameters.
  EXPECT_EQ(work.stages[0].allreduce, Picoseconds(1'000'000));
  EXPECT_EQ(work.stages[1].allreduce, Picoseconds(2'000'000));
  EXPECT_EQ(work.devices[0].static_bytes, work.devices[1].static_bytes);
}

}  // namespace
}  // namespace planwright
