// Two implementations of docs/training-costs.md against each other.
#include "core/verify/joint/rank_costs.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/cost/training_efficiency.h"
#include "core/joint/cost/transformer_pricer.h"
#include "core/verify/joint/machines.h"
#include "core/zoo/zoo.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

template <typename Value>
Value OneOf(RandomStream& random, const std::vector<Value>& values) {
  return values[random.Below(values.size())];
}

TransformerShape RandomShape(RandomStream& random) {
  TransformerShape shape;
  shape.layers = 4;
  shape.heads = 16;
  shape.kv_heads = OneOf<int32_t>(random, {8, 16});
  shape.head_width = OneOf<int64_t>(random, {64, 128});
  shape.hidden = OneOf<int64_t>(random, {1'024, 2'048});
  shape.feed_forward = 4 * shape.hidden;
  shape.gated = random.Below(2) == 0;
  shape.stores_scores = random.Below(2) == 0;
  shape.dropout = random.Below(2) == 0;
  shape.learned_positions = random.Below(2) == 0;
  shape.vocabulary = 32'000;
  shape.sequence = OneOf<int64_t>(random, {2'048, 4'096});
  shape.tied = random.Below(2) == 0;
  shape.eight_bit_products = random.Below(3) == 0;
  if (random.Below(2) == 0) {
    shape.experts = 16;
    shape.experts_per_token = static_cast<int32_t>(random.Between(1, 4));
    shape.expert_feed_forward = 512;
    shape.shared_experts = static_cast<int32_t>(random.Below(2));
    shape.dense_layers = static_cast<int32_t>(random.Below(3));
    shape.expert_load = OneOf<double>(random, {1, 1.25});
  }
  if (random.Below(3) == 0) {
    shape.query_rank = OneOf<int64_t>(random, {0, 512});
    shape.kv_rank = 256;
    shape.rope_width = 64;
    shape.value_width = 128;
  }
  return shape;
}

struct Judged {
  std::vector<LayerPrice> prices;
  std::vector<verify::RankCosts> costs;
};

// Of all layers of one model on one spread; empty where its degrees do not divide it.
Judged Judge(uint64_t seed) {
  RandomStream random(seed);
  const TransformerShape shape = RandomShape(random);
  const Cluster cluster = *MakeZooCluster(OneOf<std::string>(
      random, {"dgx-h100:4", "dgx-a100:8", "dgx-h100:1", "nodes:4?devices=4", "fat-tree:2?taper=2&racks=2&nodes=2"}));
  const auto devices = static_cast<int64_t>(cluster.devices.size());
  std::vector<DeviceId> all;
  for (std::size_t d = 0; d < cluster.devices.size(); ++d) all.emplace_back(d);
  const TrainingCluster training = *MakeTrainingCluster(cluster, all, 0);
  const TransformerPricer pricer(shape, cluster, training.inside, training.between);
  const int64_t node = training.classes.front().devices_per_node;
  const TrainingLink between = training.LinkOf(static_cast<int32_t>(random.Between(1, training.num_tiers() - 1)));
  const auto link = [](const TrainingLink& from) {
    return verify::MachineLink{from.bytes_per_second, from.latency_ps};
  };
  const verify::RankSpread spread{.degrees = {.tensor = OneOf<int32_t>(random, {1, 2, 4}),
                                              .context = OneOf<int32_t>(random, {1, 2}),
                                              .expert = OneOf<int32_t>(random, {1, 2, 4}),
                                              .data = OneOf<int32_t>(random, {1, 2, 3, 4, 8})},
                                  .samples = random.Between(1, 4),
                                  .sharding = static_cast<Sharding>(random.Below(kNumShardings)),
                                  .node_size = node,
                                  .inside = link(random.Below(4) == 0 ? between : training.inside),
                                  .between = link(between)};
  Judged judged;
  if (spread.degrees.devices() > devices) return judged;
  judged.prices = pricer.Price(verify::QueryOf(training.classes.front().device_class, spread));
  if (judged.prices.empty()) return judged;
  std::vector<LayerPrice> by_layer;
  const DeviceClass& device = cluster.device_classes.front();
  for (int32_t layer = 0; layer < shape.layers + 2; ++layer) {
    by_layer.push_back(judged.prices[static_cast<std::size_t>(pricer.kinds()[static_cast<std::size_t>(layer)])]);
    judged.costs.push_back(verify::CostsOfRank(shape, layer, device, TrainingEfficiencyOf(device), spread));
  }
  judged.prices = std::move(by_layer);
  return judged;
}

TEST(RankCostsTest, AgreeWithThePricesOfTheSearch) {
  int64_t judged_layers = 0;
  for (uint64_t seed = 0; seed < NumCases(2'000); ++seed) {
    const Judged judged = Judge(seed);
    for (std::size_t layer = 0; layer < judged.costs.size(); ++layer) {
      ASSERT_EQ(verify::DifferenceOf(judged.prices[layer], judged.costs[layer]), "")
          << "seed " << seed << ", " << layer;
      ++judged_layers;
    }
  }
  EXPECT_GT(judged_layers, 5'000);
}

TEST(RankCostsTest, NoticeEveryNumberThatIsOtherwise) {
  Judged judged;
  for (uint64_t seed = 0; judged.costs.empty() || !judged.prices[2].modes[1].has_value(); ++seed) judged = Judge(seed);
  const LayerPrice& price = judged.prices[2];
  const auto is_noticed = [&](auto change) {
    LayerPrice changed = price;
    change(changed);
    return !verify::DifferenceOf(changed, judged.costs[2]).empty();
  };
  ASSERT_FALSE(is_noticed([](LayerPrice&) {}));
  for (int64_t LayerPrice::*number :
       {&LayerPrice::forward_ps, &LayerPrice::backward_ps, &LayerPrice::recomputed_bytes, &LayerPrice::workspace_bytes,
        &LayerPrice::parameter_bytes, &LayerPrice::gradient_bytes, &LayerPrice::optimizer_bytes,
        &LayerPrice::gathered_bytes, &LayerPrice::step_end_ps, &LayerPrice::output_bytes}) {
    EXPECT_TRUE(is_noticed([&](LayerPrice& changed) { changed.*number += 10 + changed.*number / 100'000; }));
  }
  for (int64_t LayerPrice::Shared::*number : {&LayerPrice::Shared::parameter_bytes, &LayerPrice::Shared::gradient_bytes,
                                              &LayerPrice::Shared::optimizer_bytes, &LayerPrice::Shared::step_end_ps}) {
    EXPECT_TRUE(is_noticed([&](LayerPrice& changed) { changed.shared.*number += 10; }));
  }
  for (std::size_t mode = 0; mode < price.modes.size(); ++mode) {
    EXPECT_TRUE(is_noticed([&](LayerPrice& changed) { changed.modes[mode]->kept_bytes += 1'000; })) << mode;
    EXPECT_TRUE(is_noticed([&](LayerPrice& changed) { changed.modes[mode].reset(); })) << mode;
  }
}

// A number may exceed its sum by the three units that rounding up adds, and by no more.
TEST(RankCostsTest, OnlyRoundingIsLeftOutOfAccount) {
  Judged judged;
  for (uint64_t seed = 0; judged.costs.empty() || judged.costs[2].gathered > 0; ++seed) judged = Judge(seed);
  LayerPrice price = judged.prices[2];
  price.gathered_bytes = 3;
  EXPECT_EQ(verify::DifferenceOf(price, judged.costs[2]), "");
  price.gathered_bytes = 4;
  EXPECT_NE(verify::DifferenceOf(price, judged.costs[2]), "");
}

// Rounded up to whole picoseconds, however many digits the quotient has.
TEST(BothWaysTest, IsExact) {
  EXPECT_EQ(verify::BothWaysPs(0, {1e9, 5}), 0);
  EXPECT_EQ(verify::BothWaysPs(1, {1e9, 5}), 2 * (1'000 + 5));
  // A byte too much for 100,000 s at 3 bytes/s.
  EXPECT_EQ(verify::BothWaysPs(300'001, {3, 0}), 2 * int64_t{100'000'333'333'333'334});
  RandomStream random(1);
  for (int sample = 0; sample < 2'000; ++sample) {
    const auto bytes = static_cast<int64_t>(1 + random.Below(uint64_t{1} << 40));
    const TrainingLink link{static_cast<double>(random.Between(1'000'000, 900'000'000'000)), random.Between(0, 9'000)};
    EXPECT_EQ(verify::BothWaysPs(bytes, {link.bytes_per_second, link.latency_ps}), TransferPs(bytes, link));
  }
}

}  // namespace
}  // namespace planwright
