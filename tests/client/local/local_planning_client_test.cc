#include "client/local/local_planning_client.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "client/library/error_details.h"
#include "server/serving/admission/resources.h"

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

TEST(LocalPlanningClientTest, PlansABatch) {
  LocalPlanningClient client({});
  v1::BatchCreatePlansRequest request;
  *request.mutable_graph() = Request().graph();
  *request.mutable_cluster() = Request().cluster();
  request.add_requests();
  request.add_requests()->mutable_problem()->mutable_devices_to_use()->set_max_devices(1);
  const auto response = client.BatchCreatePlans(request, CallOptions());
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->results(0).plan().objective_ms(), 3.5);
  EXPECT_EQ(response->results(1).error().code(), static_cast<int>(absl::StatusCode::kFailedPrecondition));
  const std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(client.BatchCreatePlans(request, {.stop = stop.get_token()}).status().code(), absl::StatusCode::kCancelled);
  request.clear_requests();
  EXPECT_THAT(ErrorDetailsOf(client.BatchCreatePlans(request, CallOptions()).status()).violations,
              Contains(FieldViolation{"requests", "must not be empty"}));
}

TEST(LocalPlanningClientTest, EvaluationCanBeCancelled) {
  LocalPlanningClient client({});
  const auto plan = client.CreatePlan(Request(), CallOptions());
  ASSERT_TRUE(plan.ok()) << plan.status();
  v1::EvaluatePlanRequest request;
  *request.mutable_graph() = Request().graph();
  *request.mutable_cluster() = Request().cluster();
  *request.mutable_plan() = plan->plan();
  const std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(client.EvaluatePlan(request, {.stop = stop.get_token()}).status().code(), absl::StatusCode::kCancelled);
  CallOptions late;
  late.deadline = CallOptions::Clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(client.EvaluatePlan(request, late).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(LocalPlanningClientTest, MayUseThisMachine) {
  const server::EngineConfig config = ConfigOfThisMachine("9.9");
  EXPECT_EQ(config.version, "9.9");
  EXPECT_GE(config.cpus, 1);
  EXPECT_EQ(config.memory_budget_bytes, server::DefaultMemoryBudget());
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

TEST(LocalPlanningClientTest, WritesTheIntegerProgramOfAProblem) {
  LocalPlanningClient client(server::EngineConfig{});
  const auto text = client.WriteProgram(Request(), ProgramFormat::kLp, ProgramForm::kCompact);
  ASSERT_TRUE(text.ok()) << text.status();
  // Both operators on one device need 120 bytes of 100.
  EXPECT_THAT(*text, ::testing::HasSubstr(" memory_0: + 0.59999999999999998 x_0_0 + 0.59999999999999998 x_1_0 <= 1\n"));
  v1::CreatePlanRequest request = Request();
  request.mutable_problem()->set_schedule(v1::SCHEDULE_KIND_GPIPE);
  const auto refused = client.WriteProgram(request, ProgramFormat::kMps, ProgramForm::kCompact);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ErrorDetailsOf(refused.status()).violations, Not(IsEmpty()));
}

TEST(LocalPlanningClientTest, WritesTheIntegerProgramAsThePaperPrintsIt) {
  LocalPlanningClient client(server::EngineConfig{});
  v1::CreatePlanRequest request = Request();
  request.mutable_problem()->set_split(v1::SPLIT_NON_CONTIGUOUS);
  const auto text = client.WriteProgram(request, ProgramFormat::kLp, ProgramForm::kPrinted);
  ASSERT_TRUE(text.ok()) << text.status();
  for (const char* row : {" c15_0: + 1 x_0_0 + 1 x_0_1 = 1\n", " c17_1: + 0.59999999999999998 x_0_1 + ",
                          " c18_0_1_0: + 1 x_0_0 - 1 x_1_0 + 1 CommIn_0_0 >= 0\n", " c19_0_1_1: ", " c20_0: "}) {
    EXPECT_THAT(*text, ::testing::HasSubstr(row));
  }
  EXPECT_THAT(*text, Not(::testing::HasSubstr("c12_")));
  request.mutable_problem()->set_overlap(v1::OVERLAP_OVERLAPPED);
  const auto refused = client.WriteProgram(request, ProgramFormat::kLp, ProgramForm::kPrinted);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(ErrorDetailsOf(refused.status()).violations.size(), 1U);
  EXPECT_EQ(ErrorDetailsOf(refused.status()).violations.front().field, "problem.overlap");
}

}  // namespace
}  // namespace planwright::client
