// Steps with exchanges as tasks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>

#include "core/joint/step/pass_slices.h"
#include "core/simulate/flow_simulator.h"
#include "core/simulate/simulation_report.h"
#include "core/simulate/task_graph.h"
#include "tests/core/joint/step/training_plans.h"

namespace planwright {
namespace {

Picoseconds StepOf(const TaskList& list) { return ReportOn(list, SimulateFlows(list)).step_time; }

TaskList WithoutUses(TaskList list) {
  for (Task& task : list.tasks) task.link_uses = Task::kNoLinks;
  return list;
}

// Peaks of the stages.
std::vector<int64_t> PeaksOf(const TaskList& list, const Timeline& timeline) {
  std::vector<int64_t> peaks;
  const SimulationReport report = ReportOn(list, timeline);
  for (std::size_t i = 0; i < list.resources.size(); ++i) {
    if (list.resources[i].kind == TaskResource::Kind::kDevice) peaks.push_back(report.resources[i].peak_memory_bytes);
  }
  return peaks;
}

TEST(StepOnLinksTest, WithoutContentionTakesTheSimulatedStep) {
  RandomStream random(1);
  const TrainingCase dense("llama3-8b", "dgx-h100:8");
  const TrainingCase experts("mixtral-8x7b", "dgx-h100:8");
  const TrainingCase tied("gpt-13b", "dgx-a100:8");
  std::map<TaskKind, int> seen;
  for (int number = 0; number < 150; ++number) {
    const TrainingCase& training = *std::array{&dense, &experts, &tied}.at(static_cast<std::size_t>(number) % 3);
    const PlanChoices choices = RandomChoices(random, training.row.size());
    const JointPlan plan = MakeTrainingPlan(training, choices);
    if (plan.step == kBeyondPrices) continue;
    SCOPED_TRACE(number);
    const TaskList whole = StepTasks(training.pricer, training.row, plan, TrainingCase::Names(plan));
    ASSERT_EQ(StepOf(whole), plan.simulated_step);
    for (const int64_t most : {1'000'000, 2'000, 1}) {
      const StepOnLinks step = training.OnLinks(plan, most);
      ASSERT_TRUE(FindCycle(step.list).empty());
      const TaskList alone = WithoutUses(step.list);
      EXPECT_EQ(StepOf(alone), plan.simulated_step) << most;
      EXPECT_EQ(PeaksOf(alone, SimulateFlows(alone)), PeaksOf(whole, SimulateFlows(whole))) << most;
      EXPECT_GE(StepOf(step.list), plan.simulated_step);
      for (const Task& task : step.list.tasks) ++seen[task.kind];
    }
  }
  for (const TaskKind kind : {TaskKind::kTensorExchange, TaskKind::kContextExchange, TaskKind::kExpertExchange,
                              TaskKind::kDataExchange, TaskKind::kUpdate, TaskKind::kBackwardWeight}) {
    EXPECT_GT(seen[kind], 0) << static_cast<int>(kind);
  }
}

TEST(StepOnLinksTest, TakesLayersTogetherWhereTasksAreTooMany) {
  const TrainingCase training("llama3-8b", "dgx-h100:2");
  const JointPlan plan = MakeTrainingPlan(training, {.stages = 2, .degrees = {.tensor = 8}, .micro_batches = 8});
  const StepOnLinks fine = training.OnLinks(plan);
  EXPECT_EQ(fine.layers_per_task, 1);
  const StepOnLinks coarse = training.OnLinks(plan, static_cast<int64_t>(fine.list.tasks.size()) / 3);
  EXPECT_GT(coarse.layers_per_task, 1);
  EXPECT_LE(coarse.list.tasks.size(), fine.list.tasks.size() / 3);
  const StageLinkUses uses = *LinkUsesOf(training.cluster, training.row, plan);
  const auto with_at_most = [&](int64_t most) {
    return StepTasksOnLinks(training.pricer, training.row, plan, TrainingCase::Names(plan), uses,
                            {.wanted = 1, .most = most});
  };
  // Stages hold 17 layers each, of which no more can be together.
  const auto whole = with_at_most(200);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->layers_per_task, 17);
  EXPECT_FALSE(with_at_most(50).has_value());
}

// Computed by hand: one device class, a layer's parts as the price list says them.
TEST(StepOnLinksTest, SlicesAddUpToThePasses) {
  const TrainingCase training("mixtral-8x7b", "dgx-h100:4");
  const JointPlan plan = MakeTrainingPlan(training, {.stages = 2,
                                                     .degrees = {.tensor = 2, .context = 2, .expert = 4, .data = 4},
                                                     .sharding = Sharding::kParameters,
                                                     .recomputation = LayerRecomputation::kFull,
                                                     .micro_batches = 4});
  ASSERT_NE(plan.step, kBeyondPrices);
  const auto costs = CostChunks(training.pricer, training.row, plan);
  const std::vector<StageSlices> slices = SlicesOf(training.pricer, training.row, plan);
  for (std::size_t s = 0; s < slices.size(); ++s) {
    int64_t forward = 0;
    int64_t backward = 0;
    for (const PassSlice& slice : slices[s].chunks[0].forward) forward += slice.total_ps();
    for (const PassSlice& slice : slices[s].chunks[0].backward) {
      backward += slice.total_ps();
      for (const ExchangeTime& time : slice.exchanges) EXPECT_LE(time.hidden_ps, slice.compute_ps);
    }
    EXPECT_EQ(forward, costs[s][0].forward_ps);
    EXPECT_EQ(backward, costs[s][0].backward_ps);
  }
  const PassSlice& layer = slices[0].chunks[0].forward[1];
  for (const ExchangeGroup group : {ExchangeGroup::kTensor, ExchangeGroup::kContext, ExchangeGroup::kExpert,
                                    ExchangeGroup::kData, ExchangeGroup::kExperts}) {
    EXPECT_GT(layer.exchanges[static_cast<std::size_t>(group)].shown_ps, 0) << static_cast<int>(group);
  }
}

// Rings of context ranks (a) and gathers of parameters (b) use the same links of four devices beside computation (c):
// the longer of them ends at a + b, so that a layer takes longer where that is more than c.
TEST(StepOnLinksTest, ExchangesThatMeetOnALinkSlowEachOther) {
  Cluster cluster = *MakeZooCluster("dgx-h100:1");
  cluster.devices.resize(4);
  cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = 30e9};
  cluster.device_classes.front().training = {
      .hidden_in_layers = 0.9, .hidden_among_data = 0.9, .hidden_at_step_end = 0};
  const TrainingCase training("llama3-8b", cluster);
  const JointPlan plan = MakeTrainingPlan(
      training, {.degrees = {.context = 2, .data = 2}, .sharding = Sharding::kParameters, .micro_batches = 3});
  int64_t later_ps = 0;
  int64_t slices = 0;
  const std::vector<StageSlices> stages = SlicesOf(training.pricer, training.row, plan);
  for (const std::vector<PassSlice>& pass : {stages[0].chunks[0].forward, stages[0].chunks[0].backward}) {
    for (const PassSlice& slice : pass) {
      int64_t hidden_ps = 0;
      for (const ExchangeTime& time : slice.exchanges) hidden_ps += time.hidden_ps;
      later_ps += plan.micro_batches * std::max<int64_t>(0, hidden_ps - slice.compute_ps);
      ++slices;
    }
  }
  EXPECT_GT(later_ps, plan.simulated_step.count() / 50);
  const Picoseconds step = StepOf(training.OnLinks(plan).list);
  // Rounded whenever an exchange begins or ends.
  EXPECT_NEAR(static_cast<double>((step - plan.simulated_step).count()), static_cast<double>(later_ps),
              static_cast<double>(4 * slices * plan.micro_batches));
}

// On a line of four devices the tensor group of the middle two and the rings of the others do not meet; one ring of all
// four comes back over the links in the middle.
TEST(StepOnLinksTest, GroupsThatShareALinkOfAGridAreSlowed) {
  Cluster cluster = *MakeZooCluster("dgx-h100:1");
  cluster.devices.resize(4);
  GridInterconnect grid;
  grid.dimensions = {4};
  grid.link_bandwidth_bytes_per_second = 50e9;
  cluster.interconnect = grid;
  const TrainingCase training("llama3-8b", cluster);
  const JointPlan ring = MakeTrainingPlan(training, {.degrees = {.tensor = 4}, .micro_batches = 2});
  // Forward over each link once, and back over all three.
  const StepOnLinks step = training.OnLinks(ring);
  EXPECT_EQ(StepOf(step.list), ring.simulated_step);
  // Data rings of two ranks two apart meet on the link in the middle, in both directions.
  const JointPlan crossed = MakeTrainingPlan(training, {.degrees = {.tensor = 2, .data = 2}, .micro_batches = 2});
  const StageLinkUses uses = *LinkUsesOf(training.cluster, training.row, crossed);
  double most = 0;
  for (const LinkUse& use : uses.Of(0, ExchangeGroup::kData)) most = std::max(most, use.share);
  EXPECT_NEAR(most, 2, 1e-9);
  const StepOnLinks slow = training.OnLinks(crossed);
  EXPECT_GT(StepOf(slow.list), crossed.simulated_step);
  EXPECT_EQ(StepOf(WithoutUses(slow.list)), crossed.simulated_step);
}

// Scaled alike, as fast links as can be bring no step that is longer.
TEST(StepOnLinksTest, FasterNetworksBringNoLongerStep) {
  RandomStream random(3);
  for (int number = 0; number < 30; ++number) {
    const PlanChoices choices = RandomChoices(random, 64);
    Picoseconds before = Picoseconds::max();
    for (const double factor : {0.5, 1.0, 2.0, 8.0}) {
      Cluster cluster = *MakeZooCluster("dgx-h100:8");
      cluster.device_classes.front().training = {.hidden_in_layers = 0.6, .hidden_among_data = 0.6};
      auto& tree = std::get<HierarchyInterconnect>(cluster.interconnect);
      for (auto& level : tree.levels) level.bandwidth_bytes_per_second *= factor;
      const TrainingCase training("mixtral-8x7b", cluster);
      const JointPlan plan = MakeTrainingPlan(training, choices);
      if (plan.step == kBeyondPrices) break;
      const Picoseconds step = StepOf(training.OnLinks(plan).list);
      EXPECT_LE(step, before) << number << " " << factor;
      before = step;
    }
  }
}

}  // namespace
}  // namespace planwright
