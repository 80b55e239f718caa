// Connections of the real server: where it listens, and how long they live.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "planwright/v1/planning_service.grpc.pb.h"
#include "tests/integration/daemon_process.h"

namespace planwright {
namespace {

using testing::HasSubstr;

std::unique_ptr<v1::PlanningService::Stub> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return v1::PlanningService::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

grpc::Status Ask(v1::PlanningService::Stub& stub) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  v1::GetServerInfoResponse response;
  return stub.GetServerInfo(&context, v1::GetServerInfoRequest(), &response);
}

TEST(ConnectionsTest, AreRenewedByAgeWithoutALoss) {
  DaemonProcess daemon({"--max_connection_age=200ms"});
  const auto stub = Connect(daemon.address());
  v1::StreamPlanRequest request;
  request.set_graph_reference("zoo:inception-v3");
  request.set_cluster_reference("zoo:random-uniform:8");
  request.mutable_options()->mutable_time_limit()->set_seconds(2);
  grpc::ClientContext context;
  // Outlives the age of its connection several times.
  const auto stream = stub->StreamPlan(&context, request);
  std::atomic<int> failures{0};
  {
    const std::jthread asker([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        if (!Ask(*stub).ok()) ++failures;
      }
    });
    v1::StreamPlanResponse event;
    while (stream->Read(&event)) continue;
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(failures, 0);
}

TEST(ConnectionsTest, ComeOverUnixSocketsAndNamesAndEveryFamily) {
  std::string pattern = std::filesystem::temp_directory_path() / "planwright_socket_XXXXXX";
  const std::filesystem::path folder = mkdtemp(pattern.data());
  for (const std::string& address :
       {"unix:" + (folder / "socket").string(), std::string("localhost:0"), std::string("127.0.0.1:0")}) {
    DaemonProcess daemon({"--listen_address=" + address});
    const std::string served = daemon.address();
    EXPECT_TRUE(Ask(*Connect(served)).ok()) << address;
    DaemonProcess second({"--listen_address=" + served});
    EXPECT_EQ(second.WaitForExit(), 1);
    EXPECT_THAT(second.plain_output(),
                HasSubstr("already in use: " + served + "; choose another with --listen_address"));
    EXPECT_TRUE(Ask(*Connect(served)).ok()) << address;
    daemon.Signal(SIGTERM);
    EXPECT_EQ(daemon.WaitForExit(), 0);
  }
  std::filesystem::remove_all(folder);
}

// A place that callers who are known have taken is theirs.
TEST(ConnectionsTest, OfKnownCallersAreNotTakenByOthers) {
  DaemonProcess daemon({"--max_connections=2"});
  const std::string address = daemon.address();
  const auto first = Connect(address);
  const auto second = Connect(address);
  EXPECT_TRUE(Ask(*first).ok());
  EXPECT_TRUE(Ask(*second).ok());
  EXPECT_EQ(Ask(*Connect(address)).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Ask(*first).ok());
  EXPECT_TRUE(Ask(*second).ok());
}

}  // namespace
}  // namespace planwright
