#include "core/joint/operators/operator_pricer.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/cost/terms/cost_table.h"
#include "core/joint/operators/operator_layers.h"

namespace planwright {
namespace {

constexpr int64_t kMs = 1'000'000'000;

// The example of docs/training-costs.md, section 9: what feeds the convolution, and the convolution.
struct Example {
  Example() {
    graph.samples_per_micro_batch = 8;
    graph.operators.resize(2);
    graph.operators[0].name = "input";
    graph.operators[0].type = kInputOperatorType;
    Operator& convolution = graph.operators[1];
    convolution.name = "convolution";
    convolution.costs = {{.device_class = "gpu", .forward = Picoseconds(2 * kMs), .backward = Picoseconds(4 * kMs)}};
    convolution.parameter_bytes = 40'000'000;
    convolution.activation_bytes = 100'000'000;
    graph.tensors = {{.name = "x",
                      .producer = OperatorId(0),
                      .consumers = {OperatorId(1)},
                      .size_bytes = 60'000'000,
                      .transfer = std::nullopt}};
    DeviceClass& gpu = cluster.device_classes.emplace_back();
    gpu.name = "gpu";
    gpu.memory_bandwidth_bytes_per_second = 1e12;
    gpu.training.emplace();
    gpu.training->memory = gpu.training->network = 1;
    gpu.training->hidden_among_data = gpu.training->hidden_at_step_end = 0;
    cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = 1e10};
    layers = {.labels = {"input", "convolution"}, .operators = {{OperatorId(0)}, {OperatorId(1)}}};
  }

  std::vector<LayerPrice> Price(Sharding sharding, int32_t tensor = 1) const {
    const CostTable costs(graph, cluster, Workload::kTraining);
    const TrainingLink link{1e10, 0};
    const OperatorPricer pricer(graph, cluster, layers, costs, ResolvedMemory{}, link, link);
    return pricer.Price({.device_class = DeviceClassId(0),
                         .degrees = {.tensor = tensor, .context = 1, .expert = 1, .data = 2},
                         .samples = 4,
                         .sharding = sharding,
                         .crosses_nodes = false,
                         .devices_per_node = 8,
                         .between = std::nullopt});
  }

  OperatorGraph graph;
  Cluster cluster;
  OperatorLayers layers;
};

TEST(OperatorPricerTest, PricesTheWorkedExample) {
  const std::vector<LayerPrice> prices = Example().Price(Sharding::kNone);
  ASSERT_EQ(prices.size(), 2U);
  EXPECT_EQ(prices[0].output_bytes, 30'000'000);
  const LayerPrice& price = prices[1];
  EXPECT_EQ(price.forward_ps, kMs);
  EXPECT_EQ(price.backward_ps, 2 * kMs);
  EXPECT_EQ(price.modes[0]->kept_bytes, 50'000'000);
  ASSERT_TRUE(price.modes[2].has_value());
  EXPECT_EQ(price.modes[2]->extra_ps, kMs);
  EXPECT_EQ(price.modes[2]->kept_bytes, 30'000'000);
  EXPECT_EQ(price.recomputed_bytes, 50'000'000);
  EXPECT_EQ(price.parameter_bytes, 40'000'000);
  EXPECT_EQ(price.gradient_bytes, 40'000'000);
  // Two rings, and 120 MB of traffic at 1 TB/s.
  EXPECT_NEAR(static_cast<double>(price.step_end_ps), 4.12 * static_cast<double>(kMs), 2);
  EXPECT_EQ(price.output_bytes, 0);
}

TEST(OperatorPricerTest, ShardedParametersAreGatheredInEveryPass) {
  const LayerPrice price = Example().Price(Sharding::kParameters)[1];
  EXPECT_EQ(price.parameter_bytes, 20'000'000);
  EXPECT_EQ(price.gathered_bytes, 40'000'000);
  EXPECT_EQ(price.forward_ps, 3 * kMs);
  EXPECT_EQ(price.backward_ps, 6 * kMs);
  EXPECT_NEAR(static_cast<double>(price.step_end_ps), 0.06 * static_cast<double>(kMs), 2);
}

TEST(OperatorPricerTest, VariantsWinAndLieOnTheLineBetweenTheirSizes) {
  Example example;
  OperatorVariant variant;
  variant.tensor_degree = 2;
  variant.samples = 2;
  variant.forward = Picoseconds(100);
  variant.backward = Picoseconds(200);
  variant.parameter_bytes = 7;
  variant.activation_bytes = 10;
  OperatorVariant larger = variant;
  larger.samples = 6;
  larger.forward = Picoseconds(200);
  larger.activation_bytes = 40;
  example.graph.operators[1].variants = {larger, variant};
  EXPECT_TRUE(example.Price(Sharding::kNone).empty());
  const std::vector<LayerPrice> prices = example.Price(Sharding::kNone, /*tensor=*/2);
  ASSERT_EQ(prices.size(), 2U);
  EXPECT_EQ(prices[1].forward_ps, 150);
  EXPECT_EQ(prices[1].backward_ps, 200);
  EXPECT_EQ(prices[1].modes[0]->kept_bytes, 25);
  EXPECT_FALSE(prices[1].modes[2].has_value());
  EXPECT_EQ(prices[1].parameter_bytes, 7);
  EXPECT_TRUE(prices[1].is_measured);
}

// Of two layers of one operator each, alike but for what they say of gradients of weights.
std::vector<int32_t> KindsOf(const std::vector<OperatorCost>& first, const std::vector<OperatorCost>& second) {
  Example example;
  example.graph.tensors.clear();
  example.graph.operators[0] = example.graph.operators[1];
  example.graph.operators[0].costs = first;
  example.graph.operators[1].costs = second;
  const CostTable costs(example.graph, example.cluster, Workload::kTraining);
  return OperatorPricer(example.graph, example.cluster, example.layers, costs, ResolvedMemory{}, {1e10, 0}, {1e10, 0})
      .kinds();
}

OperatorCost CostOn(const char* device_class, int64_t weights_ms) {
  return {.device_class = device_class,
          .forward = Picoseconds(2 * kMs),
          .backward = Picoseconds(4 * kMs),
          .backward_weight = Picoseconds(weights_ms * kMs)};
}

TEST(OperatorPricerTest, KindsAreThoseOfTheClassesThatThereAre) {
  // In lists of numbers without their classes these would be alike.
  EXPECT_EQ(KindsOf({CostOn("absent", 1), CostOn("gpu", 0)}, {CostOn("gpu", 1), CostOn("absent", 0)}),
            (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(KindsOf({CostOn("absent", 3), CostOn("gpu", 1)}, {CostOn("gpu", 1)}), (std::vector<int32_t>{0, 0}));
}

}  // namespace
}  // namespace planwright
