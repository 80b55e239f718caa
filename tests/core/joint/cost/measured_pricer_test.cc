#include "core/joint/cost/measured_pricer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/joint/cost/pair_links.h"
#include "core/joint/cost/training_efficiency.h"
#include "core/joint/cost/transformer_pricer.h"
#include "tests/core/joint/cost/pricing.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

constexpr auto kNoneAt = static_cast<std::size_t>(LayerRecomputation::kNone);
constexpr auto kSelectiveAt = static_cast<std::size_t>(LayerRecomputation::kSelective);
constexpr auto kFullAt = static_cast<std::size_t>(LayerRecomputation::kFull);

MeasuredLayer RowOf(const Degrees& degrees, int64_t samples, double forward_ms, double backward_ms) {
  return {.layer = "layer",
          .device_class = "",
          .tensor_degree = degrees.tensor,
          .context_degree = degrees.context,
          .expert_degree = degrees.expert,
          .samples = samples,
          .forward_ms = forward_ms,
          .backward_ms = backward_ms,
          .activation_bytes = std::nullopt};
}

// A profile has a row for each layer, and many say the same: those layers are of one kind.
TEST(MeasuredPricerTest, LayersOfWhichRowsSayTheSameAreOfOneKind) {
  const TransformerShape shape = LlamaShape();
  const Cluster cluster = ClusterOf(PerfectEfficiency());
  std::vector<MeasuredLayer> rows;
  for (const auto& [name, forward_ms] : {std::pair("layer.0", 7), {"layer.1", 7}, {"layer.2", 8}, {"head", 7}}) {
    rows.push_back(RowOf({}, 1, forward_ms, 11));
    rows.back().layer = name;
  }
  // Measured for two samples as well.
  rows.push_back(RowOf({}, 2, 15, 22));
  rows.back().layer = "layer.1";
  const TransformerPricer computed(shape, cluster, kInside, kBetween);
  const PriceQuery query{.device_class = DeviceClassId(0), .degrees = {}};
  const auto forward = [&](const MeasuredPricer& pricer, std::size_t layer) {
    return pricer.Price(query)[static_cast<std::size_t>(pricer.kinds()[layer])].forward_ps;
  };
  const MeasuredPricer apart(computed, rows, cluster, std::nullopt);
  EXPECT_NE(apart.kinds()[1], apart.kinds()[2]);
  rows.pop_back();
  const MeasuredPricer pricer(computed, rows, cluster, std::nullopt);
  EXPECT_EQ(pricer.kinds()[1], pricer.kinds()[2]);
  EXPECT_NE(pricer.kinds()[1], pricer.kinds()[3]);
  EXPECT_NE(pricer.kinds()[1], pricer.kinds()[4]);
  EXPECT_NE(pricer.kinds()[1], pricer.kinds().back());
  EXPECT_EQ(forward(pricer, 1), 7'000'000'000);
  EXPECT_EQ(forward(pricer, 2), 7'000'000'000);
  EXPECT_EQ(forward(pricer, 3), 8'000'000'000);
  EXPECT_EQ(forward(pricer, pricer.kinds().size() - 1), 7'000'000'000);
}

// What data ranks exchange comes on top of what a profile of single ranks says: gathers of 2 bytes and scatters of 4
// for each parameter, halves of which pass the link between two nodes, whose ports their 8 devices share.
TEST(MeasuredPricerTest, ExchangesOfDataRanksComeOnTop) {
  const TransformerShape shape = LlamaShape();
  const Cluster cluster = ClusterOf(PerfectEfficiency());
  const Degrees degrees{.tensor = 1, .data = 16};
  const std::vector<MeasuredLayer> rows = {RowOf(degrees, 1, 7, 11)};
  const TransformerPricer computed(shape, cluster, kInside, kBetween);
  const MeasuredPricer pricer(computed, rows, cluster, std::nullopt);
  const auto layer = static_cast<std::size_t>(pricer.kinds()[1]);
  const auto layer_kind = static_cast<std::size_t>(computed.kinds()[1]);
  for (const Sharding sharding : {Sharding::kNone, Sharding::kOptimizer, Sharding::kGradients, Sharding::kParameters}) {
    const PriceQuery query{.device_class = DeviceClassId(0),
                           .degrees = degrees,
                           .sharding = sharding,
                           .crosses_nodes = true,
                           .devices_per_node = 8};
    const LayerPrice price = pricer.Price(query)[layer];
    const LayerPrice alone = computed.Price(query)[layer_kind];
    const double parameters =
        static_cast<double>(
            computed.Price({.device_class = DeviceClassId(0), .degrees = {}})[layer_kind].parameter_bytes) /
        2;
    // Of a ring of 16 ranks; 8 ports of 1e10 bytes/s are slower than a link of 1e11.
    const double byte_ps = 15.0 / 16 / 8e10 * 1e12;
    const double gather = sharding == Sharding::kParameters ? 2 * parameters * byte_ps : 0;
    const double scatter = sharding >= Sharding::kGradients ? 4 * parameters * byte_ps : 0;
    EXPECT_NEAR(static_cast<double>(price.forward_ps), 7e9 + gather, 2) << static_cast<int>(sharding);
    EXPECT_NEAR(static_cast<double>(price.backward_ps), 11e9 + gather + scatter, 2) << static_cast<int>(sharding);
    EXPECT_EQ(price.step_end_ps, alone.step_end_ps);
    EXPECT_EQ(price.modes[kFullAt]->extra_ps, 7'000'000'000);
    EXPECT_TRUE(price.is_measured);
  }
}

// The same times measured on a device that computes four times as fast hide as much of what data ranks exchange.
TEST(MeasuredPricerTest, PassesThatWereMeasuredHideByWhatTheyTake) {
  const TransformerShape shape = LlamaShape();
  TrainingEfficiency efficiency = PerfectEfficiency();
  efficiency.hidden_among_data = 0.8;
  const Degrees degrees{.tensor = 1, .data = 16};
  const PriceQuery query{.device_class = DeviceClassId(0),
                         .degrees = degrees,
                         .sharding = Sharding::kParameters,
                         .crosses_nodes = true,
                         .devices_per_node = 8};
  // The first hides four fifths of its exchanges, the others no more than they take.
  for (const double forward_ms : {1e3, 1e-3, 0.0}) {
    const std::vector<MeasuredLayer> rows = {RowOf(degrees, 1, forward_ms, 2 * forward_ms)};
    std::vector<LayerPrice> prices;
    for (const double faster : {1, 4}) {
      Cluster cluster = ClusterOf(efficiency);
      cluster.device_classes.front().peak_flops *= faster;
      const TransformerPricer computed(shape, cluster, kInside, kBetween);
      const MeasuredPricer pricer(computed, rows, cluster, std::nullopt);
      const auto layer = static_cast<std::size_t>(pricer.kinds()[1]);
      prices.push_back(pricer.Price(query)[layer]);
      const LayerParts parts = pricer.Parts(query)[layer];
      const ExchangeTime& gather = parts.forward[static_cast<std::size_t>(ExchangeGroup::kData)];
      const double whole = static_cast<double>(gather.shown_ps + gather.hidden_ps);
      EXPECT_NEAR(static_cast<double>(gather.hidden_ps), std::min(0.8 * whole, forward_ms * 1e9), 2);
    }
    EXPECT_NEAR(static_cast<double>(prices[0].forward_ps), static_cast<double>(prices[1].forward_ps), 2);
    EXPECT_NEAR(static_cast<double>(prices[0].backward_ps), static_cast<double>(prices[1].backward_ps), 2);
  }
}

TrainingLink RandomLink(RandomStream& random, const TrainingLink& at_most) {
  return {at_most.bytes_per_second / static_cast<double>(random.Between(1, 50)),
          at_most.latency_ps + random.Between(0, 5'000'000)};
}

// No time falls where links are slower, which bounds on the fastest links rely on.
TEST(MeasuredPricerTest, SlowerLinksAreNeverFaster) {
  for (uint64_t seed = 1; seed <= NumCases(300); ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, 5);
    const TransformerShape shape = std::vector{LlamaShape(), ExpertShape(), GptShape(4, 1'024, 16)}[random.Below(3)];
    TrainingEfficiency efficiency = PerfectEfficiency();
    efficiency.hidden_in_layers = 0.3;
    efficiency.hidden_among_data = 0.7;
    const Cluster cluster = ClusterOf(efficiency, 1e12);
    Degrees degrees{.tensor = 1 << random.Below(3), .data = 1 << random.Below(3)};
    if (shape.has_experts()) degrees.expert = degrees.data;
    const TrainingLink fastest{2e11, 100'000};
    const std::vector<MeasuredLayer> rows = {
        RowOf(degrees, 1, 0.001 * static_cast<double>(random.Between(1, 5'000)), 0.7)};
    const TransformerPricer computed(shape, cluster, fastest, kNoLink);
    const MeasuredPricer pricer(computed, rows, cluster, fastest);
    PriceQuery query{.device_class = DeviceClassId(0),
                     .degrees = degrees,
                     .sharding = static_cast<Sharding>(random.Below(kNumShardings)),
                     .crosses_nodes = degrees.data > 1,
                     .devices_per_node = degrees.tensor,
                     .between = fastest,
                     .inside = fastest};
    const std::vector<LayerPrice> fast = pricer.Price(query);
    query.inside = RandomLink(random, fastest);
    query.between = RandomLink(random, fastest);
    const std::vector<LayerPrice> slow = pricer.Price(query);
    query.inside = RandomLink(random, *query.inside);
    query.between = RandomLink(random, *query.between);
    const std::vector<LayerPrice> slowest = pricer.Price(query);
    for (const auto& [less, more] : {std::pair(fast, slow), std::pair(slow, slowest)}) {
      for (std::size_t kind = 0; kind < less.size(); ++kind) {
        EXPECT_LE(less[kind].forward_ps, more[kind].forward_ps);
        EXPECT_LE(less[kind].backward_ps, more[kind].backward_ps);
        EXPECT_LE(less[kind].backward_ps - less[kind].weights_ps, more[kind].backward_ps - more[kind].weights_ps);
        EXPECT_LE(less[kind].step_end_ps, more[kind].step_end_ps);
        for (const std::size_t mode : {kNoneAt, kSelectiveAt, kFullAt}) {
          if (!less[kind].modes[mode].has_value()) continue;
          EXPECT_LE(less[kind].modes[mode]->extra_ps, more[kind].modes[mode]->extra_ps);
        }
      }
    }
  }
}

}  // namespace
}  // namespace planwright
