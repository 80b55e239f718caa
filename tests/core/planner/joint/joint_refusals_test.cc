// What joint requests say where they contradict themselves, ask for more than there is, or name links that are too
// slow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "tests/core/planner/joint/joint_test_request.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Four operators whose replicas take turns on three devices.
JointTestRequest TurnsOfFour() {
  JointTestRequest request;
  for (std::size_t i = 0; i < 4; ++i) {
    Operator& op = request.graph.operators.emplace_back();
    op.name = absl::StrCat("op", i);
    op.costs = {{.device_class = "gpu", .forward = Picoseconds(1'000'000), .backward = Picoseconds(2'000'000)}};
    if (i == 0) continue;
    request.graph.tensors.push_back({.name = absl::StrCat("t", i),
                                     .producer = OperatorId(i - 1),
                                     .consumers = {OperatorId(i)},
                                     .size_bytes = 100,
                                     .transfer = std::nullopt});
  }
  request.cluster.device_classes.emplace_back().name = "gpu";
  for (int i = 0; i < 3; ++i) {
    Device& device = request.cluster.devices.emplace_back();
    device.name = absl::StrCat("g", i);
    device.device_class = DeviceClassId(0);
  }
  request.cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = 1e9, .latency = Picoseconds(0)};
  request.graph.samples_per_micro_batch = 2;
  request.problem.replication = Replication::kPerStage;
  request.problem.joint.emplace().global_batch = 12;
  return request;
}

TEST(JointRefusalsTest, MicroBatchesThatTakeTurnsSayTheSameAsTheBatch) {
  JointTestRequest request = TurnsOfFour();
  for (const int64_t micro_batches : {1, 2, 3, 4, 12}) {
    request.problem.joint->micro_batches = micro_batches;
    EXPECT_THAT(PathsOf(Make(request).status()), Contains("problem.micro_batches")) << micro_batches;
  }
  request.problem.joint->micro_batches = 6;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->joint->micro_batches, 6);
}

// Of four operators on three devices two are together: parameters and gradients of 600 kB, an optimizer of as much; the
// devices have 800 kB.
TEST(JointRefusalsTest, MemoryThatTheOptimizerTakesIsSaid) {
  JointTestRequest request = TurnsOfFour();
  for (Operator& op : request.graph.operators) op.parameter_bytes = 150'000;
  request.cluster.device_classes.front().memory_bytes = 800'000;
  const absl::Status full = Make(request).status();
  ASSERT_TRUE(InfeasibilityOf(full).has_value()) << full;
  EXPECT_THAT(std::string(full.message()),
              HasSubstr("; the optimizer counts 2 times the parameters (problem.memory_model), and without it they fit "
                        "(--memory_preset=sgd)"));
  request.problem.memory_model.preset = "sgd";
  EXPECT_TRUE(Make(request).ok());
  request.cluster.device_classes.front().memory_bytes = 200'000;
  EXPECT_THAT(std::string(Make(request).status().message()), Not(HasSubstr("optimizer")));
  request.problem.memory_model.preset = "";
  EXPECT_THAT(std::string(Make(request).status().message()), Not(HasSubstr("without it")));
}

// Thirty operators that take and hold unlike amounts, of which interleaved pipelines are sought and not always found.
TEST(JointRefusalsTest, WhatIsNotProvenIsNotInfeasible) {
  JointTestRequest request = TurnsOfFour();
  request.graph.operators.clear();
  request.graph.tensors.clear();
  for (int i = 0; i < 30; ++i) {
    Operator& op = request.graph.operators.emplace_back();
    op.name = absl::StrCat("op", i);
    op.parameter_bytes = int64_t{i * 7 % 9 + 1} * 1'000'000;
    op.activation_bytes = int64_t{i * 5 % 9 + 1} * 1'000'000;
    op.costs = {{.device_class = "gpu",
                 .forward = Picoseconds(1'000'000 * (i % 4 + 1)),
                 .backward = Picoseconds(1'000'000 * (i % 5 + 2))}};
    if (i == 0) continue;
    request.graph.tensors.push_back({.name = absl::StrCat("t", i),
                                     .producer = OperatorId(static_cast<std::size_t>(i - 1)),
                                     .consumers = {OperatorId(static_cast<std::size_t>(i))},
                                     .size_bytes = 100,
                                     .transfer = std::nullopt});
  }
  request.cluster.devices.pop_back();
  request.graph.samples_per_micro_batch = 1;
  request.problem.replication = Replication::kNone;
  request.problem.memory_model.preset = "sgd";
  JointSettings& settings = *request.problem.joint;
  settings.global_batch = 4;
  settings.micro_batch_samples = {1};
  settings.recomputation = {LayerRecomputation::kNone};
  settings.orders = {PipelineOrder::kInterleaved};
  request.cluster.device_classes.front().memory_bytes = 170'000'000;
  EXPECT_TRUE(InfeasibilityOf(Make(request).status()).has_value());
  request.cluster.device_classes.front().memory_bytes = 250'000'000;
  const absl::Status open = Make(request).status();
  EXPECT_TRUE(IsNoPlanFound(open)) << open;
  EXPECT_THAT(std::string(open.message()), HasSubstr("is not proven where layers are unlike"));
  request.cluster.device_classes.front().memory_bytes = 500'000'000;
  EXPECT_TRUE(Make(request).ok());
}

// One node of two devices of class "a" with 100 MiB, one of class "b" with 1 GiB; `is_a_first` in the row.
JointTestRequest TwoClassesOf(const std::string& model, bool is_a_first) {
  JointTestRequest request = RequestOf(model, "nodes:2?devices=2", 8);
  DeviceClass& first = request.cluster.device_classes.front();
  DeviceClass second = first;
  first.name = is_a_first ? "a" : "b";
  second.name = is_a_first ? "b" : "a";
  first.memory_bytes = is_a_first ? int64_t{100} << 20 : int64_t{1} << 30;
  second.memory_bytes = is_a_first ? int64_t{1} << 30 : int64_t{100} << 20;
  request.cluster.device_classes = {first, second};
  for (std::size_t d = 0; d < 4; ++d) request.cluster.devices[d].device_class = DeviceClassId(d / 2);
  return request;
}

constexpr char kDeepModel[] = "transformer?layers=12&hidden=1536&heads=4&vocab=8000&sequence=1024";

// More nodes of the first class alone were looked at, which never do here.
TEST(JointRefusalsTest, MoreNodesOfAnyClassAreLookedAt) {
  for (const bool is_a_first : {true, false}) {
    const absl::Status status = Make(TwoClassesOf(kDeepModel, is_a_first)).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("; it would fit with 8 devices (4 nodes) of b alone"));
    ASSERT_TRUE(InfeasibilityOf(status).has_value()) << status;
    EXPECT_EQ(InfeasibilityOf(status)->minimum_devices, 8);
  }
}

TEST(JointRefusalsTest, SaysOfEachClassThatAllItsMemoryIsReserved) {
  JointTestRequest request = TwoClassesOf(kDeepModel, true);
  request.problem.memory_model.reserved_bytes = int64_t{2} << 30;
  const std::string message(Make(request).status().message());
  EXPECT_THAT(message, HasSubstr("2 devices of a of which all memory is reserved and 2 devices of b of which all "));
  EXPECT_THAT(message, HasSubstr("; neither does it on more nodes of any of them alone"));
}

// Hosts of one device, joined alike, are no nodes of as many devices as there are of them.
TEST(JointRefusalsTest, HostsOfOneDeviceAreOneNodeEach) {
  const std::string model = "transformer?layers=5&hidden=2048&heads=8&vocab=1000&sequence=4096&attention=unfused";
  const auto on_hosts = [&](int32_t hosts) {
    JointTestRequest request = RequestOf(model, absl::StrCat("nodes:1?devices=", hosts), 24);
    request.cluster.device_classes.front().memory_bytes = int64_t{490} << 20;
    for (std::size_t d = 0; d < request.cluster.devices.size(); ++d) {
      request.cluster.devices[d].host = absl::StrCat("n", d);
    }
    request.problem.joint->tensor_degrees = {1, 2};
    return request;
  };
  const absl::Status status = Make(on_hosts(3)).status();
  ASSERT_TRUE(InfeasibilityOf(status).has_value()) << status;
  const int32_t enough = InfeasibilityOf(status)->minimum_devices;
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("; it would fit with ", enough, " devices")));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("node")));
  EXPECT_TRUE(Make(on_hosts(enough)).ok());
  EXPECT_FALSE(Make(on_hosts(enough - 1)).ok());
}

// Ten nodes of six hold blocks of four: 60 devices were said to be the fewest.
TEST(JointRefusalsTest, BlocksThatDoNotFillNodesTakeNoWholeNodes) {
  const std::string model = "transformer?layers=9&hidden=512&heads=4&vocab=1000&sequence=4096&kind=llama";
  JointTestRequest request = RequestOf(model, "nodes:1?devices=6", 1);
  request.cluster.device_classes.front().memory_bytes = int64_t{48} << 20;
  const absl::Status status = Make(request).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("it would fit with 40 devices (10 nodes)"));
  JointTestRequest more = RequestOf(model, "nodes:10?devices=6", 1);
  more.cluster.device_classes.front().memory_bytes = int64_t{48} << 20;
  more.problem.devices_to_use.max_devices = 40;
  EXPECT_TRUE(Make(more).ok());
  more.problem.devices_to_use.max_devices = 39;
  EXPECT_TRUE(InfeasibilityOf(Make(more).status()).has_value());
}

TEST(JointRefusalsTest, StagesInTurnsAreAtMostOperatorsAndDevices) {
  JointTestRequest request = TurnsOfFour();
  request.problem.joint->num_stages = 9;
  const absl::Status operators = Make(request).status();
  EXPECT_TRUE(InfeasibilityOf(operators).has_value());
  EXPECT_THAT(std::string(operators.message()), HasSubstr("9 stages need as many operators, and there are 4"));
  request.problem.joint->num_stages = 4;
  const absl::Status devices = Make(request).status();
  EXPECT_TRUE(InfeasibilityOf(devices).has_value());
  EXPECT_THAT(std::string(devices.message()), HasSubstr("are 4 devices, and there are 3"));
  request.problem.joint->num_stages = 3;
  EXPECT_TRUE(Make(request).ok());
}

// Devices that share a port and pairs some hops apart have a part of it each.
TEST(JointRefusalsTest, LinksHaveAByteASecond) {
  using Level = HierarchyInterconnect::Level;
  const auto grid = [](double bandwidth, GridInterconnect::NonAdjacent others) {
    return GridInterconnect{.dimensions = {8},
                            .link_bandwidth_bytes_per_second = bandwidth,
                            .latency = Picoseconds(0),
                            .non_adjacent = others};
  };
  const auto matrix = [](double bandwidth) {
    MatrixInterconnect made{.bandwidth_bytes_per_second = std::vector<double>(64, bandwidth),
                            .latency = Picoseconds(0)};
    for (std::size_t d = 0; d < 8; ++d) made.bandwidth_bytes_per_second[9 * d] = 0;
    return made;
  };
  const auto nodes = [](double port) {
    NodesInterconnect made;
    made.devices_per_node = 4;
    made.bandwidth_bytes_per_second = 1e9;
    made.levels = {Level{.fan_out = 2, .bandwidth_bytes_per_second = 1e9, .port_bandwidth_bytes_per_second = port}};
    return made;
  };
  const std::vector<Interconnect> too_slow = {
      UniformInterconnect{.bandwidth_bytes_per_second = 0.99},
      matrix(0.5),
      grid(6.9, GridInterconnect::NonAdjacent::kDividedByHops),
      grid(0.9, GridInterconnect::NonAdjacent::kLinkBandwidth),
      nodes(3.9),
      HierarchyInterconnect{.levels = {Level{.fan_out = 4, .bandwidth_bytes_per_second = 1e9},
                                       Level{.fan_out = 2, .bandwidth_bytes_per_second = 0.1}}}};
  const std::vector<Interconnect> fast_enough = {UniformInterconnect{.bandwidth_bytes_per_second = 1}, matrix(1),
                                                 grid(7, GridInterconnect::NonAdjacent::kDividedByHops),
                                                 grid(1, GridInterconnect::NonAdjacent::kLinkBandwidth), nodes(4)};
  JointTestRequest request = RequestOf("resnet50", "dgx-h100:1", 8);
  for (const Interconnect& interconnect : too_slow) {
    request.cluster.interconnect = interconnect;
    EXPECT_THAT(PathsOf(Make(request).status()), Contains("cluster.interconnect")) << InterconnectName(interconnect);
  }
  for (const Interconnect& interconnect : fast_enough) {
    request.cluster.interconnect = interconnect;
    EXPECT_THAT(PathsOf(Make(request).status()), Not(Contains("cluster.interconnect")))
        << InterconnectName(interconnect);
  }
}

// One stage of which no device is ever idle, whose share is 1 but for roundings.
TEST(JointRefusalsTest, NoShareOfTheTimeIsBelowZero) {
  for (const int64_t batch : {1, 3, 7, 13, 49, 96, 113}) {
    JointTestRequest request = RequestOf("resnet50", "dgx-h100:1", batch);
    request.problem.joint->num_stages = 1;
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_GE(plan->estimate.bubble_fraction, 0);
    const absl::StatusOr<Verdict> verdict = Judge(request, PlacementOf(*plan));
    ASSERT_TRUE(verdict.ok() && verdict->costed.has_value()) << verdict.status();
    EXPECT_GE(verdict->costed->estimate.bubble_fraction, 0);
  }
}

}  // namespace
}  // namespace planwright
