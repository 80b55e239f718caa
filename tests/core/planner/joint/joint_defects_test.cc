// Joint requests that were once answered wrongly, made small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/joint/cost/transformer_pricer.h"
#include "core/verify/joint/joint_verifier.h"
#include "tests/core/planner/joint/joint_test_request.h"

namespace planwright {
namespace {

constexpr int64_t kMs = 1'000'000'000;

OperatorCost CostOn(const std::string& device_class, int64_t weights_ms = 0) {
  return {.device_class = device_class,
          .forward = Picoseconds(kMs),
          .backward = Picoseconds(2 * kMs),
          .backward_weight = Picoseconds(weights_ms * kMs)};
}

// A chain of operators of 3 ms and 1 MB of parameters, on devices of class "a" on a uniform interconnect.
JointTestRequest ChainRequest(std::size_t operators, std::size_t devices, int64_t global_batch) {
  JointTestRequest request;
  for (std::size_t i = 0; i < operators; ++i) {
    Operator& op = request.graph.operators.emplace_back();
    op.name = absl::StrCat("o", i);
    op.costs = {CostOn("a")};
    op.parameter_bytes = op.activation_bytes = 1'000'000;
    if (i == 0) continue;
    request.graph.tensors.push_back({.name = absl::StrCat("t", i),
                                     .producer = OperatorId(i - 1),
                                     .consumers = {OperatorId(i)},
                                     .size_bytes = 1'000,
                                     .transfer = std::nullopt});
  }
  DeviceClass& device_class = request.cluster.device_classes.emplace_back();
  device_class.name = "a";
  device_class.memory_bytes = int64_t{16} << 30;
  for (std::size_t i = 0; i < devices; ++i) {
    request.cluster.devices.emplace_back().name = absl::StrCat("d", i);
  }
  request.cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = 1e9, .latency = Picoseconds(0)};
  request.problem.joint.emplace().global_batch = global_batch;
  return request;
}

TEST(JointDefectsTest, TransfersOfWholePicosecondsAreVerified) {
  JointTestRequest request = ChainRequest(2, 2, 8);
  request.problem.joint->micro_batch_samples = {1};
  request.problem.joint->num_stages = 2;
  for (const int64_t bytes : {65, 1'000, 3'000, 7'000}) {
    request.graph.tensors.front().size_bytes = bytes;
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_EQ(plan->stages.size(), 2U);
    EXPECT_EQ(plan->stages.front().communication_out.count(), bytes * 2 * 1'000);
  }
}

TEST(JointDefectsTest, CostsOnAbsentClassesAndTheirOrderDecideNothing) {
  JointTestRequest request = ChainRequest(4, 4, 8);
  request.problem.joint->orders = {PipelineOrder::kZeroBubble};
  request.problem.joint->data_degrees = {1};
  request.graph.operators[2].costs = {CostOn("a", 1)};
  const absl::StatusOr<Plan> expected = Make(request);
  ASSERT_TRUE(expected.ok()) << expected.status();
  request.graph.operators[1].costs = {CostOn("absent", 1), CostOn("a")};
  request.graph.operators[2].costs = {CostOn("a", 1), CostOn("absent")};
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective, expected->objective);
  EXPECT_EQ(plan->joint->simulated_step, expected->joint->simulated_step);
}

// Says that all layers but the first cost the same.
class MistakenPricer : public LayerPricer {
 public:
  explicit MistakenPricer(const LayerPricer& pricer) : pricer_(pricer), kinds_(pricer.kinds()) {
    kinds_.back() = kinds_[1];
  }
  const std::vector<int32_t>& kinds() const override { return kinds_; }
  const std::vector<std::string>& labels() const override { return pricer_.labels(); }
  std::vector<LayerPrice> Price(const PriceQuery& query) const override { return pricer_.Price(query); }
  double flops_per_sample() const override { return pricer_.flops_per_sample(); }
  int64_t tokens_per_sample() const override { return pricer_.tokens_per_sample(); }

 private:
  const LayerPricer& pricer_;
  std::vector<int32_t> kinds_;
};

TEST(JointDefectsTest, TheVerifierLooksAtEveryLayer) {
  const JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 8);
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<DeviceId> devices;
  for (const DeviceUsage& usage : plan->devices) devices.push_back(usage.device);
  const TrainingCluster training = *MakeTrainingCluster(request.cluster, devices, 0);
  const TransformerPricer pricer(*request.graph.transformer, request.cluster, training.inside, training.between);
  Violations violations;
  VerifyJointPlan(request.graph, request.cluster, MistakenPricer(pricer), *plan, violations);
  ASSERT_FALSE(violations.empty());
  EXPECT_THAT(violations.listed().front().rule, testing::HasSubstr(pricer.labels().back()));
}

// Two nodes with two devices each, of which three operators need three.
JointTestRequest NodesRequest() {
  JointTestRequest request = ChainRequest(3, 4, 8);
  request.cluster.interconnect =
      HierarchyInterconnect{.levels = {{.fan_out = 2, .bandwidth_bytes_per_second = 1e9, .latency = Picoseconds(0)},
                                       {.fan_out = 2, .bandwidth_bytes_per_second = 1e8, .latency = Picoseconds(0)}}};
  request.cluster.device_classes.front().memory_bytes = 16'000'000;
  for (Operator& op : request.graph.operators) op.parameter_bytes = 5'000'000;
  request.problem.memory_model.weight_versions = 1;
  request.problem.memory_model.gradient_copies = 1;
  request.problem.memory_model.optimizer_bytes_per_parameter_byte = 0;
  request.problem.joint->shardings = {Sharding::kNone};
  request.problem.joint->tensor_degrees = {1};
  return request;
}

TEST(JointDefectsTest, DevicesBeyondWholeNodesCount) {
  JointTestRequest request = NodesRequest();
  request.problem.devices_to_use.max_devices = 3;
  const absl::StatusOr<Plan> three = Make(request);
  ASSERT_TRUE(three.ok()) << three.status();
  EXPECT_EQ(three->stages.size(), 3U);
  request.problem.devices_to_use.max_devices = 2;
  const std::optional<Infeasibility> infeasibility = InfeasibilityOf(Make(request).status());
  ASSERT_TRUE(infeasibility.has_value());
  EXPECT_EQ(infeasibility->minimum_devices, 3);
}

// Two chunks of unlike operators fit into two devices where no two stages do: as few are needed, and INFEASIBLE on two
// would be a false proof.
TEST(JointDefectsTest, ReplicasThatTakeTurnsHaveNoOtherDegrees) {
  JointTestRequest request = ChainRequest(4, 4, 8);
  request.problem.replication = Replication::kPerStage;
  request.problem.joint->context_degrees = {1};
  EXPECT_THAT(PathsOf(Make(request).status()), ::testing::Not(::testing::Contains("problem.joint.context_degrees[0]")));
  request.problem.joint->context_degrees = {2};
  EXPECT_THAT(PathsOf(Make(request).status()), ::testing::Contains("problem.joint.context_degrees[0]"));
}

TEST(JointDefectsTest, ChunksOfUnlikeOperatorsFitWhereStagesDoNot) {
  JointTestRequest request = ChainRequest(4, 4, 4);
  for (std::size_t op = 0; op < 4; ++op) {
    request.graph.operators[op].parameter_bytes = std::vector<int64_t>{5, 1, 5, 9}[op] * 1'000'000;
    request.graph.operators[op].activation_bytes = 0;
  }
  // Parameters and gradients, and some buffers.
  request.cluster.device_classes.front().memory_bytes = 20'100'000;
  request.problem.memory_model.preset = "sgd";
  JointSettings& joint = *request.problem.joint;
  joint.micro_batch_samples = {1};
  joint.data_degrees = {1};
  joint.shardings = {Sharding::kNone};
  joint.recomputation = {LayerRecomputation::kNone};
  joint.orders = {PipelineOrder::kOneFOneB, PipelineOrder::kInterleaved};
  request.problem.objective = Objective::kMinDevices;
  const absl::StatusOr<Plan> fewest = Make(request);
  ASSERT_TRUE(fewest.ok()) << fewest.status();
  EXPECT_EQ(fewest->provenance.counters.at("devices_allowed"), 2);
  EXPECT_EQ(fewest->provenance.counters.at("devices_needed"), 2);
  request.problem.objective = Objective::kMaxThroughput;
  request.problem.devices_to_use.max_devices = 2;
  const absl::StatusOr<Plan> both = Make(request);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->joint->chunks, 2);
  joint.orders = {PipelineOrder::kOneFOneB};
  EXPECT_TRUE(InfeasibilityOf(Make(request).status()).has_value());
}

TEST(JointDefectsTest, HealthyDevicesOfANodeWithoutOneAreUsed) {
  JointTestRequest request = NodesRequest();
  for (const std::size_t failed : {0, 1, 2, 3}) {
    request.problem.devices_to_use.excluded_devices = {DeviceId(failed)};
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->stages.size(), 3U);
  }
}

TEST(JointDefectsTest, TwoClassesOnOneNetworkArePlanned) {
  for (const bool is_uniform : {true, false}) {
    JointTestRequest request = NodesRequest();
    if (is_uniform) request.cluster.interconnect = ChainRequest(1, 1, 1).cluster.interconnect;
    request.cluster.device_classes.push_back(request.cluster.device_classes.front());
    request.cluster.device_classes.back().name = "b";
    for (Operator& op : request.graph.operators) op.costs.push_back(CostOn("b"));
    for (const std::size_t device : {1, 3}) request.cluster.devices[device].device_class = DeviceClassId(1);
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->stages.size(), 3U);
    const absl::StatusOr<Verdict> verdict = Judge(request, PlacementOf(*plan));
    ASSERT_TRUE(verdict.ok()) << verdict.status();
    EXPECT_TRUE(verdict->violations.empty()) << verdict->violations.ToStatus();
  }
}

TEST(JointDefectsTest, StepsOfWeeksAreNoProofThatNothingFits) {
  JointTestRequest request = ChainRequest(3, 2, 64);
  // Two weeks on one device.
  for (Operator& op : request.graph.operators) op.costs.front().forward = Picoseconds(6'000'000 * kMs);
  for (const Objective objective : {Objective::kMaxThroughput, Objective::kMinDevices}) {
    request.problem.objective = objective;
    const absl::Status status = Make(request).status();
    ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(PathsOf(status), testing::ElementsAre("problem.joint.global_batch"));
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("160 hours"));
  }
}

// Replicas that take micro-batches in turn.
JointTestRequest TurnsRequest(int64_t operator_ps) {
  JointTestRequest request = ChainRequest(3, 2, 64);
  for (Operator& op : request.graph.operators) op.costs.front().forward = Picoseconds(operator_ps);
  request.problem.replication = Replication::kPerStage;
  return request;
}

TEST(JointDefectsTest, StagesOfHoursTakeTurns) {
  // Of 1,100 seconds.
  const absl::StatusOr<Plan> plan = Make(TurnsRequest(1'100'000 * kMs));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(plan->provenance.proven_optimal);
  EXPECT_GT(plan->objective.count(), kMs * 3 * 1'100'000 / 2);
}

TEST(JointDefectsTest, StagesOfMonthsAreRefusedWithAReason) {
  const absl::Status status = Make(TurnsRequest(450'000'000 * kMs)).status();
  ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(PathsOf(status), testing::ElementsAre("graph.operators"));
}

TEST(JointDefectsTest, SizesBeyondAllSumsAreRefused) {
  JointTestRequest request = TurnsRequest(kMs);
  request.graph.tensors.front().size_bytes = int64_t{4'000'000'000'000'000'000};
  EXPECT_THAT(PathsOf(Make(request).status()), testing::ElementsAre("graph.tensors"));
}

TEST(JointDefectsTest, LinksAsFastAsCanBeCostNothing) {
  JointTestRequest request = TurnsRequest(kMs);
  for (const double bandwidth : {1e18, 1e20, 1e300}) {
    request.cluster.interconnect =
        UniformInterconnect{.bandwidth_bytes_per_second = bandwidth, .latency = Picoseconds(0)};
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE(plan->objective.count(), 9 * kMs / 2 + 1'000);
  }
}

TEST(JointDefectsTest, LinksAsSlowAsCanBeAreNoProofThatNothingFits) {
  JointTestRequest request = TurnsRequest(kMs);
  request.problem.joint->num_stages = 2;
  for (Tensor& tensor : request.graph.tensors) tensor.size_bytes = 1'000'000;
  request.cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = 1, .latency = Picoseconds(0)};
  const absl::Status status = Make(request).status();
  ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(PathsOf(status), testing::ElementsAre("graph"));
  request.problem.joint->num_stages.reset();
  request.problem.joint->data_degrees = {1};
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->objective.count(), 9 * kMs);
}

}  // namespace
}  // namespace planwright
