#include "server/main/liveness.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "server/connections/gate.h"
#include "server/connections/own_call.h"

namespace planwright::server {
namespace {

using testing::HasSubstr;

// Waits for what a thread does soon; gives up after a minute.
bool Eventually(const std::function<bool()>& fact) {
  for (int i = 0; i < 6000 && !fact(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return fact();
}

TEST(LivenessTest, TellsWhatHasBeenWrongForTooLongAndWhenItIsWellAgain) {
  const Logger log(LogFormat::kText, [](std::string_view /*line*/) {});
  std::atomic<bool> works{true};
  const auto check = [&works] { return works ? absl::OkStatus() : absl::UnavailableError("nothing moves"); };
  Liveness liveness({{"pool", {check, std::chrono::milliseconds(1500)}}, {"slow pool", {check, std::chrono::hours(1)}}},
                    log);
  EXPECT_TRUE(liveness.status().ok());
  works = false;
  EXPECT_TRUE(Eventually([&] { return !liveness.status().ok(); }));
  EXPECT_THAT(std::string(liveness.status().message()), HasSubstr("pool: nothing moves"));
  works = true;
  EXPECT_TRUE(Eventually([&] { return liveness.status().ok(); }));
}

TEST(LivenessTest, ACheckThatNeverEndsIsWrongToo) {
  const Logger log(LogFormat::kText, [](std::string_view /*line*/) {});
  std::latch end(1);
  Liveness liveness({{"pool",
                      {[&end] {
                         end.wait();
                         return absl::OkStatus();
                       },
                       std::chrono::milliseconds(50)}}},
                    log);
  EXPECT_TRUE(Eventually([&] { return !liveness.status().ok(); }));
  end.count_down();
}

// A gRPC server behind a gate, all of whose calls wait for the test.
class WaitingServer final : public grpc::CallbackGenericService {
 public:
  explicit WaitingServer(int max_connections) : connections({.connections = max_connections}) {
    grpc::ServerBuilder builder;
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
    gate_ = std::make_unique<Gate>(*Listener::Open("127.0.0.1:0"), connections,
                                   [this](int file, const SocketAddress& /*peer*/) {
                                     grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
                                     connection.fd = file;
                                     acceptor_->HandleNewConnection(&connection);
                                   });
  }
  ~WaitingServer() override {
    Release();
    gate_.reset();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  void Release() {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_released_, true)) released_.count_down();
  }
  const Listener& listener() const { return gate_->listener(); }

  Connections connections;

 private:
  class Refusal final : public grpc::ServerGenericBidiReactor {
   public:
    Refusal() { Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "")); }
    void OnDone() override { delete this; }
  };

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* /*context*/) override {
    released_.wait();
    return new Refusal();
  }

  std::mutex mutex_;
  bool is_released_ = false;
  std::latch released_{1};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<Gate> gate_;
};

// Starts calls that wait for the server, as many as given.
class Callers {
 public:
  Callers(const std::string& address, int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([address] {
        grpc::ChannelArguments own;
        own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
        grpc::GenericStub stub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), own));
        grpc::ClientContext context;
        context.set_wait_for_ready(false);
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
        std::latch done(1);
        const grpc::Slice empty;
        const grpc::ByteBuffer request(&empty, 1);
        grpc::ByteBuffer response;
        stub.UnaryCall(&context, "/any/Method", {}, &request, &response,
                       [&done](const grpc::Status&) { done.count_down(); });
        done.wait();
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;
};

TEST(OwnCallTest, GetsThroughToAServerWhosePlacesAreTaken) {
  WaitingServer server(1);
  EXPECT_TRUE(CallOwnDoor(server.listener(), server.connections, false, std::chrono::minutes(1)).ok());
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  const SocketAddress address = server.listener().OwnAddress();
  EXPECT_EQ(connect(client, address.get(), address.length), 0);
  SocketAddress own;
  getsockname(client, own.get(), &own.length);
  const std::string name = PeerOf(own.storage, own.length).name;
  EXPECT_TRUE(Eventually([&] { return server.connections.Find(name).has_value(); }));
  server.connections.Identified(name);
  EXPECT_TRUE(server.connections.is_full());
  EXPECT_TRUE(CallOwnDoor(server.listener(), server.connections, false, std::chrono::minutes(1)).ok());
  close(client);
}

TEST(OwnCallTest, NoticesThatEveryThreadThatReadsIsBusy) {
  const auto threads = static_cast<int>(std::max(2U, std::thread::hardware_concurrency()));
  WaitingServer server(10 * threads);
  const auto call = [&server](std::chrono::milliseconds timeout) {
    return CallOwnDoor(server.listener(), server.connections, false, timeout).ok();
  };
  const Callers callers(server.listener().address(), 4 * threads);
  EXPECT_TRUE(Eventually([&] { return !call(std::chrono::milliseconds(200)); }));
  server.Release();
  EXPECT_TRUE(Eventually([&] { return call(std::chrono::milliseconds(200)); }));
}

TEST(OwnCallTest, NoticesThatNobodyAccepts) {
  const auto listener = *Listener::Open("127.0.0.1:0");
  Connections connections{ConnectionLimits{}};
  const absl::Status status = CallOwnDoor(*listener, connections, false, std::chrono::milliseconds(100));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace planwright::server
