#include "core/joint/calibration/run_prediction.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/joint/calibration/accelerators.h"
#include "core/joint/calibration/efficiency_fit.h"

namespace planwright {
namespace {

// GPT on DGX A100 with HDR InfiniBand, eight tensor ranks.
TrainingRun GptRun(int32_t layers, int64_t hidden, int32_t heads, int32_t stages, int32_t chunks, int64_t batch) {
  const Accelerator& a100 = *FindAccelerator("a100-80");
  TrainingRun run;
  run.family = a100.family;
  run.device = ClassOf(a100);
  run.devices = 8 * stages;
  run.devices_per_node = 8;
  run.inside = InsideLink(a100);
  run.between = BetweenLink(8 * a100.port_gigabits, 8);
  run.shape = {.layers = layers,
               .hidden = hidden,
               .heads = heads,
               .kv_heads = heads,
               .head_width = hidden / heads,
               .feed_forward = 4 * hidden,
               .stores_scores = true,
               .dropout = true,
               .learned_positions = true,
               .vocabulary = 51'200,
               .sequence = 2'048,
               .tied = true};
  run.global_batch = batch;
  run.degrees = {.tensor = 8};
  run.num_stages = stages;
  run.chunks = chunks;
  return run;
}

double Step(const TrainingRun& run, const RunSetting& setting) {
  const EfficiencyFit in_force = EfficiencyInForce({run});
  return PredictRun(run, in_force.classes.at(run.family), setting)->step_seconds;
}

// Korthikanti et al. 2022, table 5: seconds of a step with full recomputation, and with selective recomputation and
// sequence parallelism. The built-in A100 is fitted to others' slower runs as well, so it is slower on average.
TEST(RunPredictionTest, MeetsTheStepTimesOfKorthikanti) {
  struct Case {
    TrainingRun run;
    int64_t micro_batch;
    double full;
    double selective;
  };
  for (Case& each : std::vector<Case>{{GptRun(48, 6'144, 64, 1, 1, 4), 4, 1.42, 1.10},
                                      {GptRun(96, 12'288, 96, 8, 3, 64), 1, 18.13, 13.75},
                                      {GptRun(105, 20'480, 128, 35, 3, 280), 1, 49.05, 37.83},
                                      {GptRun(128, 25'600, 160, 64, 1, 512), 1, 94.42, 71.49}}) {
    each.run.options.sequence_parallel = false;
    const double full = Step(each.run, {each.micro_batch, LayerRecomputation::kFull});
    each.run.options.sequence_parallel = true;
    const double selective = Step(each.run, {each.micro_batch, LayerRecomputation::kSelective});
    EXPECT_NEAR(full / each.full, 1.06, 0.1) << each.run.shape.hidden;
    EXPECT_NEAR(selective / each.selective, 1.06, 0.1) << each.run.shape.hidden;
    EXPECT_NEAR(full / selective / (each.full / each.selective), 1, 0.07) << each.run.shape.hidden;
  }
}

// The same, table 3 and figure 1: without sequence parallelism and selective recomputation none of the four fits 80 GB.
TEST(RunPredictionTest, JudgesWhatFits) {
  for (TrainingRun run :
       {GptRun(96, 12'288, 96, 8, 3, 64), GptRun(105, 20'480, 128, 35, 3, 280), GptRun(128, 25'600, 160, 64, 1, 512)}) {
    const TrainingEfficiency efficiency = EfficiencyInForce({run}).classes.at(run.family);
    EXPECT_TRUE(PredictRun(run, efficiency, {1, LayerRecomputation::kSelective})->fits);
    run.options.sequence_parallel = false;
    EXPECT_FALSE(PredictRun(run, efficiency, {1, LayerRecomputation::kNone})->fits);
    EXPECT_TRUE(PredictRun(run, efficiency, {1, LayerRecomputation::kFull})->fits);
  }
}

TEST(RunPredictionTest, RefusesWhatDoesNotDivide) {
  const TrainingEfficiency efficiency;
  TrainingRun run = GptRun(48, 6'144, 64, 1, 1, 4);
  EXPECT_FALSE(PredictRun(run, efficiency, {.micro_batch = 3}).has_value());
  run.degrees.tensor = 5;
  EXPECT_FALSE(PredictRun(run, efficiency, {.micro_batch = 4}).has_value());
  run = GptRun(2, 6'144, 64, 8, 1, 8);
  EXPECT_FALSE(PredictRun(run, efficiency, {.micro_batch = 1}).has_value());
}

TEST(RunPredictionTest, TakesAnyNumberOfDevices) {
  const TrainingEfficiency efficiency;
  TrainingRun run = GptRun(48, 6'144, 64, 1, 1, 12);
  // One and a half nodes.
  run.devices = 12;
  run.degrees = {.tensor = 1, .data = 1};
  run.num_stages = 12;
  EXPECT_TRUE(PredictRun(run, efficiency, {.micro_batch = 1}).has_value());
}

TEST(RunPredictionTest, RefusesTimesThatNoNumberHolds) {
  const TrainingEfficiency efficiency;
  TrainingRun run = GptRun(48, 6'144, 64, 1, 1, int64_t{1} << 40);
  EXPECT_FALSE(PredictRun(run, efficiency, {.micro_batch = 1}).has_value());
  run = GptRun(48, 6'144, 64, 2, 1, 16);
  run.between.bytes_per_second = 1e-6;
  EXPECT_FALSE(PredictRun(run, efficiency, {.micro_batch = 1}).has_value());
  run = GptRun(48, 6'144, 64, 1'000'000, 50'000, 16);
  EXPECT_FALSE(PredictRun(run, efficiency, {.micro_batch = 1}).has_value());
}

TEST(RunPredictionTest, AssumesTheFastestSettingThatFits) {
  TrainingRun run = GptRun(48, 6'144, 64, 1, 1, 16);
  const TrainingEfficiency efficiency = EfficiencyInForce({run}).classes.at(run.family);
  const RunSetting assumed = AssumedSetting(run, efficiency);
  const double least = PredictRun(run, efficiency, assumed)->step_seconds;
  for (int64_t size = 1; size <= 16; size *= 2) {
    for (const auto mode : {LayerRecomputation::kNone, LayerRecomputation::kSelective, LayerRecomputation::kFull}) {
      const auto other = PredictRun(run, efficiency, {size, mode});
      EXPECT_TRUE(!other->fits || other->step_seconds >= least);
    }
  }
  run.micro_batch = 2;
  run.recomputation = LayerRecomputation::kFull;
  EXPECT_EQ(AssumedSetting(run, efficiency).micro_batch, 2);
  EXPECT_EQ(AssumedSetting(run, efficiency).recomputation, LayerRecomputation::kFull);
}

}  // namespace
}  // namespace planwright
