#include "core/cost/terms/transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/small_models.h"

namespace planwright {
namespace {

constexpr Picoseconds kLatency{5'000'000};

// docs/cost-model-examples.md, example 11: 16 MB over 16 GB/s is 1 ms, and 0.005 ms of latency.
TEST(TransferTest, TakesLatencyAndBytesOverBandwidth) {
  const Tensor tensor = SizedTensor("x", 0, {1}, 16'000'000);
  const HostStagedInterconnect host_staged{.bandwidth_bytes_per_second = 16e9, .latency = kLatency};
  const UniformInterconnect uniform{.bandwidth_bytes_per_second = 16e9, .latency = kLatency};
  EXPECT_EQ(TensorTransferTime(tensor, host_staged), Milliseconds(1) + kLatency);
  EXPECT_EQ(TensorTransferTime(tensor, uniform), Milliseconds(1) + kLatency);
}

TEST(TransferTest, GivenTimeStandsWithoutLatency) {
  Tensor tensor = TimedTensor("x", 0, {1}, 7);
  tensor.size_bytes = 16'000'000;
  const HostStagedInterconnect host_staged{.bandwidth_bytes_per_second = 16e9, .latency = kLatency};
  EXPECT_EQ(TensorTransferTime(tensor, host_staged), Milliseconds(7));
  EXPECT_EQ(TensorTransferTime(tensor, UniformInterconnect()), Milliseconds(7));
}

TEST(TransferTest, EmptyTensorsPayTheLatency) {
  const UniformInterconnect uniform{.bandwidth_bytes_per_second = 16e9, .latency = kLatency};
  EXPECT_EQ(TensorTransferTime(SizedTensor("x", 0, {1}, 0), uniform), kLatency);
}

TEST(TransferTest, UnconsumedTensorsNeedNoBandwidth) {
  EXPECT_EQ(TensorTransferTime(SizedTensor("x", 0, {}, 5), HostStagedInterconnect()), Picoseconds(0));
}

TEST(TransferTest, RulesOfInterconnects) {
  EXPECT_TRUE(RulesOf(HostStagedInterconnect()).pay_once);
  EXPECT_FALSE(RulesOf(HostStagedInterconnect()).cpus_pay);
  EXPECT_FALSE(RulesOf(UniformInterconnect()).pay_once);
  EXPECT_TRUE(RulesOf(UniformInterconnect()).cpus_pay);
}

// Three machines of three in a tree of fan-outs 1 and 3: two speeds inside, one between.
TEST(NetworkTest, NodesHaveThePairsOfAMachineAndTheLevelsBetween) {
  const NodesInterconnect nodes{
      .devices_per_node = 3,
      .links = {{.place_a = 0, .place_b = 2, .bandwidth_bytes_per_second = 9}},
      .bandwidth_bytes_per_second = 4,
      .levels = {{.fan_out = 1, .bandwidth_bytes_per_second = 3}, {.fan_out = 3, .bandwidth_bytes_per_second = 2}}};
  const Network network(nodes);
  const auto bandwidth = [&](std::size_t a, std::size_t b) {
    return network.speed(network.LinkClassOf(DeviceId(a), DeviceId(b))).bandwidth_bytes_per_second;
  };
  EXPECT_EQ(network.num_link_classes(), 3U);
  EXPECT_EQ(bandwidth(3, 5), 9);
  EXPECT_EQ(bandwidth(5, 4), 4);
  EXPECT_EQ(bandwidth(0, 8), 2);
  EXPECT_EQ(network.FastestLink().bandwidth_bytes_per_second, 9);
  EXPECT_EQ(network.SlowestLink().bandwidth_bytes_per_second, 2);
}

TEST(TransferTest, GradientsFollowTensorsInTrainingByBackwardTimes) {
  OperatorGraph graph;
  graph.operators = {MeasuredOperator("a", 1, 2)};
  EXPECT_TRUE(GradientsFollowTensors(graph, Workload::kTraining));
  EXPECT_FALSE(GradientsFollowTensors(graph, Workload::kInference));
  graph.operators[0].pass = Pass::kBackward;
  EXPECT_FALSE(GradientsFollowTensors(graph, Workload::kTraining));
}

}  // namespace
}  // namespace planwright
