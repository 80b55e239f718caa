#include "client/local/local_planning_client.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "client/library/error_details.h"

namespace planwright::client {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

// Two operators in a row on two devices of 100 bytes each.
v1::CreatePlanRequest Request() {
  v1::CreatePlanRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        graph {
          operators {
            name: "a"
            memory_bytes: 60
            costs { device_class: "gpu" forward_ms: 3 }
          }
          operators {
            name: "b"
            memory_bytes: 60
            costs { device_class: "gpu" forward_ms: 2 }
          }
          tensors { name: "t" producer: "a" consumers: "b" transfer_ms: 0.5 }
        }
        cluster {
          device_classes { name: "gpu" memory_bytes: 100 }
          device_groups { name_prefix: "gpu" device_class: "gpu" count: 2 }
          interconnect { host_staged {} }
        })pb",
      &request));
  return request;
}

class Listener final : public ProgressListener {
 public:
  void OnPhase(std::string_view phase) override { phases.emplace_back(phase); }
  void OnIncumbent(double objective_ms) override { last_objective_ms = objective_ms; }
  void OnBound(double lower_bound_ms) override { last_bound_ms = lower_bound_ms; }
  bool wants_incumbent_plans() const override { return true; }
  void OnIncumbentPlan(const v1::Plan& plan) override { last_plan = plan; }

  std::vector<std::string> phases;
  double last_objective_ms = 0;
  double last_bound_ms = 0;
  v1::Plan last_plan;
};

TEST(LocalPlanningClientTest, PlansEvaluatesAndReportsProgress) {
  server::EngineConfig config;
  config.version = "test";
  LocalPlanningClient client(config);
  Listener listener;
  CallOptions call;
  call.progress = &listener;
  const auto planned = client.CreatePlan(Request(), call);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->plan().objective_ms(), 3.5);
  EXPECT_THAT(listener.phases, Contains("verify"));
  EXPECT_EQ(listener.last_objective_ms, 3.5);
  EXPECT_LE(listener.last_bound_ms, 3.5);
  EXPECT_EQ(listener.last_plan.objective_ms(), 3.5);
  EXPECT_EQ(listener.last_plan.graph_digest(), planned->plan().graph_digest());

  v1::EvaluatePlanRequest request;
  *request.mutable_graph() = Request().graph();
  *request.mutable_cluster() = Request().cluster();
  *request.mutable_plan() = planned->plan();
  const auto evaluated = client.EvaluatePlan(request, {});
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  EXPECT_TRUE(evaluated->valid());
  EXPECT_EQ(client.GetServerInfo({}, {})->version(), "test");
}

TEST(LocalPlanningClientTest, ErrorsCarryTheDetailsThatAServerWouldSend) {
  LocalPlanningClient client({});
  v1::CreatePlanRequest broken = Request();
  broken.mutable_graph()->mutable_tensors(0)->set_producer("x");
  const absl::Status invalid = client.CreatePlan(broken, {}).status();
  EXPECT_EQ(invalid.code(), absl::StatusCode::kInvalidArgument);
  ErrorDetails details = ErrorDetailsOf(invalid);
  EXPECT_EQ(details.reason, "INVALID_REQUEST");
  ASSERT_THAT(details.violations, Not(IsEmpty()));
  EXPECT_EQ(details.violations[0].field, "graph.tensors[0].producer");

  v1::CreatePlanRequest large = Request();
  large.mutable_graph()->mutable_operators(0)->set_memory_bytes(101);
  const absl::Status infeasible = client.CreatePlan(large, {}).status();
  EXPECT_EQ(infeasible.code(), absl::StatusCode::kFailedPrecondition);
  details = ErrorDetailsOf(infeasible);
  EXPECT_EQ(details.reason, "INFEASIBLE");
  ASSERT_TRUE(details.infeasible.has_value());
  EXPECT_EQ(details.infeasible->reasons(0).resource(), "memory");
}

}  // namespace
}  // namespace planwright::client
