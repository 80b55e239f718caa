#include "client/library/remote_planning_client.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <semaphore>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "client/library/error_details.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;

// A server whose answers the test decides.
class FakeService final : public v1::PlanningService::Service {
 public:
  std::function<grpc::Status(grpc::ServerContext&, v1::GetServerInfoResponse&)> info;
  std::function<grpc::Status(grpc::ServerContext&, const v1::CreatePlanRequest&)> plan;
  using Writer = grpc::ServerWriter<v1::StreamPlanResponse>;
  // Unset: a server that is too old for StreamPlan.
  std::function<grpc::Status(grpc::ServerContext&, const v1::StreamPlanRequest&, Writer&)> stream;

  grpc::Status GetServerInfo(grpc::ServerContext* context, const v1::GetServerInfoRequest*,
                             v1::GetServerInfoResponse* response) override {
    return info(*context, *response);
  }
  grpc::Status CreatePlan(grpc::ServerContext* context, const v1::CreatePlanRequest* request,
                          v1::CreatePlanResponse*) override {
    return plan(*context, *request);
  }
  grpc::Status StreamPlan(grpc::ServerContext* context, const v1::StreamPlanRequest* request, Writer* writer) override {
    if (!stream) return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "");
    return stream(*context, *request, *writer);
  }
};

class RemotePlanningClientTest : public ::testing::Test {
 protected:
  RemotePlanningClientTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.SetMaxReceiveMessageSize(64 << 20);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    client_ = Client(ServerConnection());
  }

  // A client of the server that says more about itself.
  std::unique_ptr<RemotePlanningClient> Client(ServerConnection connection) const {
    connection.address = "127.0.0.1:" + std::to_string(port_);
    return std::make_unique<RemotePlanningClient>(connection);
  }

  FakeService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<RemotePlanningClient> client_;
};

TEST_F(RemotePlanningClientTest, RetriesUnavailableAndSendsADeadline) {
  std::atomic<int> calls = 0;
  std::atomic<bool> has_deadline = true;
  service_.info = [&](grpc::ServerContext& context, v1::GetServerInfoResponse& response) {
    has_deadline = has_deadline && context.deadline() < std::chrono::system_clock::now() + std::chrono::minutes(10);
    if (++calls < 3) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "not yet");
    response.set_version("1.2.3");
    return grpc::Status::OK;
  };
  const auto info = client_->GetServerInfo({}, {});
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->version(), "1.2.3");
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(has_deadline);
}

// A headless service has several addresses.
TEST_F(RemotePlanningClientTest, GoesRoundTheAddressesOfAService) {
  FakeService other;
  std::atomic<int> calls_here = 0;
  std::atomic<int> calls_there = 0;
  const auto count = [](std::atomic<int>& calls) {
    return [&calls](grpc::ServerContext&, v1::GetServerInfoResponse&) {
      ++calls;
      return grpc::Status::OK;
    };
  };
  service_.info = count(calls_here);
  other.info = count(calls_there);
  int other_port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &other_port);
  builder.RegisterService(&other);
  const std::unique_ptr<grpc::Server> other_server = builder.BuildAndStart();
  ServerConnection both;
  both.address = "ipv4:127.0.0.1:" + std::to_string(port_) + ",127.0.0.1:" + std::to_string(other_port);
  RemotePlanningClient client(both);
  // The second connection may come a moment after the first.
  for (int i = 0; i < 10'000 && calls_there * calls_here == 0; ++i) ASSERT_TRUE(client.GetServerInfo({}, {}).ok());
  const int here = calls_here;
  const int there = calls_there;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(client.GetServerInfo({}, {}).ok());
  EXPECT_EQ(calls_here, here + 5);
  EXPECT_EQ(calls_there, there + 5);
}

TEST_F(RemotePlanningClientTest, SaysWhoCallsAndForWhichTrace) {
  std::multimap<std::string, std::string> received;
  service_.info = [&](grpc::ServerContext& context, v1::GetServerInfoResponse&) {
    for (const auto& [key, value] : context.client_metadata()) {
      received.emplace(std::string(key.data(), key.size()), std::string(value.data(), value.size()));
    }
    return grpc::Status::OK;
  };
  ASSERT_TRUE(Client({.token = "t", .traceparent = "00-1-2-03"})->GetServerInfo({}, {}).ok());
  EXPECT_THAT(received, ::testing::Contains(::testing::Pair("authorization", "Bearer t")));
  EXPECT_THAT(received, ::testing::Contains(::testing::Pair("traceparent", "00-1-2-03")));
  received.clear();
  ASSERT_TRUE(client_->GetServerInfo({}, {}).ok());
  EXPECT_EQ(received.count("authorization"), 0U);
}

TEST_F(RemotePlanningClientTest, ATokenThatCannotBeSentIsRefusedWithoutBeingTold) {
  service_.info = [](grpc::ServerContext&, v1::GetServerInfoResponse&) { return grpc::Status::OK; };
  for (const char* token : {"secret\n", "secret\x01", "\xc3\xa9 secret", "secret\x7f"}) {
    testing::internal::CaptureStderr();
    const absl::Status refused = Client({.token = token})->GetServerInfo({}, {}).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
    EXPECT_EQ(refused.ToString().find("cret"), std::string::npos) << refused;
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("cret"), std::string::npos);
  }
}

TEST_F(RemotePlanningClientTest, ATraceThatCannotBeSentIsLeftOut) {
  std::atomic<std::size_t> traces = 0;
  service_.info = [&](grpc::ServerContext& context, v1::GetServerInfoResponse&) {
    traces += context.client_metadata().count("traceparent");
    return grpc::Status::OK;
  };
  for (const char* trace : {"00-1-2-03\n", "00-1-2-\x01", "00-1-2-\xc3\xa9"}) {
    EXPECT_TRUE(Client({.traceparent = trace})->GetServerInfo({}, {}).ok());
  }
  EXPECT_EQ(traces, 0U);
}

TEST_F(RemotePlanningClientTest, RetriesNothingElse) {
  std::atomic<int> calls = 0;
  service_.info = [&](grpc::ServerContext&, v1::GetServerInfoResponse&) {
    ++calls;
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full");
  };
  EXPECT_EQ(client_->GetServerInfo({}, {}).status(), absl::ResourceExhaustedError("full"));
  EXPECT_EQ(calls, 1);
}

TEST_F(RemotePlanningClientTest, CarriesTheDetailsOfErrors) {
  service_.plan = [](grpc::ServerContext&, const v1::CreatePlanRequest&) {
    google::rpc::Status wire;
    google::rpc::BadRequest bad_request;
    bad_request.add_field_violations()->set_field("graph");
    bad_request.mutable_field_violations(0)->set_description("must be set");
    wire.add_details()->PackFrom(bad_request);
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "graph: must be set", wire.SerializeAsString());
  };
  const absl::Status status = client_->CreatePlan({}, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ErrorDetailsOf(status).violations, ElementsAre(FieldViolation{"graph", "must be set"}));
}

TEST_F(RemotePlanningClientTest, AStopRequestCancelsTheCall) {
  std::binary_semaphore arrived(0);
  std::atomic<bool> was_cancelled = false;
  service_.plan = [&](grpc::ServerContext& context, const v1::CreatePlanRequest&) {
    arrived.release();
    while (!context.IsCancelled()) std::this_thread::yield();
    was_cancelled = true;
    return grpc::Status::CANCELLED;
  };
  std::stop_source stop;
  const std::jthread user([&] {
    arrived.acquire();
    stop.request_stop();
  });
  const absl::Status status = client_->CreatePlan({}, {.stop = stop.get_token()}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  server_->Shutdown();
  EXPECT_TRUE(was_cancelled);
}

v1::StreamPlanResponse Event(const std::string& text) {
  v1::StreamPlanResponse event;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &event)) << text;
  return event;
}

class Listener : public ProgressListener {
 public:
  void OnPhase(std::string_view phase) override { told.push_back("phase " + std::string(phase)); }
  void OnIncumbent(double objective_ms) override { told.push_back("incumbent " + std::to_string(objective_ms)); }
  void OnBound(double lower_bound_ms) override { told.push_back("bound " + std::to_string(lower_bound_ms)); }
  bool wants_incumbent_plans() const override { return wants_plans; }
  void OnIncumbentPlan(const v1::Plan& plan) override { told.push_back("plan " + std::to_string(plan.objective_ms())); }

  bool wants_plans = false;
  std::vector<std::string> told;
};

TEST_F(RemotePlanningClientTest, TellsTheListenerWhatTheStreamSays) {
  v1::StreamPlanRequest received;
  service_.stream = [&](grpc::ServerContext&, const v1::StreamPlanRequest& request, FakeService::Writer& writer) {
    received = request;
    writer.Write(Event("phase: 'ideal_dp'"));
    writer.Write(Event("incumbent { incumbent { objective_ms: 9 } plan { objective_ms: 9 } }"));
    writer.Write(Event("bound { value_ms: 7 }"));
    writer.Write(v1::StreamPlanResponse());
    writer.Write(Event("plan { objective_ms: 8 }"));
    return grpc::Status::OK;
  };
  v1::CreatePlanRequest request;
  request.set_graph_reference("zoo:g");
  request.set_cluster_reference("zoo:c");
  request.mutable_problem()->set_num_stages(3);
  request.mutable_options()->set_seed(4);
  Listener listener;
  const auto planned = client_->CreatePlan(request, {.stop = {}, .progress = &listener});
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->plan().objective_ms(), 8);
  EXPECT_THAT(listener.told, ElementsAre("phase ideal_dp", "incumbent 9.000000", "bound 7.000000"));
  EXPECT_EQ(received.graph_reference(), "zoo:g");
  EXPECT_EQ(received.cluster_reference(), "zoo:c");
  EXPECT_EQ(received.problem().num_stages(), 3);
  EXPECT_EQ(received.options().seed(), 4);
  EXPECT_FALSE(received.include_incumbent_plans());

  listener.wants_plans = true;
  listener.told.clear();
  ASSERT_TRUE(client_->CreatePlan(request, {.stop = {}, .progress = &listener}).ok());
  EXPECT_THAT(listener.told, ElementsAre("phase ideal_dp", "incumbent 9.000000", "plan 9.000000", "bound 7.000000"));
  EXPECT_TRUE(received.include_incumbent_plans());
}

// The client reads what is on its way although it was told to stop meanwhile; so the test waits until it has read.
class StopAtIncumbent final : public Listener {
 public:
  void OnIncumbent(double) override { stop.request_stop(); }
  std::stop_source stop;
};

TEST_F(RemotePlanningClientTest, AStopRequestIsAnsweredWithTheLatestIncumbentPlan) {
  service_.stream = [](grpc::ServerContext& context, const v1::StreamPlanRequest& request,
                       FakeService::Writer& writer) {
    EXPECT_TRUE(request.include_incumbent_plans());
    writer.Write(Event("incumbent { incumbent { objective_ms: 9 } plan { objective_ms: 9 } }"));
    while (!context.IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  };
  StopAtIncumbent listener;
  const auto planned = client_->CreatePlan({}, {.stop = listener.stop.get_token(), .progress = &listener});
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->plan().objective_ms(), 9);
}

TEST_F(RemotePlanningClientTest, AnErrorIsAnErrorAlsoAfterAnIncumbentPlan) {
  service_.stream = [](grpc::ServerContext&, const v1::StreamPlanRequest&, FakeService::Writer& writer) {
    writer.Write(Event("incumbent { plan { objective_ms: 9 } }"));
    return grpc::Status(grpc::StatusCode::INTERNAL, "oops");
  };
  const std::stop_source stop;
  EXPECT_EQ(client_->CreatePlan({}, {.stop = stop.get_token()}).status(), absl::InternalError("oops"));
}

TEST_F(RemotePlanningClientTest, AStreamWithoutAnAnswerIsADefect) {
  service_.stream = [](grpc::ServerContext&, const v1::StreamPlanRequest&, FakeService::Writer& writer) {
    writer.Write(Event("incumbent { plan { objective_ms: 9 } }"));
    return grpc::Status::OK;
  };
  Listener listener;
  EXPECT_EQ(client_->CreatePlan({}, {.stop = {}, .progress = &listener}).status().code(), absl::StatusCode::kInternal);
}

TEST_F(RemotePlanningClientTest, AsksAnOlderServerWithoutAStream) {
  std::atomic<int> calls = 0;
  service_.plan = [&](grpc::ServerContext&, const v1::CreatePlanRequest& request) {
    ++calls;
    EXPECT_EQ(request.graph_reference(), "zoo:g");
    return grpc::Status::OK;
  };
  v1::CreatePlanRequest request;
  request.set_graph_reference("zoo:g");
  Listener listener;
  EXPECT_TRUE(client_->CreatePlan(request, {.stop = {}, .progress = &listener}).ok());
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(listener.told.empty());
}

TEST_F(RemotePlanningClientTest, SendsMessagesOfManyMegabytes) {
  std::atomic<std::size_t> received = 0;
  service_.plan = [&](grpc::ServerContext&, const v1::CreatePlanRequest& request) {
    received = request.graph().display_name().size();
    return grpc::Status::OK;
  };
  v1::CreatePlanRequest request;
  request.mutable_graph()->set_display_name(std::string(std::size_t{32} << 20, 'x'));
  ASSERT_TRUE(client_->CreatePlan(request, {}).ok());
  EXPECT_EQ(received, std::size_t{32} << 20);
}

TEST(RemotePlanningClientErrorTest, SaysThatNobodyIsThere) {
  // Port 1 is reserved and nothing listens there.
  RemotePlanningClient client({.address = "127.0.0.1:1"});
  EXPECT_EQ(client.GetServerInfo({}, {}).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace planwright::client
