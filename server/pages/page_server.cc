#include "server/pages/page_server.h"

#include <microhttpd.h>
#include <netinet/in.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "server/connections/peer.h"

namespace planwright::server {
namespace {

// A connection is closed after so long a silence.
constexpr unsigned int kTimeoutSeconds = 10;
// Head of a request, of its answer, and what is on its way out.
constexpr size_t kMemoryOfConnection = 32768;
// Pages that browsers have not taken yet, all together.
constexpr int64_t kMostUnsentBytes = int64_t{128} << 20;

// A page on its way out, counted until it is sent.
struct UnsentPage {
  std::string html;
  std::atomic<int64_t>& unsent_bytes;

  static void Free(void* self) {
    auto* const page = static_cast<UnsentPage*>(self);
    page->unsent_bytes -= static_cast<int64_t>(page->html.size());
    delete page;
  }
};

// A request that waits for its answer, until libmicrohttpd is done with it.
struct Waiting {
  MHD_Connection* connection;
  PageAnswer answer = {};
};

void AddHeaders(const PageAnswer& answer, MHD_Response* message) {
  const auto add = [&](const char* name, const char* value) { MHD_add_response_header(message, name, value); };
  add(MHD_HTTP_HEADER_CONTENT_TYPE, "text/html; charset=utf-8");
  add(MHD_HTTP_HEADER_CONNECTION, "close");
  // frame-ancestors is for headers only.
  add("Content-Security-Policy", (answer.policy + "; frame-ancestors 'none'").c_str());
  add("X-Content-Type-Options", "nosniff");
  add("Referrer-Policy", "no-referrer");
  add("Cross-Origin-Resource-Policy", "same-origin");
  // Whoever may not see a plan any more does not find it in a cache.
  add(MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  if (answer.retry_after.has_value()) {
    add(MHD_HTTP_HEADER_RETRY_AFTER, std::to_string(answer.retry_after->count()).c_str());
  }
  if (answer.code == MHD_HTTP_METHOD_NOT_ALLOWED) add(MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
}

const char* ValueOf(MHD_Connection* connection, MHD_ValueKind kind, const char* name) {
  return MHD_lookup_connection_value(connection, kind, name);
}

// "unix" for a socket without an address.
std::string PeerText(MHD_Connection* connection) {
  const MHD_ConnectionInfo* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == nullptr || info->client_addr == nullptr) return "";
  sockaddr_storage address{};
  const bool is_ipv6 = info->client_addr->sa_family == AF_INET6;
  if (!is_ipv6 && info->client_addr->sa_family != AF_INET) return "unix";
  const std::size_t size = is_ipv6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::memcpy(&address, info->client_addr, size);
  return PeerOf(address, static_cast<socklen_t>(size)).name;
}

// libmicrohttpd with one identity.
class HttpDaemon {
 public:
  HttpDaemon(const PageServer::Handler& handler, const std::optional<PageTls>& tls, std::atomic<int64_t>& unsent_bytes)
      : handler_(handler), tls_(tls), unsent_bytes_(unsent_bytes) {
    constexpr unsigned int kFlags =
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME;
    std::vector<MHD_OptionItem> options;
    if (tls_.has_value()) {
      const auto add = [&options](MHD_OPTION option, const std::string& value) {
        options.push_back({option, 0, const_cast<char*>(value.c_str())});
      };
      add(MHD_OPTION_HTTPS_MEM_KEY, tls_->private_key);
      add(MHD_OPTION_HTTPS_MEM_CERT, tls_->certificate_chain);
      if (!tls_->client_ca.empty()) add(MHD_OPTION_HTTPS_MEM_TRUST, tls_->client_ca);
      add(MHD_OPTION_HTTPS_PRIORITIES, priorities_);
    }
    options.push_back({MHD_OPTION_END, 0, nullptr});
    daemon_ = MHD_start_daemon(tls_.has_value() ? kFlags | MHD_USE_TLS : kFlags, 0, nullptr, nullptr, &Answer, this,
                               MHD_OPTION_CONNECTION_TIMEOUT, kTimeoutSeconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                               kMemoryOfConnection, MHD_OPTION_NOTIFY_COMPLETED, &Forget, nullptr, MHD_OPTION_ARRAY,
                               options.data(), MHD_OPTION_END);
  }

  ~HttpDaemon() {
    {
      std::unique_lock lock(mutex_);
      is_ending_ = true;
      // libmicrohttpd ends with nobody waiting.
      replied_.wait(lock, [this] { return due_ == 0; });
    }
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }
  HttpDaemon(const HttpDaemon&) = delete;
  HttpDaemon& operator=(const HttpDaemon&) = delete;

  bool is_running() const { return daemon_ != nullptr; }

  void Serve(int file, const sockaddr* peer, socklen_t length) {
    // Closes the socket where it does not take it.
    MHD_add_connection(daemon_, file, peer, length);
  }

 private:
  // Called when the head of a request has been read, and again for those that have waited.
  static MHD_Result Answer(void* self, MHD_Connection* connection, const char* path, const char* method,
                           const char* /*version*/, const char* /*body*/, size_t* /*body_bytes*/, void** request) {
    return static_cast<HttpDaemon*>(self)->Answer(connection, path, method, *request);
  }

  MHD_Result Answer(MHD_Connection* connection, const char* path, std::string_view method, void*& request) {
    if (request != nullptr) return Send(connection, std::move(static_cast<Waiting*>(request)->answer));
    if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD) {
      return Send(connection, Refusal(MHD_HTTP_METHOD_NOT_ALLOWED, "Pages are read by GET and HEAD."));
    }
    {
      const std::lock_guard lock(mutex_);
      if (is_ending_) return Send(connection, Refusal(absl::UnavailableError("the server is shutting down")));
      ++due_;
    }
    auto* const waiting = new Waiting{.connection = connection};
    request = waiting;
    MHD_suspend_connection(connection);
    handler_(RequestOf(connection, path), [this, waiting](PageAnswer answer) {
      waiting->answer = std::move(answer);
      MHD_resume_connection(waiting->connection);
      const std::lock_guard lock(mutex_);
      --due_;
      replied_.notify_all();
    });
    return MHD_YES;
  }

  BrowserRequest RequestOf(MHD_Connection* connection, const char* path) const {
    BrowserRequest request;
    request.path = path;
    if (const char* host = ValueOf(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)) request.host = host;
    if (const char* tenant = ValueOf(connection, MHD_GET_ARGUMENT_KIND, "tenant")) request.stated_tenant = tenant;
    request.peer = PeerText(connection);
    request.is_encrypted = tls_.has_value();
    if (!tls_.has_value() || tls_->client_ca.empty()) return request;
    const MHD_ConnectionInfo* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info == nullptr) {
      request.client = absl::UnauthenticatedError("nothing is known of the client");
    } else {
      request.client = VerifiedCertificate(static_cast<gnutls_session_t>(info->tls_session));
    }
    return request;
  }

  MHD_Result Send(MHD_Connection* connection, PageAnswer answer) {
    if (unsent_bytes_ + static_cast<int64_t>(answer.html.size()) > kMostUnsentBytes) {
      answer = Refusal(absl::UnavailableError("too many pages are being sent: try again in a moment"));
    }
    unsent_bytes_ += static_cast<int64_t>(answer.html.size());
    auto* const page = new UnsentPage{std::move(answer.html), unsent_bytes_};
    MHD_Response* const message = MHD_create_response_from_buffer_with_free_callback_cls(
        page->html.size(), page->html.data(), &UnsentPage::Free, page);
    if (message == nullptr) {
      UnsentPage::Free(page);
      return MHD_NO;
    }
    AddHeaders(answer, message);
    const MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned int>(answer.code), message);
    MHD_destroy_response(message);
    return queued;
  }

  static void Forget(void* /*self*/, MHD_Connection* /*connection*/, void** request,
                     MHD_RequestTerminationCode /*why*/) {
    delete static_cast<Waiting*>(*request);
    *request = nullptr;
  }

  const PageServer::Handler& handler_;
  // libmicrohttpd keeps pointers into it.
  const std::optional<PageTls> tls_;
  const std::string priorities_ = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
  std::atomic<int64_t>& unsent_bytes_;
  std::mutex mutex_;
  std::condition_variable replied_;
  // Guarded by mutex_.
  bool is_ending_ = false;
  int due_ = 0;
  // nullptr: did not start.
  MHD_Daemon* daemon_ = nullptr;
};

class PageServerImpl final : public PageServer {
 public:
  explicit PageServerImpl(Handler handler) : handler_(std::move(handler)) {}

  absl::Status Begin(const std::optional<PageTls>& tls) {
    auto daemon = std::make_unique<HttpDaemon>(handler_, tls, unsent_bytes_);
    if (!daemon->is_running()) {
      if (tls.has_value()) return absl::InvalidArgumentError("GnuTLS does not take the certificate, or its key");
      return absl::UnavailableError("cannot start a thread and an epoll instance for pages");
    }
    {
      const std::lock_guard lock(mutex_);
      std::swap(previous_, current_);
      std::swap(current_, daemon);
    }
    // The one before the previous one, whose connections have had all the time since then.
    daemon.reset();
    return absl::OkStatus();
  }

  void Serve(int file, const sockaddr* peer, socklen_t length) override {
    const std::lock_guard lock(mutex_);
    current_->Serve(file, peer, length);
  }

  absl::Status SetTls(const PageTls& tls) override { return Begin(tls); }

 private:
  const Handler handler_;
  std::atomic<int64_t> unsent_bytes_ = 0;
  std::mutex mutex_;
  // Guarded by mutex_. The previous one goes on with the connections that it has.
  std::unique_ptr<HttpDaemon> previous_;
  std::unique_ptr<HttpDaemon> current_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PageServer>> PageServer::Start(Handler handler, const std::optional<PageTls>& tls) {
  auto server = std::make_unique<PageServerImpl>(std::move(handler));
  RETURN_IF_ERROR(server->Begin(tls));
  return server;
}

}  // namespace planwright::server
