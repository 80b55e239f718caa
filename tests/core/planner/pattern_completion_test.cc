#include "core/planner/pattern_completion.h"

#include <gtest/gtest.h>

#include <optional>

#include "core/verify/verify.h"
#include "tests/support/builders.h"
#include "tests/support/periodic_example.h"

namespace planwright {
namespace {

class PatternCompletionTest : public ::testing::Test {
 protected:
  Placement Complete(Placement placement) const {
    const ResolvedProblem problem = ResolveProblem(example_.graph, example_.problem);
    const CostTable costs(example_.graph, example_.cluster, problem.workload);
    return WithPattern({example_.graph, example_.cluster, problem, costs}, std::move(placement), SolveLimits());
  }

  Placement CompleteStagesOf(Placement placement) const {
    placement.pattern.reset();
    return Complete(std::move(placement));
  }

  std::optional<Picoseconds> PeriodOfStages(const Placement& placement) const {
    const Placement completed = CompleteStagesOf(placement);
    const Verdict verdict = VerifyPlacement(
        {example_.graph, example_.cluster, ResolveProblem(example_.graph, example_.problem)}, completed);
    if (!verdict.violations.empty()) return std::nullopt;
    return verdict.costed->objective;
  }

  void SetMemory(int64_t bytes) { example_.cluster.device_classes[0].memory_bytes = bytes; }

  PeriodicExample example_;
};

TEST_F(PatternCompletionTest, FindsTheShortestPatternThatFits) {
  EXPECT_EQ(PeriodOfStages(example_.Fastest()), Picoseconds(90));
  // Room for three, two and one micro-batch in the first stage.
  SetMemory(1132);
  EXPECT_EQ(PeriodOfStages(example_.Fastest()), Picoseconds(90));
  SetMemory(1131);
  EXPECT_EQ(PeriodOfStages(example_.Fastest()), Picoseconds(104));
  SetMemory(831);
  EXPECT_EQ(PeriodOfStages(example_.Fastest()), Picoseconds(194));
}

TEST_F(PatternCompletionTest, StagesMayShareADevice) {
  example_.problem.split = Split::kNonContiguous;
  // a and c take 120 ps on one device, and b 60 on the other.
  EXPECT_EQ(PeriodOfStages(example_.OneAfterTheOther()), Picoseconds(120));
}

TEST_F(PatternCompletionTest, WhatFitsInNoWayGetsTheSmallestPattern) {
  SetMemory(600);
  const Placement completed = CompleteStagesOf(PeriodicExample::Fastest());
  ASSERT_TRUE(completed.pattern.has_value());
  EXPECT_EQ(completed.pattern->period, Picoseconds(30 + 7 + 30 + 60 + 7 + 60));
}

TEST_F(PatternCompletionTest, KeepsAPatternAndLeavesOtherSchedulesAlone) {
  EXPECT_EQ(Complete(example_.Smaller()).pattern, example_.Smaller().pattern);
  example_.problem.schedule = ScheduleKind::kSteadyState;
  EXPECT_EQ(CompleteStagesOf(example_.Fastest()).pattern, std::nullopt);
}

TEST_F(PatternCompletionTest, PassesOverEmptyStages) {
  Placement placement{PeriodicExample::Fastest().stages};
  placement.stages.insert(placement.stages.begin() + 1, Placement::Stage{{}, {DeviceId(1)}});
  EXPECT_EQ(PeriodOfStages(placement), Picoseconds(90));
}

TEST_F(PatternCompletionTest, WhatCannotBeReadComesBack) {
  Placement placement{PeriodicExample::Fastest().stages};
  placement.stages[0].devices.clear();
  EXPECT_EQ(Complete(placement).pattern, std::nullopt);
  placement.stages[0].devices = {DeviceId(3)};
  EXPECT_EQ(Complete(placement).pattern, std::nullopt);
  placement = {PeriodicExample::Fastest().stages};
  placement.stages[0].operators = {OperatorId(3)};
  EXPECT_EQ(Complete(placement).pattern, std::nullopt);
  EXPECT_EQ(Complete(Placement()).pattern, std::nullopt);
}

TEST_F(PatternCompletionTest, WorkWithoutTimeHasAPeriod) {
  for (Operator& op : example_.graph.operators) op.costs[0].forward = op.costs[0].backward = Picoseconds(0);
  for (Tensor& tensor : example_.graph.tensors) tensor.transfer = Picoseconds(0);
  SetMemory(10'000);
  EXPECT_EQ(PeriodOfStages(example_.Fastest()), Picoseconds(1));
  example_.problem.split = Split::kNonContiguous;
  EXPECT_EQ(PeriodOfStages(example_.OneAfterTheOther()), Picoseconds(1));
}

}  // namespace
}  // namespace planwright
