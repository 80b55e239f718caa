// PERIODIC from request to verified plan: what it promises, and inputs at the edge.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/base/violations.h"
#include "core/planner/planner.h"
#include "tests/support/builders.h"
#include "tests/support/periodic_example.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PeriodicPlanningTest : public ::testing::Test {
 protected:
  absl::StatusOr<Plan> Make() const {
    TaskArena arena(1);
    PlannerObserver observer;
    SolveLimits limits = limits_;
    limits.work = options_.work_limit.value_or(limits.work);
    return MakePlan({example_.graph, example_.cluster, example_.problem, options_}, ModelLimits(), limits, arena,
                    observer);
  }

  absl::StatusOr<Verdict> Evaluate(const Placement& placement) const {
    return EvaluatePlacement({example_.graph, example_.cluster, example_.problem, options_}, ModelLimits(), placement);
  }

  Picoseconds PeriodBy(Algorithm algorithm) {
    options_.algorithm = algorithm;
    const absl::StatusOr<Plan> plan = Make();
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? plan->objective : Picoseconds(0);
  }

  void SetMemory(int64_t bytes) { example_.cluster.device_classes[0].memory_bytes = bytes; }

  // `length` operators of 10 + 20 ps in a row that store 100 bytes each; tensors of 1 ps and 10 bytes.
  void UseRow(int length) {
    example_.graph = OperatorGraph();
    for (int i = 0; i < length; ++i) {
      const OperatorId op = AddOperator(example_.graph, "op" + std::to_string(i), 10, 100);
      Operator& added = example_.graph.operators.back();
      for (OperatorCost& cost : added.costs) cost.backward = 2 * cost.forward;
      added.activation_bytes = 100;
      if (i > 0) AddTensor(example_.graph, OperatorId(op.index() - 1), {op}, 1, 10);
    }
  }

  PeriodicExample example_;
  SolverOptions options_;
  SolveLimits limits_;
};

TEST_F(PeriodicPlanningTest, PlansTheWorkedExample) {
  const absl::StatusOr<Plan> plan = Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(90));
  // The operators stand in a row: no other order exists, so the bound is the problem's.
  EXPECT_TRUE(plan->provenance.proven_optimal);
  EXPECT_EQ(plan->provenance.algorithm, "contiguous_periodic");
  EXPECT_EQ(plan->tasks.size(), 6U);
  std::vector<std::string> baselines;
  for (const Baseline& baseline : plan->baselines) baselines.push_back(baseline.algorithm);
  EXPECT_THAT(baselines, ElementsAre("single_device", "pipedream"));
  EXPECT_EQ(plan->baselines[0].objective, Picoseconds(180));
  EXPECT_THAT(plan->warnings, Each(Not(HasSubstr("counts each tensor once"))));
}

TEST_F(PeriodicPlanningTest, LessMemoryTakesLonger) {
  SetMemory(1131);
  EXPECT_EQ(Make()->objective, Picoseconds(104));
  SetMemory(831);
  // 104 ps need two micro-batches in the first stage; {a} and {b, c} do with less than one after the other.
  EXPECT_GT(Make()->objective, Picoseconds(104));
}

TEST_F(PeriodicPlanningTest, EveryAlgorithmMakesAVerifiedPlan) {
  EXPECT_EQ(PeriodBy(Algorithm::kSingleDevice), Picoseconds(180));
  EXPECT_GE(PeriodBy(Algorithm::kPipedream), Picoseconds(90));
  EXPECT_EQ(PeriodBy(Algorithm::kContiguousPeriodic), Picoseconds(90));
  example_.problem.split = Split::kNonContiguous;
  EXPECT_GE(PeriodBy(Algorithm::kMadpipe), Picoseconds(90));
  EXPECT_EQ(PeriodBy(Algorithm::kPeriodicAnnealing), Picoseconds(90));
}

TEST_F(PeriodicPlanningTest, SeveralStagesPerDeviceBalanceWhatOneCannot) {
  // 30, 60, 30 ps: contiguous stages on two devices take 90, {first, last} and {middle} take 60.
  UseRow(4);
  example_.problem.split = Split::kNonContiguous;
  example_.graph.operators[1].colocation_group = example_.graph.operators[2].colocation_group = "middle";
  const absl::StatusOr<Plan> plan = Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(60));
  EXPECT_TRUE(plan->provenance.proven_optimal);
  example_.problem.max_stages_per_device = 1;
  EXPECT_EQ(Make()->objective, Picoseconds(90));
}

TEST_F(PeriodicPlanningTest, NamesTheLayerThatLacksMemory) {
  // c alone: three copies of 40 bytes, a micro-batch of 400, a workspace of 3.
  SetMemory(500);
  const auto infeasibility = InfeasibilityOf(Make().status());
  ASSERT_TRUE(infeasibility.has_value());
  EXPECT_THAT(infeasibility->shortages, Contains(Field(&Shortage::subject, "c")));
  const auto shortage = std::find_if(infeasibility->shortages.begin(), infeasibility->shortages.end(),
                                     [](const Shortage& s) { return s.subject == "c" && s.available_bytes == 500; });
  ASSERT_NE(shortage, infeasibility->shortages.end());
  EXPECT_EQ(shortage->needed_bytes, 523);
  EXPECT_THAT(shortage->description, HasSubstr("23 bytes are missing"));
}

TEST_F(PeriodicPlanningTest, NamesTheLayerWhereContiguousStagesEnd) {
  // Five of 100 bytes on two devices of 300: with buffers no cut fits, though together they would.
  UseRow(5);
  SetMemory(300);
  const auto infeasibility = InfeasibilityOf(Make().status());
  ASSERT_TRUE(infeasibility.has_value());
  ASSERT_EQ(infeasibility->shortages.size(), 1U);
  EXPECT_EQ(infeasibility->shortages[0].subject, "op0");
  EXPECT_EQ(infeasibility->shortages[0].needed_bytes - infeasibility->shortages[0].available_bytes, 20);
  EXPECT_THAT(infeasibility->shortages[0].description, HasSubstr("NON_CONTIGUOUS"));
}

TEST_F(PeriodicPlanningTest, OneLayer) {
  UseRow(1);
  const absl::StatusOr<Plan> plan = Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(30));
  EXPECT_TRUE(plan->provenance.proven_optimal);
  EXPECT_EQ(plan->tasks.size(), 2U);
}

TEST_F(PeriodicPlanningTest, MoreDevicesThanLayers) {
  example_.cluster = MakeCluster(50, 0);
  example_.cluster.interconnect = UniformInterconnect{};
  UseRow(3);
  for (const Split split : {Split::kContiguous, Split::kNonContiguous}) {
    example_.problem.split = split;
    const absl::StatusOr<Plan> plan = Make();
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->objective, Picoseconds(30));
    EXPECT_TRUE(plan->provenance.proven_optimal);
  }
}

TEST_F(PeriodicPlanningTest, LayersWithoutTime) {
  UseRow(6);
  for (const std::size_t i : {0, 2, 5}) {
    Operator& op = example_.graph.operators[i];
    for (OperatorCost& cost : op.costs) cost.forward = cost.backward = Picoseconds(0);
  }
  EXPECT_EQ(Make()->objective, Picoseconds(60));
  for (Operator& op : example_.graph.operators) {
    for (OperatorCost& cost : op.costs) cost.forward = cost.backward = Picoseconds(0);
  }
  for (Tensor& tensor : example_.graph.tensors) tensor.transfer = Picoseconds(0);
  example_.problem.workload = Workload::kTraining;
  for (const Split split : {Split::kContiguous, Split::kNonContiguous}) {
    example_.problem.split = split;
    const absl::StatusOr<Plan> plan = Make();
    ASSERT_TRUE(plan.ok()) << plan.status();
    // No pattern repeats faster than the clock ticks.
    EXPECT_EQ(plan->objective, Picoseconds(1));
    EXPECT_TRUE(plan->provenance.proven_optimal);
  }
}

TEST_F(PeriodicPlanningTest, LongPipelinesHoldManyMicroBatches) {
  // Sixty stages with a transfer as long as their work: each needs two periods there and two back.
  example_.cluster = MakeCluster(60, 0);
  example_.cluster.interconnect = UniformInterconnect{};
  UseRow(60);
  for (Tensor& tensor : example_.graph.tensors) tensor.transfer = Picoseconds(15);
  const absl::StatusOr<Plan> plan = Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(30));
  EXPECT_EQ(plan->stages.front().in_flight_micro_batches, 2 * 60 - 1);
}

TEST_F(PeriodicPlanningTest, ZeroBandwidthIsRefused) {
  example_.cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = 0.0};
  const std::vector<Violation> violations = ViolationsOf(Make().status());
  ASSERT_FALSE(violations.empty());
  EXPECT_EQ(violations[0].path, "cluster.interconnect.uniform.bandwidth_bytes_per_second");
}

TEST_F(PeriodicPlanningTest, FewestDevices) {
  UseRow(6);
  example_.cluster = MakeCluster(6, 0);
  example_.cluster.interconnect = UniformInterconnect{};
  example_.problem.objective = Objective::kMinDevices;
  example_.problem.target_period = Picoseconds(60);
  const absl::StatusOr<Plan> plan = Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->stages.size(), 3U);
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

TEST_F(PeriodicPlanningTest, UsesSelectedDevicesOnly) {
  example_.cluster = MakeCluster(3, 1);
  example_.cluster.interconnect = UniformInterconnect{};
  example_.problem.devices_to_use.devices = {DeviceId(1), DeviceId(2)};
  const absl::StatusOr<Plan> plan = Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(90));
  EXPECT_EQ(plan->stages[0].replicas[0].device, DeviceId(1));
  EXPECT_EQ(plan->stages[1].replicas[0].device, DeviceId(2));
}

TEST_F(PeriodicPlanningTest, OnlyEnumerationCountsOnTheMemoryOfEachDevice) {
  SetMemory(1132);
  example_.cluster.devices[1].reserved_memory_bytes = 100;
  const absl::StatusOr<Plan> plan = Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(90));
  EXPECT_TRUE(plan->provenance.proven_optimal);
  options_.algorithm = Algorithm::kContiguousPeriodic;
  const absl::StatusOr<Plan> with_least = Make();
  ASSERT_TRUE(with_least.ok()) << with_least.status();
  EXPECT_EQ(with_least->objective, Picoseconds(104));
  EXPECT_FALSE(with_least->provenance.proven_optimal);
}

TEST_F(PeriodicPlanningTest, ExplainsWhatReliefBrings) {
  SetMemory(1131);
  options_.explain = true;
  const absl::StatusOr<Plan> plan = Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->explanation.relief.size(), 3U);
  EXPECT_EQ(plan->explanation.relief[1].resource, "memory");
  EXPECT_EQ(plan->explanation.relief[1].predicted_objective, Picoseconds(90));
}

TEST_F(PeriodicPlanningTest, AStopRequestIsAnsweredWithWhatThereIs) {
  UseRow(40);
  example_.cluster = MakeCluster(8, 0, 1'500);
  example_.cluster.interconnect = UniformInterconnect{};
  example_.problem.split = Split::kNonContiguous;
  const std::stop_source stop;
  stop.request_stop();
  limits_.stop = stop.get_token();
  const absl::StatusOr<Plan> plan = Make();
  if (plan.ok()) {
    EXPECT_EQ(plan->provenance.stop_reason, StopReason::kCancelled);
  } else {
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kCancelled);
  }
}

TEST_F(PeriodicPlanningTest, EvaluationFindsThePatternThatAPlacementLacks) {
  const absl::StatusOr<Verdict> verdict = Evaluate({PeriodicExample::Fastest().stages});
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_THAT(verdict->violations.listed(), IsEmpty());
  EXPECT_EQ(verdict->costed->objective, Picoseconds(90));
}

TEST_F(PeriodicPlanningTest, EvaluationJudgesThePatternThatAPlacementHas) {
  EXPECT_EQ(Evaluate(example_.Smaller())->costed->objective, Picoseconds(104));
  Placement broken = example_.Smaller();
  broken.pattern->tasks[3].start -= Picoseconds(1);
  EXPECT_EQ(Evaluate(broken)->violations.listed()[0].path, "plan.schedule.tasks[3]");
}

TEST_F(PeriodicPlanningTest, EvaluationOfWhatFitsInNoWaySaysHowManyBytes) {
  SetMemory(600);
  const absl::StatusOr<Verdict> verdict = Evaluate({PeriodicExample::Fastest().stages});
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  ASSERT_FALSE(verdict->violations.empty());
  EXPECT_THAT(verdict->violations.listed()[0].rule, HasSubstr("memory: needs"));
}

TEST_F(PeriodicPlanningTest, StagesOfADeviceNeedNotStoreTheirMostAtTheSameTime) {
  // The first and the last operator share a device on which three micro-batches are stored at most: the first one
  // stores three, but one less while the last one stores its own.
  example_.graph = OperatorGraph();
  const std::vector<std::pair<int64_t, int64_t>> times{{10, 20}, {40, 60}, {5, 10}};
  for (const auto& [forward, backward] : times) {
    const OperatorId op =
        AddOperator(example_.graph, "op" + std::to_string(example_.graph.operators.size()), forward, 1);
    Operator& added = example_.graph.operators.back();
    for (OperatorCost& cost : added.costs) cost.backward = Picoseconds(backward);
    added.activation_bytes = 1'000;
    if (op.index() > 0) AddTensor(example_.graph, OperatorId(op.index() - 1), {op}, 0, 1);
  }
  example_.problem.split = Split::kNonContiguous;
  example_.problem.max_stages_per_device = 2;
  SetMemory(3'100);
  const absl::StatusOr<Plan> plan = Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, Picoseconds(100));
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

}  // namespace
}  // namespace planwright
