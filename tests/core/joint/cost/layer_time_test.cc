#include "core/joint/cost/layer_time.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/joint/cost/training_efficiency.h"
#include "core/zoo/zoo.h"
#include "tests/core/joint/cost/pricing.h"

namespace planwright {
namespace {

constexpr double kPicoseconds = 1e12;
// Of LlamaShape, one token in one layer: multiply-adds of products, and FLOPs of causal attention.
constexpr double kProducts = 2 * 1'024 * 1'024 + 2 * 1'024 * 512 + 3 * 1'024 * 4'096;
constexpr double kAttention = 2 * 1'024 * 1'024;
constexpr double kTokens = 1'024;

// Sums of rounded parts are up to two picoseconds off.
void ExpectNear(int64_t actual, double expected) { EXPECT_NEAR(static_cast<double>(actual), expected, 2); }

double AtPeak(double flops) { return flops / kPeakFlops * kPicoseconds; }

TEST(LayerTimeTest, TakesItsFlopsAtThePeak) {
  const LayerPrice price = PricesOf(LlamaShape(), ClusterOf(PerfectEfficiency()), {})[kDenseLayer];
  ExpectNear(price.forward_ps, AtPeak(kTokens * (2 * kProducts + kAttention)));
  ExpectNear(price.backward_ps, AtPeak(kTokens * (4 * kProducts + 2.5 * kAttention)));
  EXPECT_FALSE(price.modes[static_cast<std::size_t>(LayerRecomputation::kSelective)].has_value());
  EXPECT_EQ(price.modes[static_cast<std::size_t>(LayerRecomputation::kFull)]->extra_ps, price.forward_ps);
}

TEST(LayerTimeTest, SmallProductsTakeLonger) {
  TrainingEfficiency efficiency = PerfectEfficiency();
  efficiency.half_extent = 128;
  const LayerPrice price = PricesOf(LlamaShape(), ClusterOf(efficiency), {})[kHeadLayer];
  const double slower = 1 + 128 * (1 / 1'024.0 + 1 / 1'024.0 + 1 / 32'000.0);
  ExpectNear(price.forward_ps, slower * AtPeak(kTokens * 2 * 1'024 * 32'000));
}

TEST(LayerTimeTest, LaunchesThatBlockTakeLonger) {
  TrainingEfficiency efficiency = PerfectEfficiency();
  efficiency.launch = Picoseconds(1'000'000);
  const Cluster cluster = ClusterOf(efficiency);
  const int64_t plain = PricesOf(LlamaShape(), cluster, {})[kDenseLayer].forward_ps;
  const int64_t blocking =
      PricesOf(LlamaShape(), cluster, {}, Sharding::kNone, 1, {.blocking_launches = true})[kDenseLayer].forward_ps;
  EXPECT_EQ(blocking - plain, 5 * 24'000'000);
}

TEST(LayerTimeTest, EightBitsSpeedUpProductsOfLayersAlone) {
  TransformerShape shape = LlamaShape();
  shape.eight_bit_products = true;
  const std::vector<LayerPrice> prices = PricesOf(shape, ClusterOf(PerfectEfficiency()), {});
  ExpectNear(prices[kDenseLayer].forward_ps, AtPeak(kTokens * (kProducts + kAttention)));
  ExpectNear(prices[kHeadLayer].forward_ps, AtPeak(kTokens * 2 * 1'024 * 32'000));
}

TEST(LayerTimeTest, TensorRanksDivideWorkAndExchangeFourTimes) {
  const LayerPrice price = PricesOf(LlamaShape(), ClusterOf(PerfectEfficiency()), {.tensor = 4})[kDenseLayer];
  // A gather or scatter: 3/4 of 1,024 tokens of 1,024 elements of 2 bytes at 100 GB/s.
  const double pass = 0.75 * kTokens * 2'048 / 1e11 * kPicoseconds;
  ExpectNear(price.forward_ps, AtPeak(kTokens * (2 * kProducts + kAttention)) / 4 + 4 * pass);
  ExpectNear(price.backward_ps, AtPeak(kTokens * (4 * kProducts + 2.5 * kAttention)) / 4 + 4 * pass);
}

TEST(LayerTimeTest, AShareOfExchangesIsHidden) {
  TrainingEfficiency efficiency = PerfectEfficiency();
  const int64_t shown = PricesOf(LlamaShape(), ClusterOf(efficiency), {.tensor = 4})[kDenseLayer].forward_ps;
  efficiency.hidden_in_layers = 0.5;
  const int64_t half = PricesOf(LlamaShape(), ClusterOf(efficiency), {.tensor = 4})[kDenseLayer].forward_ps;
  ExpectNear(shown - half, 2 * 0.75 * kTokens * 2'048 / 1e11 * kPicoseconds);
}

TEST(LayerTimeTest, KeysAndValuesGoAroundTheContextRing) {
  const LayerPrice price = PricesOf(LlamaShape(), ClusterOf(PerfectEfficiency()), {.context = 4})[kDenseLayer];
  // 3/4 of the keys and values of 1,024 tokens, 8 heads of 64 each.
  const double ring = 0.75 * kTokens * 2 * 512 * 2 / 1e11 * kPicoseconds;
  ExpectNear(price.forward_ps, AtPeak(kTokens * (2 * kProducts + kAttention)) / 4 + ring);
  ExpectNear(price.backward_ps, AtPeak(kTokens * (4 * kProducts + 2.5 * kAttention)) / 4 + 2 * ring);
}

TEST(LayerTimeTest, TokensGoToTheirExpertsAndBack) {
  TransformerShape shape = ExpertShape();
  const Cluster cluster = ClusterOf(PerfectEfficiency());
  const int64_t at_home = PricesOf(shape, cluster, {.data = 8})[kExpertLayer].forward_ps;
  const int64_t away = PricesOf(shape, cluster, {.expert = 8, .data = 8})[kExpertLayer].forward_ps;
  const double journey = 2 * kTokens * 2'048 * 7 / 8 / 1e11 * kPicoseconds;
  ExpectNear(away - at_home, 2 * journey);
  shape.expert_load = 1.5;
  const int64_t loaded = PricesOf(shape, cluster, {.expert = 8, .data = 8})[kExpertLayer].forward_ps;
  ExpectNear(loaded - away, journey + 0.5 * AtPeak(kTokens * 2 * 2 * 3 * 1'024 * 512));
}

TEST(LayerTimeTest, SmallGroupsOfTokensSlowExpertsDown) {
  TrainingEfficiency efficiency = PerfectEfficiency();
  efficiency.half_extent = 100;
  const Cluster cluster = ClusterOf(efficiency);
  TransformerShape many = ExpertShape();
  many.experts = 256;
  EXPECT_GT(PricesOf(many, cluster, {})[kExpertLayer].forward_ps,
            PricesOf(ExpertShape(), cluster, {})[kExpertLayer].forward_ps);
}

TEST(LayerTimeTest, GathersHideBehindComputation) {
  TrainingEfficiency efficiency = PerfectEfficiency();
  const Degrees degrees{.data = 8};
  const auto price = [&](Sharding sharding) {
    return PricesOf(LlamaShape(), ClusterOf(efficiency), degrees, sharding)[kDenseLayer];
  };
  const double parameters = kProducts + 4 * 1'024;
  const double gather = 2 * parameters * 7 / 8 / 1e11 * kPicoseconds;
  const LayerPrice plain = price(Sharding::kOptimizer);
  const LayerPrice gathered = price(Sharding::kParameters);
  ExpectNear(gathered.forward_ps - plain.forward_ps, gather);
  ExpectNear(gathered.backward_ps - plain.backward_ps, 3 * gather);
  efficiency.hidden_among_data = 0.9;
  ExpectNear(price(Sharding::kParameters).forward_ps - plain.forward_ps, 0.1 * gather);
  // All the computation there is hides no more than its own time.
  const auto few_tokens = [&](Sharding sharding) {
    TransformerShape shape = LlamaShape();
    shape.sequence = 16;
    return PricesOf(shape, ClusterOf(efficiency), degrees, sharding)[kDenseLayer].forward_ps;
  };
  const auto compute = static_cast<double>(few_tokens(Sharding::kOptimizer));
  ExpectNear(few_tokens(Sharding::kParameters), compute + gather - std::min(0.9 * gather, compute));
}

TEST(LayerTimeTest, TheStepEndsWithGradientsAndUpdate) {
  TrainingEfficiency const efficiency = PerfectEfficiency();
  const double parameters = kProducts + 4 * 1'024;
  const double pass = parameters * 7 / 8 / 1e11 * kPicoseconds;
  const Cluster cluster = ClusterOf(efficiency, 1e12);
  const auto end = [&](Sharding sharding) {
    return static_cast<double>(PricesOf(LlamaShape(), cluster, {.data = 8}, sharding)[kDenseLayer].step_end_ps);
  };
  // An update reads a gradient and reads and writes the state: 30 bytes of a parameter.
  EXPECT_NEAR(end(Sharding::kNone), 8 * pass + 30 * parameters / 1e12 * kPicoseconds, 3);
  EXPECT_NEAR(end(Sharding::kOptimizer), 6 * pass + 30 * parameters / 8 / 1e12 * kPicoseconds, 3);
  EXPECT_NEAR(end(Sharding::kGradients), 2 * pass + 30 * parameters / 8 / 1e12 * kPicoseconds, 3);
  EXPECT_NEAR(end(Sharding::kParameters), 30 * parameters / 8 / 1e12 * kPicoseconds, 3);
}

TEST(LayerTimeTest, TiedTablesAreSummedUpOnceAStep) {
  TransformerShape shape = LlamaShape();
  TrainingEfficiency efficiency = PerfectEfficiency();
  efficiency.network = 0.5;
  const Cluster cluster = ClusterOf(efficiency);
  EXPECT_EQ(PricesOf(shape, cluster, {.tensor = 2})[kHeadLayer].ends_bytes, 0);
  shape.tied = true;
  const std::vector<LayerPrice> tied = PricesOf(shape, cluster, {.tensor = 2});
  for (const LayerKind end : {kEmbeddingLayer, kHeadLayer}) {
    EXPECT_EQ(tied[end].ends_bytes, 4 * 32'000 * 1'024 / 2 * 2) << end;
  }
  EXPECT_EQ(tied[kDenseLayer].ends_bytes, 0);
}

TEST(LayerTimeTest, AHeadSharesAllOfATiedTable) {
  TransformerShape shape = LlamaShape();
  const Cluster cluster = ClusterOf(PerfectEfficiency());
  EXPECT_EQ(PricesOf(shape, cluster, {.tensor = 2, .data = 4})[kHeadLayer].shared.state_bytes(), 0);
  shape.tied = true;
  const std::vector<LayerPrice> tied = PricesOf(shape, cluster, {.tensor = 2, .data = 4});
  const LayerPrice& head = tied[kHeadLayer];
  const int64_t table = 32'000 * 1'024 / 2;
  EXPECT_EQ(head.shared.parameter_bytes, 2 * table);
  EXPECT_EQ(head.shared.gradient_bytes, 4 * table);
  EXPECT_EQ(head.shared.optimizer_bytes, 12 * table);
  // Of norms there is left what a rank has whole.
  EXPECT_EQ(head.least_state_bytes(), 18 * 2 * 1'024);
  EXPECT_GT(head.least_step_end_ps(), 0);
  EXPECT_LT(head.least_step_end_ps(), head.step_end_ps / 1'000);
  for (const LayerKind other : {kEmbeddingLayer, kDenseLayer}) {
    EXPECT_EQ(tied[other].shared.state_bytes(), 0) << other;
    EXPECT_EQ(tied[other].shared.step_end_ps, 0) << other;
  }
}

// docs/training-costs.md, section 6, which has to follow where the built-in numbers change.
TEST(LayerTimeTest, TakesWhatTheWorkedExampleSays) {
  Cluster cluster = MakeZooCluster("dgx-h100:1").value();
  cluster.device_classes[0].training = BuiltInEfficiency("h100").value();
  const TransformerPricer pricer(TransformerShapeOf("llama3-70b").value(), cluster, {370e9, 5'000'000}, {48e9, 0});
  const std::vector<LayerPrice> prices =
      pricer.Price({.device_class = DeviceClassId(0), .degrees = {.tensor = 8}, .devices_per_node = 8});
  EXPECT_NEAR(static_cast<double>(prices[kDenseLayer].forward_ps), 4.379e9, 0.001e9);
}

TEST(LayerTimeTest, RefusesWhatNoNumberHolds) {
  EXPECT_TRUE(PricesOf(LlamaShape(), ClusterOf(PerfectEfficiency()), {}, Sharding::kNone, int64_t{1} << 50).empty());
  Cluster still = ClusterOf(PerfectEfficiency());
  still.device_classes[0].peak_flops = 0;
  EXPECT_TRUE(PricesOf(LlamaShape(), still, {}).empty());
  still = ClusterOf(PerfectEfficiency(), 0);
  EXPECT_TRUE(PricesOf(LlamaShape(), still, {}).empty());
}

TEST(LayerTimeTest, RefusesDegreesThatDoNotDivide) {
  const Cluster cluster = ClusterOf(PerfectEfficiency());
  // 8 heads of keys and values, a sequence of 1,024, 16 experts.
  EXPECT_TRUE(PricesOf(LlamaShape(), cluster, {.tensor = 16}).empty());
  EXPECT_TRUE(PricesOf(LlamaShape(), cluster, {.tensor = 3}).empty());
  EXPECT_TRUE(PricesOf(LlamaShape(), cluster, {.context = 1'024}).empty());
  EXPECT_TRUE(PricesOf(LlamaShape(), cluster, {.expert = 2, .data = 2}).empty());
  EXPECT_TRUE(PricesOf(ExpertShape(), cluster, {.expert = 32, .data = 32}).empty());
  EXPECT_TRUE(PricesOf(ExpertShape(), cluster, {.expert = 8, .data = 4}).empty());
  EXPECT_FALSE(PricesOf(ExpertShape(), cluster, {.context = 2, .expert = 8, .data = 4}).empty());
}

}  // namespace
}  // namespace planwright
