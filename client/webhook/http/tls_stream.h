// The server's side of a TLS connection, for connections that are many and mostly silent.
//
// boost::asio::ssl::stream holds 68 KiB of buffers for as long as it lives. Here OpenSSL reads from the socket itself
// and, told to release its buffers (tls_context.h), keeps none while nothing is on its way.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_HTTP_TLS_STREAM_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_HTTP_TLS_STREAM_H_

#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <chrono>
#include <cstddef>
#include <memory>

#include "client/webhook/http/tls_context.h"

namespace planwright::webhook {

// An AsyncReadStream and AsyncWriteStream of Asio, with a deadline. All is called on the executor of the socket, one
// operation at a time; the stream outlives its operations. The process ignores SIGPIPE.
class TlsStream {
 public:
  using Clock = std::chrono::steady_clock;
  using Error = boost::system::error_code;
  using executor_type = boost::asio::ip::tcp::socket::executor_type;

  // Throws std::bad_alloc.
  TlsStream(boost::asio::ip::tcp::socket socket, TlsContext context);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  executor_type get_executor() { return socket_.get_executor(); }
  boost::asio::ip::tcp::socket& socket() { return socket_; }

  // When this operation and later ones end with an error.
  void ExpireAt(Clock::time_point time);
  bool is_expired() const { return deadline_->is_over; }

  // Completes with (Error, 0).
  template <typename Token>
  auto async_handshake(Token&& token) {
    return Begin([this] { return Handshake(); }, token);
  }

  // Completes with (Error, bytes): at least one, and asio::error::eof at the end that the client has announced.
  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    const auto buffer = FirstOf<boost::asio::mutable_buffer>(buffers);
    return Begin([this, buffer] { return Read(buffer); }, token);
  }

  // Completes with (Error, bytes). Writes of the first of the buffers only.
  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    const auto buffer = FirstOf<boost::asio::const_buffer>(buffers);
    return Begin([this, buffer] { return Write(buffer); }, token);
  }

  // Tells the client that this is the end, and waits for it to say the same. Completes with (Error, 0).
  template <typename Token>
  auto async_shutdown(Token&& token) {
    return Begin([this] { return Shutdown(); }, token);
  }

  // As async_read_some, of what comes on the socket, without a look at what it says.
  template <typename Token>
  auto async_read_raw(boost::asio::mutable_buffer buffer, Token&& token) {
    return Begin([this, buffer] { return ReadRaw(buffer); }, token);
  }

 private:
  enum class Wants { kNothing, kToRead, kToWrite };

  // Where one attempt has led.
  struct Outcome {
    Wants wants = Wants::kNothing;
    // The following only where nothing is wanted.
    Error error = {};
    std::size_t bytes = 0;
  };

  struct Deadline {
    Clock::time_point time = Clock::time_point::max();
    bool is_over = false;
  };

  // Attempts until nothing is wanted.
  template <typename Attempt>
  class Operation {
   public:
    Operation(TlsStream& stream, Attempt attempt) : stream_(stream), attempt_(attempt) {}

    template <typename Self>
    void operator()(Self& self, Error error = {}) {
      if (is_done_) return self.complete(outcome_.error, outcome_.bytes);
      if (!error && stream_.deadline_->is_over) error = boost::asio::error::timed_out;
      outcome_ = error ? Outcome{.error = error} : attempt_();
      if (outcome_.wants != Wants::kNothing) {
        was_suspended_ = true;
        const auto readiness = outcome_.wants == Wants::kToRead ? boost::asio::socket_base::wait_read
                                                                : boost::asio::socket_base::wait_write;
        return stream_.socket_.async_wait(readiness, std::move(self));
      }
      if (was_suspended_) return self.complete(outcome_.error, outcome_.bytes);
      // Handlers are not called by the function that begins.
      is_done_ = true;
      boost::asio::post(stream_.get_executor(), std::move(self));
    }

   private:
    TlsStream& stream_;
    Attempt attempt_;
    Outcome outcome_;
    bool was_suspended_ = false;
    bool is_done_ = false;
  };

  template <typename Attempt, typename Token>
  auto Begin(Attempt attempt, Token& token) {
    return boost::asio::async_compose<Token, void(Error, std::size_t)>(Operation<Attempt>(*this, attempt), token,
                                                                       socket_);
  }

  // The first one that is not empty.
  template <typename Buffer, typename Buffers>
  static Buffer FirstOf(const Buffers& buffers) {
    for (const Buffer buffer : boost::beast::buffers_range_ref(buffers)) {
      if (buffer.size() > 0) return buffer;
    }
    return {};
  }

  Outcome Handshake();
  Outcome Read(boost::asio::mutable_buffer buffer);
  Outcome Write(boost::asio::const_buffer buffer);
  Outcome Shutdown();
  Outcome ReadRaw(boost::asio::mutable_buffer buffer);
  // What `call` of a function of OpenSSL leads to; bytes are its result where that is positive.
  template <typename Call>
  Outcome Try(Call call);

  boost::asio::ip::tcp::socket socket_;
  // Lives as long as what is made of it.
  const TlsContext context_;
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  // OpenSSL has said that nothing more can be done.
  bool is_broken_ = false;
  // Shared with waits of the timer, which may end after the stream.
  const std::shared_ptr<Deadline> deadline_ = std::make_shared<Deadline>();
  boost::asio::steady_timer timer_;
};

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_HTTP_TLS_STREAM_H_
