#include "core/joint/cost/layer_memory.h"

#include <gtest/gtest.h>

#include "tests/core/joint/cost/pricing.h"

namespace planwright {
namespace {

constexpr auto kNone = static_cast<std::size_t>(LayerRecomputation::kNone);
constexpr auto kSelective = static_cast<std::size_t>(LayerRecomputation::kSelective);
constexpr auto kFull = static_cast<std::size_t>(LayerRecomputation::kFull);

// Korthikanti et al. 2022, table 2: bytes per layer of the 22 G, 175 G, 530 G and 1 T models of table 3.
TEST(LayerMemoryTest, KeepsWhatKorthikantiSays) {
  struct Case {
    int64_t hidden = 0;
    int32_t heads = 0;
    int64_t samples = 1;
  };
  for (const auto& [h, a, b] : {Case{6'144, 64, 4}, Case{12'288, 96, 1}, Case{20'480, 128, 1}, Case{25'600, 160, 1}}) {
    const TransformerShape shape = GptShape(4, h, a);
    const Cluster cluster = ClusterOf(PerfectEfficiency());
    const int64_t s = 2'048;
    const int64_t t = 8;
    const int64_t whole = s * b * h;
    const int64_t scores = int64_t{5} * a * s * s * b / t;
    const Degrees degrees{.tensor = static_cast<int32_t>(t)};
    const LayerPrice with = PricesOf(shape, cluster, degrees, Sharding::kNone, b)[kDenseLayer];
    EXPECT_EQ(with.modes[kNone]->kept_bytes, 34 * whole / t + scores);
    EXPECT_EQ(with.modes[kSelective]->kept_bytes, 34 * whole / t);
    EXPECT_EQ(with.modes[kFull]->kept_bytes, 2 * whole / t);
    const LayerPrice without =
        PricesOf(shape, cluster, degrees, Sharding::kNone, b, {.sequence_parallel = false})[kDenseLayer];
    EXPECT_EQ(without.modes[kNone]->kept_bytes, 10 * whole + 24 * whole / t + scores);
    EXPECT_EQ(without.modes[kFull]->kept_bytes, 2 * whole);
    EXPECT_EQ(without.recomputed_bytes, 10 * whole + 24 * whole / t + scores);
  }
}

TEST(LayerMemoryTest, DividesTheStateAsShardingSays) {
  const TransformerShape shape = LlamaShape();
  const Cluster cluster = ClusterOf(PerfectEfficiency());
  // Queries and projection 2 x 1024^2, keys and values 2 x 1024 x 512, three matrices of 1024 x 4096, each on half of
  // the tensor ranks; four vectors of 1024 for norms on each.
  const int64_t parameters = (2 * 1'048'576 + 2 * 524'288 + 3 * 4'194'304) / 2 + 4 * 1'024;
  const Degrees degrees{.tensor = 2, .context = 2, .data = 2};
  const LayerPrice none = PricesOf(shape, cluster, degrees, Sharding::kNone)[kDenseLayer];
  EXPECT_EQ(none.parameter_bytes, 2 * parameters);
  EXPECT_EQ(none.gradient_bytes, 4 * parameters);
  EXPECT_EQ(none.optimizer_bytes, 12 * parameters);
  EXPECT_EQ(none.gathered_bytes, 0);
  const LayerPrice optimizer = PricesOf(shape, cluster, degrees, Sharding::kOptimizer)[kDenseLayer];
  EXPECT_EQ(optimizer.state_bytes(), (2 + 4 + 3) * parameters);
  const LayerPrice gradients = PricesOf(shape, cluster, degrees, Sharding::kGradients)[kDenseLayer];
  EXPECT_EQ(gradients.state_bytes(), (2 + 1 + 3) * parameters);
  const LayerPrice all = PricesOf(shape, cluster, degrees, Sharding::kParameters)[kDenseLayer];
  EXPECT_EQ(all.state_bytes(), 18 * parameters / 4);
  EXPECT_EQ(all.gathered_bytes, 2 * parameters);
  const LayerPrice half = PricesOf(shape, cluster, degrees, Sharding::kNone, 1, {.gradient_bytes = 2})[kDenseLayer];
  EXPECT_EQ(half.gradient_bytes, 2 * parameters);
}

TEST(LayerMemoryTest, DividesExpertsAmongExpertRanks) {
  const TransformerShape shape = ExpertShape();
  const Cluster cluster = ClusterOf(PerfectEfficiency());
  const int64_t expert = int64_t{3} * 1'024 * 512;
  const int64_t one = PricesOf(shape, cluster, {.expert = 1, .data = 8})[kExpertLayer].parameter_bytes;
  const int64_t eight = PricesOf(shape, cluster, {.expert = 8, .data = 8})[kExpertLayer].parameter_bytes;
  EXPECT_EQ(one - eight, int64_t{2} * (16 - 2) * expert);
  // Optimizer states: of experts divided among 8 / 4 ranks, of the rest among 8.
  const LayerPrice sharded = PricesOf(shape, cluster, {.expert = 4, .data = 8}, Sharding::kOptimizer)[kExpertLayer];
  const int64_t ordinary = (one - int64_t{2} * 16 * expert) / 2;
  EXPECT_EQ(sharded.optimizer_bytes, 12 * ordinary / 8 + int64_t{12} * 4 * expert / 2);
}

TEST(LayerMemoryTest, HoldsATiedTableAtBothEnds) {
  const TransformerShape shape = GptShape(4, 1'024, 16);
  const Cluster cluster = ClusterOf(PerfectEfficiency());
  const std::vector<LayerPrice> prices = PricesOf(shape, cluster, {.tensor = 4});
  const int64_t table = int64_t{51'200} * 1'024 / 4;
  EXPECT_EQ(prices[kEmbeddingLayer].parameter_bytes, 2 * (table + int64_t{2'048} * 1'024));
  EXPECT_EQ(prices[kHeadLayer].parameter_bytes, 2 * (table + int64_t{2} * 1'024));
}

TEST(LayerMemoryTest, HoldsLogitsWhileTheLossIsMade) {
  const Cluster cluster = ClusterOf(PerfectEfficiency());
  const int64_t logits = int64_t{1'024} * 32'000 / 4;
  EXPECT_EQ(PricesOf(LlamaShape(), cluster, {.tensor = 4})[kHeadLayer].workspace_bytes, 8 * logits);
  EXPECT_EQ(PricesOf(LlamaShape(), cluster, {.tensor = 4}, Sharding::kNone, 1, {.loss_bytes = 12})[kHeadLayer]
                .workspace_bytes,
            14 * logits);
}

}  // namespace
}  // namespace planwright
