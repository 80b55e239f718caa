// Joint requests at the ends of what can be asked for: targets out of reach, links so slow that steps take days.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/infeasibility.h"
#include "tests/core/planner/joint/joint_test_request.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::Status Check(const JointTestRequest& request) {
  return CheckRequest({request.graph, request.cluster, request.problem, request.options}, ModelLimits());
}

TEST(JointExtremesTest, MissedTargetsNameTheBestPlanThatThereIs) {
  JointTestRequest request = RequestOf("llama3-8b", "fat-tree:2?nodes=2&racks=2&taper=8", 64);
  request.problem.joint->orders = {PipelineOrder::kOneFOneB};
  request.problem.joint->num_stages = 1;
  request.problem.devices_to_use.hosts = {"host1", "host2"};
  for (const bool is_part : {false, true}) {
    SCOPED_TRACE(is_part);
    if (is_part) request.problem.devices_to_use.max_devices = 16;
    request.problem.objective = Objective::kMaxThroughput;
    request.problem.joint->target_tokens_per_second.reset();
    const absl::StatusOr<Plan> best = Make(request);
    ASSERT_TRUE(best.ok()) << best.status();
    request.problem.objective = Objective::kMinDevices;
    request.problem.joint->target_tokens_per_second = 1e9;
    const absl::Status missed = Make(request).status();
    // Nodes of one rack would train faster; there are none.
    EXPECT_THAT(std::string(missed.message()),
                HasSubstr(absl::StrFormat("trains %.0f tokens/s", std::floor(best->joint->tokens_per_second))));
    EXPECT_TRUE(InfeasibilityOf(missed).has_value()) << missed;
  }
}

TEST(JointExtremesTest, SlowLinksAndLargeBatchesLeaveNumbersWhole) {
  for (const double bytes_per_second : {1e6, 1.0}) {
    for (const int64_t batch : {int64_t{1} << 12, int64_t{1} << 20, int64_t{1} << 24}) {
      SCOPED_TRACE(absl::StrCat(bytes_per_second, " bytes/s, batch ", batch));
      JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", batch);
      request.cluster.interconnect =
          UniformInterconnect{.bandwidth_bytes_per_second = bytes_per_second, .latency = Picoseconds(0)};
      request.problem.joint->per_stage = true;
      const absl::StatusOr<Plan> plan = Make(request);
      // Verified, or longer than what is looked for.
      if (plan.ok()) {
        EXPECT_GT(plan->objective.count(), 0);
        for (const JointConfiguration& each : plan->joint->uniform_configurations) EXPECT_GT(each.step.count(), 0);
      } else {
        EXPECT_THAT(PathsOf(plan.status()), testing::ElementsAre("problem.joint.global_batch")) << plan.status();
      }
    }
  }
}

TEST(JointExtremesTest, ModelsWhoseTablesWouldNotFitAreRefused) {
  JointTestRequest request = RequestOf("gpt-125m", "dgx-a100:1", 64);
  request.graph.transformer->layers = 4'097;
  EXPECT_THAT(PathsOf(Check(request)), ElementsAre("graph.transformer.layers"));
  // Of 1,000 layers 67 may have times of their own.
  request.graph.transformer->layers = 1'000;
  for (int layer = 0; layer < 68; ++layer) {
    MeasuredLayer& row = request.graph.transformer->measured_layers.emplace_back();
    row.layer = absl::StrCat("layer.", layer);
    row.forward_ms = row.backward_ms = 1;
  }
  EXPECT_THAT(PathsOf(Check(request)), ElementsAre("graph.transformer.measured_layers"));
  request.graph.transformer->layers = 990;
  EXPECT_TRUE(Check(request).ok()) << Check(request);
}

TEST(JointExtremesTest, TooManyConsumersAreRefusedWhereReplicasTakeTurns) {
  JointTestRequest request = RequestOf("resnet50", "nodes:1?devices=4&inside_us=0", 64);
  request.problem.replication = Replication::kPerStage;
  OperatorGraph& graph = request.graph;
  graph.operators.resize(1);
  graph.tensors.clear();
  for (int op = 1; op < 300; ++op) {
    graph.operators.push_back(graph.operators.front());
    graph.operators.back().name = absl::StrCat("op", op);
  }
  for (std::size_t from = 0; from < 300; ++from) {
    Tensor& tensor = graph.tensors.emplace_back();
    tensor.name = absl::StrCat("tensor", from);
    tensor.producer = OperatorId(from);
    for (std::size_t to = from + 1; to < 300; ++to) tensor.consumers.emplace_back(to);
  }
  EXPECT_THAT(PathsOf(Check(request)), Contains("graph.tensors"));
}

TEST(JointExtremesTest, StepsOfWeeksAreNotCosted) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 1 << 20);
  request.problem.joint->tensor_degrees = {2};
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  request.cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = 1e5, .latency = Picoseconds(0)};
  const absl::StatusOr<Verdict> verdict = Judge(request, PlacementOf(*plan));
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_FALSE(verdict->costed.has_value());
  EXPECT_THAT(PathsOf(verdict->violations.ToStatus()), testing::Contains("plan.joint"));
}

}  // namespace
}  // namespace planwright
