#include "tests/benchmarks/load/test_server.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

#include "absl/strings/escaping.h"
#include "server/serving/admission/resources.h"
#include "server/serving/callers/auth_config.h"

namespace planwright::benchmarks {
namespace {

// A file that lets the benchmark's token in; returns its name.
std::string WriteAuthConfig(const std::string& folder) {
  const server::Sha256 digest = server::Sha256Of(TestServer::token());
  const nlohmann::json token = {{"name", "benchmark"},
                                {"role", "planner"},
                                {"sha256", absl::BytesToHexString(std::string(digest.begin(), digest.end()))}};
  const std::string file = folder + "/auth.json";
  std::ofstream(file) << nlohmann::json{{"tokens", {token}}};
  return file;
}

server::Configuration ConfigurationOf(const ServerSize& size, const std::string& folder) {
  server::Configuration configuration;
  configuration.listen_address = "127.0.0.1:0";
  configuration.store = size.store;
  configuration.connections.max_age = std::chrono::minutes(30);
  configuration.connections.keepalive_time = std::chrono::minutes(5);
  configuration.drain_timeout = std::chrono::milliseconds(1);
  configuration.slow_search = std::chrono::hours(1);
  configuration.log_format = server::LogFormat::kJson;
  configuration.secret_files.auth_config = WriteAuthConfig(folder);
  configuration.engine.version = "benchmark";
  configuration.engine.cpus = server::AvailableCpus();
  configuration.engine.max_running = size.max_running;
  configuration.engine.max_waiting = size.max_waiting;
  configuration.engine.memory_budget_bytes = size.memory_budget_bytes;
  configuration.engine.max_message_bytes = size.max_message_bytes;
  configuration.engine.cache_bytes = int64_t{128} << 20;
  return configuration;
}

}  // namespace

TemporaryFolder::TemporaryFolder() : path_(std::filesystem::temp_directory_path() / "planwright_load_XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make a folder");
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path_); }

grpc::ServerUnaryReactor* EchoServer::Echo(grpc::CallbackServerContext* context, const EchoRequest* request,
                                           EchoResponse* response) {
  response->mutable_payload()->resize(static_cast<std::size_t>(request->reply_bytes()), 'x');
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* EchoServer::EchoPlanRequest(grpc::CallbackServerContext* context,
                                                      const v1::CreatePlanRequest* request,
                                                      v1::CreatePlanRequest* response) {
  *response = *request;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

TestServer::TestServer(const ServerSize& size)
    : log_file_(open("/dev/null", O_WRONLY | O_CLOEXEC)),
      log_(server::LogFormat::kJson, [this](const std::string& line) { Take(line); }) {
  const std::array<grpc::Service*, 1> others = {&echo_};
  auto daemon = server::Daemon::Start(ConfigurationOf(size, folder_.path()), log_, others);
  if (!daemon.ok()) throw std::runtime_error(daemon.status().ToString());
  daemon_ = *std::move(daemon);
}

TestServer::~TestServer() {
  daemon_.reset();
  close(log_file_);
}

std::string TestServer::address() {
  const std::lock_guard lock(mutex_);
  return address_;
}

void TestServer::Take(const std::string& line) {
  // One system call a line, as the server makes.
  [[maybe_unused]] const ssize_t written = write(log_file_, line.data(), line.size());
  const std::lock_guard lock(mutex_);
  if (!address_.empty()) return;
  const nlohmann::json record = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (record.is_object() && record.value("message", "") == "serving grpc") address_ = record.value("address", "");
}

}  // namespace planwright::benchmarks
