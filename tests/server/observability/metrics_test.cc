#include "server/observability/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planwright::server {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

const RpcMethod kMethod{"planwright.v1.PlanningService", "CreatePlan"};
constexpr char kLabels[] = R"(grpc_method="CreatePlan",grpc_service="planwright.v1.PlanningService",grpc_type="unary")";

TEST(MetricsTest, CountsCallsByMethodAndCode) {
  Metrics metrics("1.2");
  metrics.RpcStarted(kMethod);
  metrics.RpcStarted(kMethod);
  metrics.RpcHandled(kMethod, "InvalidArgument", milliseconds(3));
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("grpc_server_started_total{" + std::string(kLabels) + "} 2"));
  EXPECT_THAT(text, HasSubstr(R"(grpc_server_handled_total{grpc_code="InvalidArgument",)"));
  EXPECT_THAT(text, HasSubstr("grpc_server_handling_seconds_count{" + std::string(kLabels) + "} 1"));
  EXPECT_THAT(text, HasSubstr(R"(le="0.0025"} 0)"));
  EXPECT_THAT(text, HasSubstr(R"(le="0.005"} 1)"));
}

TEST(MetricsTest, CountsSearchesByAlgorithmAndStopReason) {
  Metrics metrics("1.2");
  metrics.SearchEnded("ideal_dp", "optimal", milliseconds(20));
  metrics.SearchFailed("FailedPrecondition", milliseconds(1));
  metrics.PlanRejected();
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr(R"(planwright_searches_total{algorithm="ideal_dp",stop_reason="optimal"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(planwright_failed_searches_total{code="FailedPrecondition"} 1)"));
  EXPECT_THAT(text, HasSubstr("planwright_search_seconds_count 2"));
  EXPECT_THAT(text, HasSubstr("planwright_verifier_rejections_total 1"));
}

TEST(MetricsTest, ShowsConnectionsByPort) {
  Metrics metrics("1.2");
  metrics.SetConnections("grpc", {.open = 3, .accepted = 9, .refused = 2, .ended = {{"room", 4}, {"held", 0}}});
  metrics.SetConnections("http", {.open = 1, .accepted = 1, .refused = 0, .ended = {}});
  metrics.SetKnownConnections(2, 1000);
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr(R"(planwright_connections{port="grpc"} 3)"));
  EXPECT_THAT(text, HasSubstr(R"(planwright_connections{port="http"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(planwright_accepted_connections_total{port="grpc"} 9)"));
  EXPECT_THAT(text, HasSubstr(R"(planwright_refused_connections_total{port="grpc"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(planwright_ended_connections_total{port="grpc",reason="room"} 4)"));
  EXPECT_THAT(text, HasSubstr(R"(planwright_ended_connections_total{port="grpc",reason="held"} 0)"));
  EXPECT_THAT(text, HasSubstr("planwright_known_connections 2"));
  EXPECT_THAT(text, HasSubstr("planwright_held_bytes 1000"));
}

TEST(MetricsTest, ShowsLoadDrainAndVersion) {
  Metrics metrics("1.2");
  metrics.SetLoad(3, 4);
  metrics.SetDraining(true);
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("planwright_running_requests 3"));
  EXPECT_THAT(text, HasSubstr("planwright_waiting_requests 4"));
  EXPECT_THAT(text, HasSubstr("planwright_draining 1"));
  EXPECT_THAT(text, HasSubstr(R"(planwright_build_info{version="1.2"} 1)"));
}

}  // namespace
}  // namespace planwright::server
