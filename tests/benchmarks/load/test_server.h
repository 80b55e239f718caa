// The real server in the process of a benchmark, with authentication and access log, and the echo beside it.
#ifndef PLANWRIGHT_TESTS_BENCHMARKS_LOAD_TEST_SERVER_H_
#define PLANWRIGHT_TESTS_BENCHMARKS_LOAD_TEST_SERVER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "echo.grpc.pb.h"
#include "server/main/daemon.h"

namespace planwright::benchmarks {

// Answers typed messages with typed messages and does nothing else.
class EchoServer final : public EchoService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const EchoRequest* request,
                                 EchoResponse* response) override;
  grpc::ServerUnaryReactor* EchoPlanRequest(grpc::CallbackServerContext* context, const v1::CreatePlanRequest* request,
                                            v1::CreatePlanRequest* response) override;
};

// A new empty folder, removed with all that is in it.
class TemporaryFolder {
 public:
  // Throws std::runtime_error where it cannot be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  // A store in it, as OpenStore takes it.
  std::string SqliteStore() const { return "sqlite:" + path_ + "/planwright.db"; }

 private:
  std::string path_;
};

struct ServerSize {
  int max_running = 2;
  int max_waiting = 8;
  int64_t memory_budget_bytes = int64_t{2} << 30;
  int64_t max_message_bytes = int64_t{64} << 20;
  // As OpenStore takes it.
  std::string store = "none";
};

// Serves on a free port of this machine until it is destroyed. Its log is formatted and written to /dev/null.
class TestServer {
 public:
  // Throws std::runtime_error where the server does not start.
  explicit TestServer(const ServerSize& size);
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  std::string address();
  // Of a caller who may plan.
  static std::string token() { return "benchmark-token"; }

 private:
  void Take(const std::string& line);

  TemporaryFolder folder_;
  int log_file_;
  server::Logger log_;
  EchoServer echo_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::string address_;
  // Last: uses the above.
  std::unique_ptr<server::Daemon> daemon_;
};

}  // namespace planwright::benchmarks

#endif  // PLANWRIGHT_TESTS_BENCHMARKS_LOAD_TEST_SERVER_H_
