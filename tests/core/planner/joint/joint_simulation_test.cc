// Steps of joint plans on the simulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/planner/plan_simulation.h"
#include "core/simulate/flow_simulator.h"
#include "tests/core/planner/joint/joint_test_request.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Plan MadePlan(const JointTestRequest& request) {
  const absl::StatusOr<Plan> plan = Make(request);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *plan;
}

absl::StatusOr<PlanSimulation> Simulate(const JointTestRequest& request, const Placement& placement,
                                        const SimulationSettings& settings = {}) {
  return SimulatePlacement({request.graph, request.cluster, request.problem, request.options}, ModelLimits(), placement,
                           settings);
}

// The step is the plan's to the picosecond; memory comes to what the plan says, of interleaved stages to no more.
void ExpectThePlansStep(const JointTestRequest& request) {
  const Plan plan = MadePlan(request);
  const auto simulation = Simulate(request, PlacementOf(plan));
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  EXPECT_EQ(simulation->report.step_time, plan.joint->simulated_step);
  EXPECT_EQ(simulation->settings.micro_batches, plan.joint->micro_batches);
  ASSERT_EQ(simulation->report.resources.size(), plan.stages.size());
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const int64_t peak = simulation->report.resources[s].peak_memory_bytes;
    EXPECT_LE(peak, plan.stages[s].memory_bytes) << s;
    EXPECT_TRUE(plan.joint->chunks > 1 || peak == plan.stages[s].memory_bytes) << s;
  }
  EXPECT_TRUE(simulation->warnings.empty());
}

TEST(JointSimulationTest, TakesAsLongAsThePlanSays) {
  ExpectThePlansStep(RequestOf("llama3-8b", "dgx-h100:2", 64));
  ExpectThePlansStep(RequestOf("llama3-70b", "dgx-h100:8", 128));
  // Two stages in a node.
  JointTestRequest inside = RequestOf("llama3-8b", "dgx-h100:1", 16);
  inside.problem.num_stages = 4;
  ExpectThePlansStep(inside);
}

TEST(JointSimulationTest, RunsInterleavedStagesAndStagesOfTheirOwnSpread) {
  JointTestRequest interleaved = RequestOf("gpt-13b", "dgx-a100:4", 32);
  interleaved.problem.joint->orders = {PipelineOrder::kInterleaved};
  interleaved.problem.num_stages = 4;
  ExpectThePlansStep(interleaved);
  JointTestRequest per_stage = RequestOf("llama3-8b", "dgx-h100:2", 64);
  per_stage.problem.joint->per_stage = true;
  per_stage.problem.joint->orders = {PipelineOrder::kOneFOneB};
  ExpectThePlansStep(per_stage);
}

TEST(JointSimulationTest, RunsGpipeAndZeroBubble) {
  for (const PipelineOrder order : {PipelineOrder::kGpipe, PipelineOrder::kZeroBubble}) {
    for (const LayerRecomputation mode : {LayerRecomputation::kNone, LayerRecomputation::kFull}) {
      SCOPED_TRACE(static_cast<int>(order));
      // Without recomputation GPIPE holds too much.
      if (order == PipelineOrder::kGpipe && mode == LayerRecomputation::kNone) continue;
      JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:2", 64);
      request.problem.joint->orders = {order};
      request.problem.joint->recomputation = {mode};
      request.problem.joint->micro_batch_samples = {1};
      request.problem.joint->num_stages = 4;
      ExpectThePlansStep(request);
    }
  }
}

TEST(JointSimulationTest, FollowsThePlanThroughClassesInEitherOrder) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:2", 64);
  DeviceClass slower = request.cluster.device_classes.front();
  slower.name = "slower";
  slower.peak_flops /= 2;
  request.cluster.device_classes.push_back(slower);
  for (const std::size_t first : {0, 8}) {
    JointTestRequest mixed = request;
    for (std::size_t d = first; d < first + 8; ++d) mixed.cluster.devices[d].device_class = DeviceClassId(1);
    ExpectThePlansStep(mixed);
  }
}

TEST(JointSimulationTest, RefusesWhatThePlanDoesNotLeaveOpen) {
  const JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:2", 64);
  const Placement placement = PlacementOf(MadePlan(request));
  SimulationSettings settings;
  settings.schedule = ScheduleKind::kGpipe;
  settings.micro_batches = 3;
  settings.order.push_back({DeviceId(0), {}});
  const std::vector<std::string> paths = PathsOf(Simulate(request, placement, settings).status());
  for (const char* path : {"schedule", "micro_batches", "order"}) EXPECT_THAT(paths, Contains(path));
}

int64_t CountOf(const PlanSimulation& simulation, TaskKind kind) {
  return std::count_if(simulation.list.tasks.begin(), simulation.list.tasks.end(),
                       [kind](const Task& task) { return task.kind == kind; });
}

// On links that carry all at once the step is the plan's; memory does not change.
void ExpectThePlansStepOnLinks(const JointTestRequest& request, const std::vector<TaskKind>& expected) {
  const Plan plan = MadePlan(request);
  SimulationSettings settings;
  settings.collectives = Collectives::kOnLinks;
  const auto simulation = Simulate(request, PlacementOf(plan), settings);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  EXPECT_EQ(simulation->step_without_contention, plan.joint->simulated_step);
  EXPECT_GE(simulation->report.step_time, plan.joint->simulated_step);
  EXPECT_EQ(simulation->settings.contention, Contention::kFairShare);
  EXPECT_GE(simulation->layers_per_task, 1);
  TaskList alone = simulation->list;
  for (Task& task : alone.tasks) task.link_uses = Task::kNoLinks;
  EXPECT_EQ(ReportOn(alone, SimulateFlows(alone)).step_time, plan.joint->simulated_step);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const int64_t peak = simulation->report.resources[s].peak_memory_bytes;
    EXPECT_TRUE(plan.joint->chunks > 1 || peak == plan.stages[s].memory_bytes) << s;
  }
  for (const TaskKind kind : expected) EXPECT_GT(CountOf(*simulation, kind), 0) << static_cast<int>(kind);
  EXPECT_EQ(simulation->memory_limits.size(), simulation->list.resources.size());
}

TEST(JointSimulationTest, RunsCollectivesOnLinks) {
  JointTestRequest dense = RequestOf("llama3-70b", "dgx-h100:8", 128);
  dense.problem.joint->tensor_degrees = {8};
  ExpectThePlansStepOnLinks(dense, {TaskKind::kTensorExchange, TaskKind::kUpdate});
  JointTestRequest experts = RequestOf("mixtral-8x7b", "dgx-h100:4", 64);
  experts.problem.joint->expert_degrees = {8};
  ExpectThePlansStepOnLinks(experts, {TaskKind::kExpertExchange});
  JointTestRequest sharded = RequestOf("llama3-8b", "dgx-h100:2", 64);
  sharded.problem.joint->context_degrees = {2};
  sharded.problem.joint->shardings = {Sharding::kParameters};
  ExpectThePlansStepOnLinks(sharded, {TaskKind::kContextExchange, TaskKind::kDataExchange});
}

TEST(JointSimulationTest, RunsCollectivesOfOperatorsOnLinks) {
  JointTestRequest request{*MakeZooModel("resnet50"), *MakeZooCluster("dgx1-v100:1"), {}, {}};
  request.problem.joint.emplace().global_batch = 64;
  ExpectThePlansStepOnLinks(request, {TaskKind::kForward});
}

// Times that a graph states hold exchanges only where several ranks share an operator.
TEST(JointSimulationTest, WarnsOfGivenTimesThatHoldCollectives) {
  SimulationSettings settings;
  settings.collectives = Collectives::kOnLinks;
  const auto warnings_of = [&](const JointTestRequest& request) {
    const auto simulation = Simulate(request, PlacementOf(MadePlan(request)), settings);
    EXPECT_TRUE(simulation.ok()) << simulation.status();
    return simulation.ok() ? simulation->warnings : std::vector<std::string>{"none was made"};
  };
  JointTestRequest request{*MakeZooModel("resnet50"), *MakeZooCluster("dgx-h100:1"), {}, {}};
  request.problem.joint.emplace().global_batch = 64;
  EXPECT_THAT(warnings_of(request), IsEmpty());
  JointTestRequest measured = RequestOf("llama3-8b", "dgx-h100:1", 64);
  measured.problem.joint->tensor_degrees = {8};
  measured.problem.joint->micro_batch_samples = {1};
  measured.problem.num_stages = 1;
  EXPECT_THAT(warnings_of(measured), IsEmpty());
  MeasuredLayer head{.layer = "head",
                     .device_class = "",
                     .tensor_degree = 8,
                     .forward_ms = 2,
                     .backward_ms = 4,
                     .activation_bytes = {}};
  measured.graph.transformer->measured_layers = {head};
  EXPECT_THAT(warnings_of(measured),
              ElementsAre("the times of 1 layer are those that were given: collectives inside its passes count as "
                          "computation"));
  head.layer = "layer";
  measured.graph.transformer->measured_layers = {head};
  EXPECT_THAT(warnings_of(measured),
              ElementsAre("the times of 32 layers are those that were given: collectives inside their passes count as "
                          "computation"));
  measured.problem.joint->tensor_degrees = {1};
  measured.problem.joint->shardings = {Sharding::kParameters};
  measured.graph.transformer->measured_layers.front().tensor_degree = 1;
  EXPECT_THAT(warnings_of(measured), IsEmpty());
}

TEST(JointSimulationTest, RunsCollectivesOnTheLinksOfGrids) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:2", 64);
  GridInterconnect grid;
  grid.dimensions = {4, 4};
  grid.link_bandwidth_bytes_per_second = 100e9;
  request.cluster.interconnect = grid;
  ExpectThePlansStepOnLinks(request, {TaskKind::kForward});
}

TEST(JointSimulationTest, RefusesContentionAndPlansThatHaveNoCollectives) {
  const JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:2", 64);
  SimulationSettings settings;
  settings.collectives = Collectives::kOnLinks;
  settings.contention = Contention::kExclusive;
  EXPECT_THAT(PathsOf(Simulate(request, PlacementOf(MadePlan(request)), settings).status()), Contains("contention"));
  const JointTestRequest plain{*MakeZooModel("resnet50"), *MakeZooCluster("dgx1-v100:1"), {}, {}};
  settings.contention.reset();
  EXPECT_THAT(PathsOf(Simulate(plain, PlacementOf(MadePlan(plain)), settings).status()), Contains("collectives"));
}

TEST(JointSimulationTest, RefusesPlansThatDoNotRun) {
  JointTestRequest request = RequestOf("gpt-13b", "dgx-a100:4", 32);
  request.problem.joint->orders = {PipelineOrder::kInterleaved};
  request.problem.num_stages = 4;
  const Placement good = PlacementOf(MadePlan(request));
  Placement placement = good;
  placement.joint->micro_batches = 5;
  EXPECT_FALSE(Simulate(request, placement).ok());
  placement = good;
  placement.joint->stages.front().chunks.front().recomputation.front() = LayerRecomputation::kSelective;
  EXPECT_FALSE(Simulate(request, placement).ok());
  placement = good;
  placement.joint->stages.front().chunks.pop_back();
  EXPECT_FALSE(Simulate(request, placement).ok());
  placement = good;
  placement.joint->stages.front().degrees.expert = 3;
  EXPECT_FALSE(Simulate(request, placement).ok());
  placement = good;
  std::swap(placement.stages[0].devices.front(), placement.stages[1].devices.front());
  EXPECT_FALSE(Simulate(request, placement).ok());
  placement = good;
  placement.joint.reset();
  EXPECT_THAT(PathsOf(Simulate(request, placement).status()), Contains("plan.joint"));
}

}  // namespace
}  // namespace planwright
