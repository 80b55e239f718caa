// The built-in classes against the runs that they were fitted to. Skipped where these are not there.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/joint/calibration/efficiency_fit.h"
#include "core/joint/calibration/fit_errors.h"
#include "core/joint/calibration/read_runs.h"
#include "tests/support/planned_runs.h"
#include "tests/support/shared_dir.h"

namespace planwright {
namespace {

class PublishedRunsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto path = SharedFile("workloads/published-runs/runs.csv");
    if (!path.has_value()) GTEST_SKIP() << "workloads/published-runs is not there";
    std::ifstream const file(*path);
    std::stringstream text;
    text << file.rdbuf();
    auto runs = ReadTrainingRuns(text.str());
    ASSERT_TRUE(runs.ok()) << runs.status();
    runs_ = *std::move(runs);
  }

  static bool IsTypical(const JudgedRun& judged) {
    return judged.run->is_core && !judged.run->shape.eight_bit_products && judged.StepError().has_value();
  }

  std::vector<TrainingRun> runs_;
};

TEST_F(PublishedRunsTest, BuiltInClassesMeetStepTimes) {
  std::vector<double> errors;
  for (const JudgedRun& judged : JudgeRuns(runs_, EfficiencyInForce(runs_))) {
    if (IsTypical(judged)) errors.push_back(*judged.StepError());
  }
  const ErrorSummary summary = Summarise(errors);
  EXPECT_GT(summary.runs, 80);
  EXPECT_LT(summary.median, 0.13);
}

TEST_F(PublishedRunsTest, RunsThatWereHeldOutAreMet) {
  std::vector<double> errors;
  for (const JudgedRun& judged : JudgeHeldOut(runs_, DefaultEfficiency(runs_), 5)) {
    if (IsTypical(judged)) errors.push_back(*judged.StepError());
  }
  const ErrorSummary summary = Summarise(errors);
  EXPECT_LE(summary.median, 0.08);
  EXPECT_GE(summary.within_20_percent, 0.88);
}

TEST_F(PublishedRunsTest, WhatRanFitsAndWhatDidNotDoesNot) {
  for (const JudgedRun& judged : JudgeRuns(runs_, EfficiencyInForce(runs_))) {
    ASSERT_TRUE(judged.prediction.has_value()) << judged.run->id;
    EXPECT_NE(judged.prediction->fits, judged.run->ran_out_of_memory) << judged.run->id;
  }
}

TEST_F(PublishedRunsTest, PeakMemoryIsMet) {
  std::vector<double> errors;
  for (const JudgedRun& judged : JudgeRuns(runs_, EfficiencyInForce(runs_))) {
    if (judged.MemoryError().has_value()) errors.push_back(*judged.MemoryError());
  }
  EXPECT_LT(Summarise(errors).median, 0.15);
}

TEST_F(PublishedRunsTest, LayoutsAreRanked) {
  const PairSummary pairs = ComparePairs(JudgeRuns(runs_, EfficiencyInForce(runs_)));
  EXPECT_GT(pairs.pairs, 40);
  EXPECT_GE(pairs.ranked_right, 0.8 * pairs.pairs);
}

// Whoever asks for nothing in particular gets no plan that is slower than what people ran on the same devices.
TEST_F(PublishedRunsTest, PlansAreNoSlowerThanWhatPeopleRan) {
  const EfficiencyFit in_force = EfficiencyInForce(runs_);
  int compared = 0;
  for (const JudgedRun& judged : JudgeRuns(runs_, in_force)) {
    ASSERT_TRUE(judged.prediction.has_value()) << judged.run->id;
    if (!judged.prediction->fits) continue;
    const auto plan = PlanInPlaceOf(*judged.run, in_force.classes.at(judged.run->family));
    ASSERT_TRUE(plan.has_value()) << judged.run->id;
    const double seconds = static_cast<double>(plan->step.count()) / kPicosecondsPerSecond;
    EXPECT_LE(seconds, 1.0002 * judged.prediction->step_seconds) << judged.run->id;
    ++compared;
  }
  EXPECT_GT(compared, 120);
}

}  // namespace
}  // namespace planwright
