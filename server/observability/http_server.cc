#include "server/observability/http_server.h"

#include <microhttpd.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace planwright::server {
namespace {

// A connection is closed after so long a silence.
constexpr unsigned int kTimeoutSeconds = 5;
// Head of a request and of its answer.
constexpr size_t kMemoryOfConnection = 8192;

// A request that waits for its answer, until libmicrohttpd is done with it.
struct Waiting {
  MHD_Connection* connection;
  const HttpServer::Handler* handler;
  HttpResponse response = {};
};

MHD_Result Send(MHD_Connection* connection, const HttpResponse& response) {
  MHD_Response* const message = MHD_create_response_from_buffer(
      response.body.size(), const_cast<char*>(response.body.data()), MHD_RESPMEM_MUST_COPY);
  if (message == nullptr) return MHD_NO;
  // Version 0.0.4 is that of the exposition format; it is plain text for everybody else.
  MHD_add_response_header(message, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
  MHD_add_response_header(message, MHD_HTTP_HEADER_CONNECTION, "close");
  const MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned int>(response.code), message);
  MHD_destroy_response(message);
  return queued;
}

// Answers what is not quick, on a thread of its own.
class SlowAnswers {
 public:
  SlowAnswers() : worker_([this](const std::stop_token& stop) { Work(stop); }) {}

  // The connection is suspended until `waiting` has its response. REQUIRES: `waiting` stays until then.
  void Add(Waiting& waiting) {
    const std::lock_guard lock(mutex_);
    MHD_suspend_connection(waiting.connection);
    waiting_.push_back(&waiting);
    arrived_.notify_one();
  }

 private:
  void Work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    // Also those that wait at the end are answered: libmicrohttpd ends with none suspended.
    while (arrived_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
      const std::vector<Waiting*> asking = std::exchange(waiting_, {});
      lock.unlock();
      std::map<const HttpServer::Handler*, HttpResponse> answers;
      for (Waiting* waiting : asking) {
        auto answer = answers.find(waiting->handler);
        if (answer == answers.end()) answer = answers.emplace(waiting->handler, waiting->handler->answer()).first;
        waiting->response = answer->second;
        MHD_resume_connection(waiting->connection);
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any arrived_;
  // Guarded by mutex_.
  std::vector<Waiting*> waiting_;
  // Last: uses the above.
  std::jthread worker_;
};

class MicroHttpServer final : public HttpServer {
 public:
  explicit MicroHttpServer(Handlers handlers) : handlers_(std::move(handlers)), slow_answers_(std::in_place) {
    daemon_ = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr,
        nullptr, &Answer, this, MHD_OPTION_CONNECTION_TIMEOUT, kTimeoutSeconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        kMemoryOfConnection, MHD_OPTION_NOTIFY_COMPLETED, &Forget, nullptr, MHD_OPTION_END);
  }

  ~MicroHttpServer() override {
    {
      // Later ones are refused.
      const std::lock_guard lock(ending_mutex_);
      is_ending_ = true;
    }
    slow_answers_.reset();
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }

  bool is_running() const { return daemon_ != nullptr; }

  void Serve(int file, const sockaddr* peer, socklen_t length) override {
    // Closes the socket where it does not take it.
    MHD_add_connection(daemon_, file, peer, length);
  }

 private:
  // Called when the head of a request has been read, and again for those that have waited.
  static MHD_Result Answer(void* self, MHD_Connection* connection, const char* path, const char* method,
                           const char* /*version*/, const char* /*body*/, size_t* /*body_bytes*/, void** request) {
    return static_cast<MicroHttpServer*>(self)->Answer(connection, path, method, *request);
  }

  MHD_Result Answer(MHD_Connection* connection, std::string_view path, std::string_view method, void*& request) {
    if (request != nullptr) return Send(connection, static_cast<Waiting*>(request)->response);
    if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD) {
      return Send(connection, {405, "only GET and HEAD\n"});
    }
    const auto handler = handlers_.find(std::string(path));
    if (handler == handlers_.end()) return Send(connection, {404, "not found\n"});
    if (handler->second.is_quick) return Send(connection, handler->second.answer());
    const std::lock_guard lock(ending_mutex_);
    if (is_ending_ || !slow_answers_.has_value()) return Send(connection, {503, "the server is shutting down\n"});
    auto* const waiting = new Waiting{.connection = connection, .handler = &handler->second};
    request = waiting;
    slow_answers_->Add(*waiting);
    return MHD_YES;
  }

  static void Forget(void* /*self*/, MHD_Connection* /*connection*/, void** request,
                     MHD_RequestTerminationCode /*why*/) {
    delete static_cast<Waiting*>(*request);
    *request = nullptr;
  }

  const Handlers handlers_;
  std::mutex ending_mutex_;
  // Guarded by ending_mutex_.
  bool is_ending_ = false;
  std::optional<SlowAnswers> slow_answers_;
  // nullptr: did not start.
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(Handlers handlers) {
  auto server = std::make_unique<MicroHttpServer>(std::move(handlers));
  if (!server->is_running()) return absl::UnavailableError("cannot start a thread and an epoll instance for HTTP");
  return server;
}

}  // namespace planwright::server
