// PERIODIC: the worked example of docs/cost-model-examples.md, and every rule of a pattern broken on its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/model/problem.h"
#include "core/verify/verify.h"
#include "tests/core/model/violation_matchers.h"
#include "tests/support/builders.h"
#include "tests/support/periodic_example.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class VerifyPeriodicTest : public ::testing::Test {
 protected:
  Verdict Verify(const Placement& placement) const {
    return VerifyPlacement({example_.graph, example_.cluster, ResolveProblem(example_.graph, example_.problem)},
                           placement);
  }

  Plan Cost(const Placement& placement) const {
    const Verdict verdict = Verify(placement);
    EXPECT_TRUE(verdict.violations.empty()) << verdict.violations.ToStatus();
    return verdict.costed.value();
  }

  std::vector<Violation> ViolationsIn(const Placement& placement) const {
    return Verify(placement).violations.listed();
  }

  // After `change` of the task at `position`.
  template <typename Change>
  std::vector<Violation> ViolationsAfter(std::size_t position, Change change, Placement placement) const {
    change(placement.pattern->tasks[position]);
    return ViolationsIn(placement);
  }
  template <typename Change>
  std::vector<Violation> ViolationsAfter(std::size_t position, Change change) const {
    return ViolationsAfter(position, change, PeriodicExample::Fastest());
  }

  PeriodicExample example_;
};

TEST_F(VerifyPeriodicTest, CountsWhatThePatternStores) {
  const Plan plan = Cost(PeriodicExample::Fastest());
  EXPECT_EQ(plan.objective, Picoseconds(90));
  EXPECT_EQ(plan.stages[0].in_flight_micro_batches, 3);
  EXPECT_EQ(plan.stages[1].in_flight_micro_batches, 1);
  // Three copies of parameters, micro-batches, the largest workspace, and buffers for both directions.
  EXPECT_EQ(plan.devices[0].memory_bytes, 3 * (10 + 20) + 3 * (100 + 200) + 2 + 2 * (50 + 20));
  EXPECT_EQ(plan.devices[1].memory_bytes, 3 * 40 + 400 + 3 + 2 * (50 + 20));
  EXPECT_EQ(plan.stages[0].memory_bytes, plan.devices[0].memory_bytes);
}

TEST_F(VerifyPeriodicTest, TransfersLoadLinksAndNoDevice) {
  const Plan plan = Cost(PeriodicExample::Fastest());
  EXPECT_EQ(plan.stages[0].compute, Picoseconds(90));
  EXPECT_EQ(plan.stages[0].load, Picoseconds(90));
  EXPECT_EQ(plan.stages[0].communication_out, Picoseconds(5 + 2));
  EXPECT_EQ(plan.stages[0].communication_in, Picoseconds(5 + 2));
  EXPECT_EQ(plan.devices[0].load, Picoseconds(90));
  ASSERT_EQ(plan.links.size(), 1U);
  EXPECT_EQ(plan.links[0].load, Picoseconds(2 * (5 + 2)));
  EXPECT_EQ(plan.estimate.bubble_fraction, 0);
}

TEST_F(VerifyPeriodicTest, ListsTasksWithTheirResources) {
  const Plan plan = Cost(PeriodicExample::Fastest());
  ASSERT_EQ(plan.tasks.size(), 6U);
  EXPECT_EQ(plan.tasks[1].operation, "backward");
  EXPECT_EQ(plan.tasks[1].resource, "acc0");
  EXPECT_EQ(plan.tasks[1].pass, Pass::kBackward);
  EXPECT_EQ(plan.tasks[1].start, Picoseconds(30));
  EXPECT_EQ(plan.tasks[1].index_shift, 2);
  EXPECT_EQ(plan.tasks[2].resource, "acc0 - acc1");
  EXPECT_EQ(PlacementOf(plan).pattern, example_.Fastest().pattern);
}

TEST_F(VerifyPeriodicTest, ALongerPeriodStoresLess) {
  EXPECT_EQ(Cost(example_.Smaller()).stages[0].in_flight_micro_batches, 2);
  EXPECT_EQ(Cost(example_.Smaller()).devices[0].memory_bytes, Cost(example_.Fastest()).devices[0].memory_bytes - 300);
}

TEST_F(VerifyPeriodicTest, ADeviceWithTwoStagesStoresBoth) {
  example_.problem.split = Split::kNonContiguous;
  const Plan plan = Cost(PeriodicExample::OneAfterTheOther());
  EXPECT_EQ(plan.devices[0].memory_bytes, 3 * (10 + 40) + 100 + 400 + 3 + 2 * (30 + 20) + 2 * (50 + 20));
  // The tensor from a to c is relayed by the device of b.
  EXPECT_EQ(plan.links[0].load, Picoseconds(2 * (3 + 2) + 2 * (5 + 2)));
}

// Backward passes take three times as long as forward ones, and stages store the tensors that come to them.
TEST_F(VerifyPeriodicTest, StagesThatComputeAgainStoreWhatComesToThem) {
  example_.problem.split = Split::kNonContiguous;
  example_.problem.memory_model.recomputation = MemoryModel::Recomputation::kFull;
  Placement placement = PeriodicExample::OneAfterTheOther();
  placement.pattern->period = Picoseconds(264);
  const auto start = [&](PatternOperation operation, std::size_t stage, int64_t start_ps) {
    for (PatternTask& task : placement.pattern->tasks) {
      if (task.operation == operation && task.stage == StageId(stage)) task.start = Picoseconds(start_ps);
    }
  };
  start(PatternOperation::kSendBackward, 2, 162);
  start(PatternOperation::kBackward, 1, 169);
  start(PatternOperation::kSendBackward, 1, 229);
  start(PatternOperation::kBackward, 0, 234);
  const Plan plan = Cost(placement);
  EXPECT_EQ(plan.stages[2].compute, Picoseconds(30 + 90));
  EXPECT_EQ(plan.devices[0].memory_bytes, 3 * (10 + 40) + (50 + 20) + (400 + 3) + 2 * (30 + 20) + 2 * (50 + 20));
  EXPECT_EQ(plan.devices[1].memory_bytes, 3 * 20 + (30 + 20) + (200 + 2) + 2 * (30 + 20) + 2 * (50 + 20));
}

TEST_F(VerifyPeriodicTest, EachDirectionOfAFullDuplexLinkIsALink) {
  example_.problem.overlap = Overlap::kFullDuplex;
  const Plan plan = Cost(PeriodicExample::Fastest());
  EXPECT_EQ(plan.tasks[2].resource, "acc0 -> acc1");
  EXPECT_EQ(plan.tasks[5].resource, "acc1 -> acc0");
  ASSERT_EQ(plan.links.size(), 2U);
  EXPECT_EQ(plan.links[1].device_a, DeviceId(1));
  EXPECT_EQ(plan.links[1].load, Picoseconds(5 + 2));
}

TEST_F(VerifyPeriodicTest, InferenceHasForwardTasksOnlyAndStoresNothing) {
  example_.problem.workload = Workload::kInference;
  Placement placement = PeriodicExample::Fastest();
  std::erase_if(placement.pattern->tasks,
                [](const PatternTask& task) { return PassOf(task.operation) == Pass::kBackward; });
  const Plan plan = Cost(placement);
  EXPECT_EQ(plan.stages[0].in_flight_micro_batches, 1);
  EXPECT_EQ(plan.devices[0].memory_bytes, (10 + 20) + 2 + 2 * (50 + 20));
  EXPECT_EQ(plan.links[0].load, Picoseconds(5 + 2));
}

TEST_F(VerifyPeriodicTest, BackwardTensorsAndWhatBackwardReadsCrossOnTheWayBack) {
  for (Operator& op : example_.graph.operators) {
    for (OperatorCost& cost : op.costs) cost.backward = Picoseconds(0);
  }
  const OperatorId backward_c = AddBackward(example_.graph, "c'", OperatorId(2), 60, 0);
  const OperatorId backward_b = AddBackward(example_.graph, "b'", OperatorId(1), 60, 0);
  AddTensor(example_.graph, backward_c, {backward_b}, 4, 40);
  // What c makes, b' reads too.
  AddTensor(example_.graph, OperatorId(2), {backward_c, backward_b}, 1, 10);
  Placement placement = PeriodicExample::Fastest();
  placement.stages[0].operators.push_back(backward_b);
  placement.stages[1].operators.push_back(backward_c);
  const Plan plan = Cost(placement);
  EXPECT_EQ(plan.links[0].load, Picoseconds((5 + 2) + (4 + 1)));
  EXPECT_EQ(plan.stages[0].communication_in, Picoseconds(4 + 1));
  EXPECT_EQ(plan.devices[1].memory_bytes, 3 * 40 + 400 + 3 + 2 * (50 + 20 + 40 + 10));
}

TEST_F(VerifyPeriodicTest, APassMustNotStartBeforeTheOneBeforeHasEnded) {
  EXPECT_THAT(ViolationsAfter(
                  3, [](PatternTask& task) { task.start -= Picoseconds(1); }, example_.Smaller()),
              ElementsAre(Breaks("plan.schedule.tasks[3]",
                                 "forward of stage 1 starts 0.000000001 ms before send_forward of stage 0 has ended")));
  EXPECT_THAT(
      ViolationsAfter(1, [](PatternTask& task) { task.shift = 0; }),
      ElementsAre(Breaks("plan.schedule.tasks[1]",
                         "backward of stage 0 starts 0.000000104 ms before send_backward of stage 1 has ended")));
}

TEST_F(VerifyPeriodicTest, ADeviceDoesOneThingAtATimeAroundThePeriod) {
  EXPECT_THAT(
      ViolationsAfter(1, [](PatternTask& task) { task.start += Picoseconds(1); }),
      ElementsAre(Breaks("plan.schedule.tasks[0]",
                         "forward of stage 0 starts 0.000000001 ms before 'acc0' has finished backward of stage 0")));
}

TEST_F(VerifyPeriodicTest, ALinkDoesOneThingAtATime) {
  const auto violations = ViolationsAfter(5, [](PatternTask& task) {
    task.start = Picoseconds(31);
    task.shift = 2;
  });
  EXPECT_THAT(violations,
              ElementsAre(Breaks("plan.schedule.tasks[1]",
                                 "backward of stage 0 starts 0.000000008 ms before send_backward of stage 1 has ended"),
                          Breaks("plan.schedule.tasks[5]",
                                 "send_backward of stage 1 starts 0.000000006 ms before "
                                 "'acc0 - acc1' has finished send_forward of stage 0")));
}

TEST_F(VerifyPeriodicTest, WhatTakesLongerThanThePeriodOverlapsItself) {
  Placement placement = example_.Smaller();
  placement.stages = {{{OperatorId(0), OperatorId(1), OperatorId(2)}, {DeviceId(0)}}};
  placement.pattern = {Picoseconds(119),
                       {{PatternOperation::kForward, StageId(0), Picoseconds(0), 0},
                        {PatternOperation::kBackward, StageId(0), Picoseconds(60), 0}}};
  EXPECT_THAT(
      ViolationsIn(placement),
      ElementsAre(Breaks("plan.schedule.tasks[0]",
                         "forward of stage 0 starts 0.000000061 ms before 'acc0' has finished backward of stage 0")));
}

TEST_F(VerifyPeriodicTest, EveryOperationHasOneTask) {
  Placement placement = PeriodicExample::Fastest();
  placement.pattern->tasks[4] = placement.pattern->tasks[3];
  placement.pattern->tasks.push_back({PatternOperation::kSendForward, StageId(1), Picoseconds(0), 0});
  placement.pattern->tasks.push_back({PatternOperation::kForward, StageId(7), Picoseconds(0), 0});
  const Verdict verdict = Verify(placement);
  EXPECT_THAT(verdict.violations.listed(),
              ElementsAre(Breaks("plan.schedule.tasks[4]", "forward of stage 1 is already at plan.schedule.tasks[3]"),
                          Breaks("plan.schedule.tasks[6]", "there is no send_forward of stage 1"),
                          Breaks("plan.schedule.tasks[7]", "there is no forward of stage 7"),
                          Breaks("plan.schedule.tasks", "has no backward of stage 1")));
  EXPECT_EQ(verdict.costed, std::nullopt);
}

TEST_F(VerifyPeriodicTest, StagesOfOneDeviceSendNothing) {
  example_.problem.split = Split::kNonContiguous;
  Placement placement = PeriodicExample::Fastest();
  placement.stages[1].devices = placement.stages[0].devices;
  EXPECT_THAT(ViolationsIn(placement),
              ElementsAre(Breaks("plan.schedule.tasks[2]", "there is no send_forward of stage 0"),
                          Breaks("plan.schedule.tasks[5]", "there is no send_backward of stage 1")));
}

TEST_F(VerifyPeriodicTest, StartsAndShiftsHaveTheirRange) {
  EXPECT_THAT(ViolationsAfter(0, [](PatternTask& task) { task.shift = 1; }),
              ElementsAre(Breaks("plan.schedule.tasks[0].index_shift", "of the first forward pass must be 0, is 1")));
  EXPECT_THAT(
      ViolationsAfter(1, [](PatternTask& task) { task.start = Picoseconds(90); }),
      ElementsAre(Breaks("plan.schedule.tasks[1].start_ms", "must be in [0 ms, 0.00000009 ms), is 0.00000009 ms"),
                  Breaks("plan.schedule.tasks", "has no backward of stage 0")));
  Placement placement = PeriodicExample::Fastest();
  placement.pattern->period = Picoseconds(0);
  EXPECT_THAT(ViolationsIn(placement), ElementsAre(Breaks("plan.schedule.period_ms", "must be > 0, is 0 ms")));
}

TEST_F(VerifyPeriodicTest, HugeShiftsAreCountedAndNotOverflowed) {
  // Two billion micro-batches in flight.
  const auto shift_backward = [](PatternTask& task) { task.shift = 2'000'000'000; };
  EXPECT_THAT(ViolationsAfter(1, shift_backward), IsEmpty());
  example_.cluster.device_classes[0].memory_bytes = 1'000'000;
  EXPECT_THAT(ViolationsAfter(1, shift_backward),
              ElementsAre(Breaks("plan.stages[0]",
                                 "memory: needs 558.79 GiB, device 'acc0' offers 976.56 KiB: 558.79 GiB "
                                 "(599,999,000,532 bytes) too many")));
  Placement placement = PeriodicExample::Fastest();
  placement.pattern->period = Picoseconds(int64_t{1} << 59);
  placement.pattern->tasks[1].shift = 2'000'000'000;
  EXPECT_THAT(ViolationsIn(placement),
              ElementsAre(Breaks("plan.schedule.tasks[1].index_shift",
                                 "must be >= 0, and periods times shift less than 2^62 ps, is 2000000000"),
                          Breaks("plan.schedule.tasks", "has no backward of stage 0")));
}

TEST_F(VerifyPeriodicTest, APlacementWithoutPatternIsNone) {
  EXPECT_THAT(ViolationsIn({example_.Fastest().stages}),
              ElementsAre(Breaks("plan.schedule.tasks",
                                 "must say when each stage works on what, because the schedule is PERIODIC")));
}

TEST_F(VerifyPeriodicTest, StagesAreInLinearOrderAsGiven) {
  Placement placement = PeriodicExample::Fastest();
  std::swap(placement.stages[0], placement.stages[1]);
  const std::string rule = "; PERIODIC takes stages in the order given";
  EXPECT_THAT(ViolationsIn(placement),
              ElementsAre(Breaks("plan.stages[0].operators[0]",
                                 "tensor 't1' of the forward pass comes from stage 1 to stage 0" + rule),
                          Breaks("plan.stages[0].operators[0]",
                                 "tensor 't2' of the forward pass comes from stage 1 to stage 0" + rule)));
}

TEST_F(VerifyPeriodicTest, BackwardTensorsGoBackAndColocatedOperatorsShareAStage) {
  const OperatorId backward_c = AddBackward(example_.graph, "c'", OperatorId(2), 60, 0);
  const OperatorId backward_b = AddBackward(example_.graph, "b'", OperatorId(1), 60, 0);
  const OperatorId backward_a = AddBackward(example_.graph, "a'", OperatorId(0), 60, 0);
  AddTensor(example_.graph, backward_b, {backward_c}, 4, 40);
  AddTensor(example_.graph, backward_c, {backward_a}, 4, 40);
  example_.problem.split = Split::kNonContiguous;
  Placement placement = PeriodicExample::OneAfterTheOther();
  placement.stages[0].operators = {OperatorId(0), backward_c, backward_a};
  placement.stages[1].operators.push_back(backward_b);
  EXPECT_THAT(ViolationsIn(placement), Contains(Breaks("plan.stages[0].operators[1]",
                                                       "operator 'c'' is in another stage than its forward operator "
                                                       "'c', at plan.stages[2].operators[0]")));
  placement.stages[0].operators = {OperatorId(0), backward_b, backward_a};
  placement.stages[1].operators = {OperatorId(1)};
  placement.stages[2].operators = {OperatorId(2), backward_c};
  EXPECT_THAT(ViolationsIn(placement),
              ElementsAre(Breaks("plan.stages[0].operators[1]",
                                 "operator 'b'' is on device 'acc0', but its forward operator 'b' is on 'acc1'"),
                          Breaks("plan.stages[2].operators[1]",
                                 "tensor 't3' of the backward pass comes from stage 0 to "
                                 "stage 2; PERIODIC takes stages in the order given")));
}

// b' sends to c' as b does to c: the graph lists its gradients along their activations.
TEST_F(VerifyPeriodicTest, GradientsThatAreListedForwardGoBack) {
  const OperatorId backward_c = AddBackward(example_.graph, "c'", OperatorId(2), 60, 0);
  const OperatorId backward_b = AddBackward(example_.graph, "b'", OperatorId(1), 60, 0);
  AddTensor(example_.graph, backward_b, {backward_c}, 4, 40);
  example_.problem.split = Split::kNonContiguous;
  Placement placement = PeriodicExample::OneAfterTheOther();
  placement.stages[1].operators.push_back(backward_b);
  placement.stages[2].operators.push_back(backward_c);
  for (const Violation& violation : ViolationsIn(placement)) {
    EXPECT_THAT(violation.rule, Not(HasSubstr("in the order given")));
  }
}

TEST_F(VerifyPeriodicTest, CpusStayIdle) {
  for (std::size_t stage = 0; stage < 2; ++stage) {
    Placement placement = PeriodicExample::Fastest();
    placement.stages[stage].devices = {DeviceId(2)};
    EXPECT_THAT(ViolationsIn(placement), Contains(Breaks(absl::StrCat("plan.stages[", stage, "].replicas"),
                                                         "device 'cpu0' is a CPU, but PERIODIC runs on accelerators")));
  }
}

TEST_F(VerifyPeriodicTest, MemoryIsThatOfThePattern) {
  example_.cluster.device_classes[0].memory_bytes = 1131;
  EXPECT_THAT(
      ViolationsIn(example_.Fastest()),
      ElementsAre(Breaks("plan.stages[0]", "memory: needs 1.11 KiB, device 'acc0' offers 1.10 KiB: 1 byte too many")));
  EXPECT_THAT(ViolationsIn(example_.Smaller()), IsEmpty());
}

TEST_F(VerifyPeriodicTest, WhatEndsMakesRoomBeforeWhatStarts) {
  // b is a stage of its own without time: it stores its micro-batch while c works on it, and no longer.
  example_.problem.split = Split::kNonContiguous;
  example_.graph.tensors.clear();
  Placement placement;
  placement.stages = {
      {{OperatorId(0)}, {DeviceId(0)}}, {{OperatorId(1)}, {DeviceId(0)}}, {{OperatorId(2)}, {DeviceId(0)}}};
  // All in 180 ps: a stores 1 from 0 on and gives it back at 180, when the next one starts.
  placement.pattern = {Picoseconds(180),
                       {{PatternOperation::kForward, StageId(0), Picoseconds(0), 0},
                        {PatternOperation::kBackward, StageId(0), Picoseconds(160), 0},
                        {PatternOperation::kForward, StageId(1), Picoseconds(10), 0},
                        {PatternOperation::kBackward, StageId(1), Picoseconds(120), 0},
                        {PatternOperation::kForward, StageId(2), Picoseconds(30), 0},
                        {PatternOperation::kBackward, StageId(2), Picoseconds(60), 0}}};
  EXPECT_EQ(Cost(placement).devices[0].memory_bytes, 3 * (10 + 20 + 40) + 100 + 200 + 400 + 3);
}

}  // namespace
}  // namespace planwright
