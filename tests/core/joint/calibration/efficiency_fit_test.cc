#include "core/joint/calibration/efficiency_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/joint/calibration/accelerators.h"
#include "core/joint/calibration/fit_errors.h"

namespace planwright {
namespace {

// Runs of Llamas whose times are those of `truth`, of a source that is 1.3 times and one that is 0.9 times as slow.
std::vector<TrainingRun> MadeRuns(const TrainingEfficiency& truth) {
  const Accelerator& h100 = *FindAccelerator("h100");
  std::vector<TrainingRun> runs;
  for (const int64_t hidden : {2'048, 4'096, 8'192}) {
    for (const int32_t tensor : {1, 2, 8}) {
      for (const int64_t micro_batch : {1, 4}) {
        TrainingRun run;
        run.id = std::to_string(runs.size());
        run.source = runs.size() % 2 == 0 ? "slow" : "fast";
        run.series = run.source + std::to_string(hidden);
        run.group = run.id;
        run.family = h100.family;
        run.device = ClassOf(h100);
        run.devices = 64;
        run.devices_per_node = 8;
        run.inside = InsideLink(h100);
        run.between = BetweenLink(3'200, 8);
        run.shape = {.layers = 16,
                     .hidden = hidden,
                     .heads = 32,
                     .kv_heads = 8,
                     .head_width = hidden / 32,
                     .feed_forward = 3 * hidden,
                     .gated = true,
                     .vocabulary = 32'000,
                     .sequence = 4'096};
        run.global_batch = 512;
        run.degrees = {.tensor = tensor, .data = 64 / tensor};
        run.sharding = hidden > 4'096 ? Sharding::kParameters : Sharding::kOptimizer;
        run.micro_batch = micro_batch;
        run.recomputation = LayerRecomputation::kNone;
        const double seconds = PredictRun(run, truth, AssumedSetting(run, truth))->step_seconds;
        run.step_seconds = seconds * (run.source == "slow" ? 1.3 : 0.9);
        runs.push_back(run);
      }
    }
  }
  return runs;
}

const TrainingEfficiency kTruth = {.products = 0.6,
                                   .half_extent = 300,
                                   .attention = 0.3,
                                   .memory = 0.7,
                                   .network = 0.6,
                                   .hidden_in_layers = 0,
                                   .hidden_among_data = 0.5,
                                   .hidden_at_step_end = 0.1};

double MedianError(const std::vector<TrainingRun>& runs, const EfficiencyFit& fit) {
  std::vector<double> errors;
  for (const JudgedRun& judged : JudgeRuns(runs, fit)) errors.push_back(*judged.StepError());
  return Summarise(errors).median;
}

TEST(EfficiencyFitTest, FindsTheTimesOfMadeRuns) {
  const std::vector<TrainingRun> runs = MadeRuns(kTruth);
  const EfficiencyFit start = DefaultEfficiency(runs);
  const EfficiencyFit fit = FitEfficiency(runs, start);
  EXPECT_GT(MedianError(runs, start), 0.1);
  EXPECT_LT(MedianError(runs, fit), 0.02);
  // Only their ratio can be told.
  EXPECT_NEAR(fit.SlownessOf("slow") / fit.SlownessOf("fast"), 1.3 / 0.9, 0.1);
  EXPECT_EQ(fit.SlownessOf("another"), 1);
  const PairSummary pairs = ComparePairs(JudgeRuns(runs, fit));
  EXPECT_GT(pairs.pairs, 5);
  EXPECT_EQ(pairs.ranked_right, pairs.pairs);
}

TEST(EfficiencyFitTest, PredictsRunsThatItHasNotSeen) {
  const std::vector<TrainingRun> runs = MadeRuns(kTruth);
  std::vector<double> errors;
  for (const JudgedRun& judged : JudgeHeldOut(runs, DefaultEfficiency(runs), 3)) errors.push_back(*judged.StepError());
  EXPECT_LT(Summarise(errors).median, 0.05);
}

TEST(EfficiencyFitTest, GivesTheSameTwice) {
  const std::vector<TrainingRun> runs = MadeRuns(kTruth);
  const EfficiencyFit first = FitEfficiency(runs, DefaultEfficiency(runs));
  const EfficiencyFit second = FitEfficiency(runs, DefaultEfficiency(runs));
  EXPECT_EQ(first.classes, second.classes);
  EXPECT_EQ(first.slowness, second.slowness);
}

// What is written is to predict the user's own runs.
TEST(EfficiencyFitTest, ClassesTakeUpASingleSource) {
  std::vector<TrainingRun> runs;
  for (const TrainingRun& run : MadeRuns(kTruth)) {
    if (run.source == "slow") runs.push_back(run);
  }
  const EfficiencyFit fit = FitEfficiency(runs, DefaultEfficiency(runs));
  EXPECT_EQ(fit.SlownessOf("slow"), 1);
  EXPECT_LT(MedianError(runs, fit), 0.02);
}

TEST(EfficiencyFitTest, FitsOneNumberToFewRuns) {
  std::vector<TrainingRun> runs = MadeRuns(kTruth);
  runs.resize(kLeastRuns - 1);
  const EfficiencyFit fit = FitEfficiency(runs, DefaultEfficiency(runs));
  TrainingEfficiency expected;
  expected.products = fit.classes.at("h100").products;
  EXPECT_EQ(fit.classes.at("h100"), expected);
}

TEST(EfficiencyFitTest, SummarisesErrors) {
  const ErrorSummary summary = Summarise({0.1, -0.3, 0.05, 0.2});
  EXPECT_EQ(summary.runs, 4);
  EXPECT_DOUBLE_EQ(summary.median, 0.15);
  EXPECT_DOUBLE_EQ(summary.within_20_percent, 0.75);
  EXPECT_EQ(Summarise({}).runs, 0);
}

}  // namespace
}  // namespace planwright
