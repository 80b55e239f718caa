#include "client/webhook/http/https_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/webhook/http/connection.h"

namespace planwright::webhook {
namespace {

namespace asio = boost::asio;
using Acceptor = asio::ip::tcp::acceptor;

constexpr int kThreads = 2;

class HttpsServerImpl final : public HttpsServer {
 public:
  HttpsServerImpl(std::unique_ptr<server::Listener> listener, const HttpsLimits& limits, TlsContext tls,
                  Handler handler, HttpsObserver observer)
      : listener_(std::move(listener)), tls_(std::move(tls)), services_(limits) {
    services_.handler = std::move(handler);
    services_.observer = std::move(observer);
  }

  ~HttpsServerImpl() override {
    context_.stop();
    threads_.clear();
  }

  absl::Status Begin() {
    for (const int file : listener_->files()) {
      server::SocketAddress address;
      if (getsockname(file, address.get(), &address.length) != 0 ||
          (address.storage.ss_family != AF_INET && address.storage.ss_family != AF_INET6)) {
        return absl::InvalidArgumentError("--listen_address: must be HOST:PORT");
      }
      auto acceptor = std::make_unique<Acceptor>(accepting_);
      boost::system::error_code error;
      acceptor->assign(address.storage.ss_family == AF_INET ? asio::ip::tcp::v4() : asio::ip::tcp::v6(), dup(file),
                       error);
      if (error) return absl::UnavailableError(absl::StrCat("--listen_address: ", error.message()));
      asio::co_spawn(accepting_, Accept(*acceptor), asio::detached);
      acceptors_.push_back(std::move(acceptor));
    }
    for (int i = 0; i < kThreads; ++i) {
      threads_.emplace_back([this] { context_.run(); });
    }
    return absl::OkStatus();
  }

  void SetTls(TlsContext tls) override {
    const std::lock_guard lock(mutex_);
    tls_ = std::move(tls);
  }

  int connections() const override { return connections_; }
  int64_t body_bytes() const override { return services_.bodies.bytes(); }

  void AnnounceEnd() override { services_.is_ending = true; }

  void Drain() override {
    services_.is_ending = true;
    services_.is_draining = true;
    asio::post(accepting_, [this] {
      boost::system::error_code ignored;
      for (const auto& acceptor : acceptors_) acceptor->close(ignored);
    });
    const auto end = std::chrono::steady_clock::now() + services_.limits.deadline;
    while (services_.in_flight > 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

 private:
  TlsContext tls() {
    const std::lock_guard lock(mutex_);
    return tls_;
  }

  // Until the acceptor is closed. Goes on when descriptors have run out.
  asio::awaitable<void> Accept(Acceptor& acceptor) {
    asio::steady_timer pause(accepting_);
    while (acceptor.is_open()) {
      boost::system::error_code error;
      asio::ip::tcp::socket socket =
          co_await acceptor.async_accept(asio::make_strand(context_), asio::redirect_error(asio::use_awaitable, error));
      if (error) {
        pause.expires_after(std::chrono::milliseconds(50));
        boost::system::error_code ignored;
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        continue;
      }
      if (connections_ >= services_.limits.max_connections) continue;
      const auto peer = socket.remote_endpoint(error);
      if (error) continue;
      socket.set_option(asio::ip::tcp::no_delay(true), error);
      const auto strand = socket.get_executor();
      asio::co_spawn(strand, Counted(std::move(socket), peer.address()), asio::detached);
    }
  }

  // What is thrown where memory runs out ends this connection alone: asio::detached drops it.
  asio::awaitable<void> Counted(asio::ip::tcp::socket socket, asio::ip::address peer) {
    const Place place(*this, std::move(peer));
    if (place.is_free()) co_await ServeConnection(std::move(socket), tls(), services_);
  }

  // One of the connections, and of those of its address.
  class Place {
   public:
    Place(HttpsServerImpl& server, asio::ip::address peer) : server_(server), peer_(std::move(peer)) {
      const std::lock_guard lock(server_.mutex_);
      is_free_ = ++server_.by_address_[peer_] <= std::max(1, server_.services_.limits.max_connections / 4);
      ++server_.connections_;
    }
    ~Place() {
      --server_.connections_;
      const std::lock_guard lock(server_.mutex_);
      const auto own = server_.by_address_.find(peer_);
      if (--own->second == 0) server_.by_address_.erase(own);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    bool is_free() const { return is_free_; }

   private:
    HttpsServerImpl& server_;
    const asio::ip::address peer_;
    bool is_free_ = false;
  };

  const std::unique_ptr<server::Listener> listener_;
  std::mutex mutex_;
  // Guarded by mutex_.
  TlsContext tls_;
  std::map<asio::ip::address, int> by_address_;
  ConnectionServices services_;
  std::atomic<int> connections_ = 0;
  asio::io_context context_;
  // For all that is done to the acceptors.
  asio::strand<asio::io_context::executor_type> accepting_{context_.get_executor()};
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  // Last: use the above.
  std::vector<std::jthread> threads_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpsServer>> HttpsServer::Start(std::unique_ptr<server::Listener> listener,
                                                                const HttpsLimits& limits, TlsContext tls,
                                                                Handler handler, HttpsObserver observer) {
  auto https = std::make_unique<HttpsServerImpl>(std::move(listener), limits, std::move(tls), std::move(handler),
                                                 std::move(observer));
  const absl::Status begun = https->Begin();
  if (!begun.ok()) return begun;
  return https;
}

}  // namespace planwright::webhook
