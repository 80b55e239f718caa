#include "server/engine/batch_planning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "tests/support/wire.h"

namespace planwright::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kCluster[] = R"pb(
  cluster {
    device_classes { name: "gpu" }
    device_groups { name_prefix: "g" device_class: "gpu" count: 4 hosts: "h0" hosts: "h1" }
    interconnect { host_staged {} }
  }
)pb";

constexpr char kGraph[] = R"pb(
  graph {
    operators {
      name: "a"
      costs { device_class: "gpu" forward_ms: 3 }
    }
    operators {
      name: "b"
      costs { device_class: "gpu" forward_ms: 4 }
    }
    tensors { name: "t" producer: "a" consumers: "b" transfer_ms: 0.5 }
  }
)pb";

v1::BatchCreatePlansRequest Batch(const std::string& requests) {
  return Wire<v1::BatchCreatePlansRequest>(std::string(kCluster) + kGraph + requests);
}

class BatchPlanningTest : public testing::Test {
 protected:
  static EngineConfig Config() {
    EngineConfig config;
    config.max_batch_size = 3;
    return config;
  }

  absl::StatusOr<v1::BatchCreatePlansResponse> Plan(const v1::BatchCreatePlansRequest& request,
                                                    std::optional<SolveLimits::Clock::time_point> deadline = {}) {
    const auto batch = BatchPlanning::Start(engine_, request, {.deadline = deadline});
    if (!batch.ok()) return batch.status();
    while (!(*batch)->is_done()) (*batch)->PlanNext({}, nullptr);
    return (*batch)->TakeResponse();
  }

  std::vector<std::string> Refusal(const v1::BatchCreatePlansRequest& request) {
    return Lines(ViolationsOf(Plan(request).status()));
  }

  EngineConfig config_ = Config();
  PlanningEngine engine_{config_};
};

TEST_F(BatchPlanningTest, GivesEveryProblemItsOwnResult) {
  const auto response = Plan(Batch(R"pb(
    requests {}
    requests { problem { objective: OBJECTIVE_MIN_DEVICES target_period_ms: 2 } }
    requests { problem { devices_to_use { hosts: "h9" } } }
  )pb"));
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->results_size(), 3);
  EXPECT_EQ(response->results(0).plan().objective_ms(), 4.5);
  EXPECT_FALSE(response->results(0).plan().graph_digest().empty());
  EXPECT_EQ(response->results(1).error().code(), static_cast<int>(absl::StatusCode::kFailedPrecondition));
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(response->results(1).error().details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "INFEASIBLE");
  EXPECT_EQ(response->results(2).error().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(response->results(2).error().message(), HasSubstr("problem.devices_to_use.hosts[0]: must be"));
}

TEST_F(BatchPlanningTest, AProblemMayBringItsOwnGraph) {
  auto request = Batch(R"pb(
    requests {
      graph {
        operators {
          name: "c"
          costs { device_class: "gpu" forward_ms: 9 }
        }
      }
    }
    requests { graph_reference: "zoo:no-such-model" }
  )pb");
  auto response = Plan(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->results(0).plan().objective_ms(), 9);
  EXPECT_EQ(response->results(1).error().code(), static_cast<int>(absl::StatusCode::kNotFound));
  request.clear_graph();
  request.add_requests();
  response = Plan(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->results(0).plan().objective_ms(), 9);
  EXPECT_THAT(response->results(2).error().message(), HasSubstr("graph: must be set, or graph_reference"));
}

TEST_F(BatchPlanningTest, RefusesWhatAllShare) {
  EXPECT_THAT(Refusal(Batch("")), ElementsAre("requests: must not be empty"));
  EXPECT_THAT(Refusal(Batch("requests {} requests {} requests {} requests {}")),
              ElementsAre("requests: must have at most 3 elements, has 4"));
  auto no_cluster = Batch("requests {}");
  no_cluster.clear_cluster();
  EXPECT_THAT(Refusal(no_cluster), ElementsAre("cluster: must be set, or cluster_reference"));
  auto no_devices = Batch("requests {}");
  no_devices.mutable_cluster()->clear_device_groups();
  EXPECT_THAT(Refusal(no_devices), ElementsAre("cluster.devices: must not be empty"));
  auto twice = Batch("requests {}");
  twice.mutable_graph()->mutable_operators(1)->set_name("a");
  twice.mutable_graph()->clear_tensors();
  EXPECT_THAT(Refusal(twice), ElementsAre(HasSubstr("graph.operators[1].name: must be unique")));
}

TEST_F(BatchPlanningTest, APlanThatDoesNotFitIsAnErrorOfItsOwn) {
  const auto request = Batch("requests {} requests {} requests {}");
  const auto all = Plan(request);
  ASSERT_TRUE(all.ok()) << all.status();
  config_.max_message_bytes = all->results(0).plan().ByteSizeLong() + 100;
  PlanningEngine small(config_);
  const auto batch = BatchPlanning::Start(small, request, CallContext());
  ASSERT_TRUE(batch.ok()) << batch.status();
  while (!(*batch)->is_done()) (*batch)->PlanNext({}, nullptr);
  const v1::BatchCreatePlansResponse response = (*batch)->TakeResponse();
  EXPECT_TRUE(response.results(0).has_plan());
  EXPECT_EQ(response.results(1).error().code(), static_cast<int>(absl::StatusCode::kResourceExhausted));
}

TEST_F(BatchPlanningTest, EndsEarlyWithWhatItHas) {
  const auto request = Batch("requests {} requests {} requests {}");
  const auto batch = BatchPlanning::Start(engine_, request, CallContext());
  ASSERT_TRUE(batch.ok()) << batch.status();
  (*batch)->PlanNext({}, nullptr);
  EXPECT_FALSE((*batch)->is_done());
  (*batch)->EndWith(absl::UnavailableError("enough"));
  EXPECT_TRUE((*batch)->is_done());
  const v1::BatchCreatePlansResponse response = (*batch)->TakeResponse();
  EXPECT_TRUE(response.results(0).has_plan());
  EXPECT_EQ(response.results(2).error().message(), "enough");
}

}  // namespace
}  // namespace planwright::server
