#include "client/webhook/http/tls_stream.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <cerrno>
#include <climits>
#include <new>

namespace planwright::webhook {
namespace {

namespace asio = boost::asio;

int SizeOf(std::size_t bytes) { return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX)); }

}  // namespace

TlsStream::TlsStream(asio::ip::tcp::socket socket, TlsContext context)
    : socket_(std::move(socket)),
      context_(std::move(context)),
      ssl_(SSL_new(context_->native_handle()), SSL_free),
      timer_(socket_.get_executor()) {
  if (ssl_ == nullptr || SSL_set_fd(ssl_.get(), socket_.native_handle()) != 1) throw std::bad_alloc();
  SSL_set_accept_state(ssl_.get());
  // A write may be partial, and goes on from where the caller's buffer is then.
  SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // One message at a time, or a read would go on for as long as a client sends messages that hold no data, and nobody
  // would look at the deadline.
  SSL_clear_mode(ssl_.get(), SSL_MODE_AUTO_RETRY);
  Error error;
  socket_.native_non_blocking(true, error);
  // OpenSSL would block a thread.
  if (error) socket_.close(error);
}

TlsStream::~TlsStream() = default;

void TlsStream::ExpireAt(Clock::time_point time) {
  *deadline_ = {.time = time};
  timer_.expires_at(time);
  timer_.async_wait([this, weak = std::weak_ptr<Deadline>(deadline_)](const Error& error) {
    const auto deadline = weak.lock();
    // The stream is gone, or has another deadline by now.
    if (error || deadline == nullptr || Clock::now() < deadline->time) return;
    deadline->is_over = true;
    Error ignored;
    socket_.cancel(ignored);
  });
}

template <typename Call>
TlsStream::Outcome TlsStream::Try(Call call) {
  if (is_broken_) return {.error = asio::error::not_connected};
  ERR_clear_error();
  errno = 0;
  const int result = call(ssl_.get());
  if (result > 0) return {.bytes = static_cast<std::size_t>(result)};
  const int system_error = errno;
  const int reason = SSL_get_error(ssl_.get(), result);
  if (reason == SSL_ERROR_WANT_READ) return {.wants = Wants::kToRead};
  if (reason == SSL_ERROR_WANT_WRITE) return {.wants = Wants::kToWrite};
  if (reason == SSL_ERROR_ZERO_RETURN) return {.error = asio::error::eof};
  is_broken_ = true;
  if (reason != SSL_ERROR_SYSCALL) {
    return {.error = Error(static_cast<int>(ERR_get_error()), asio::error::get_ssl_category())};
  }
  if (system_error == 0) return {.error = asio::ssl::error::stream_truncated};
  return {.error = Error(system_error, asio::error::get_system_category())};
}

TlsStream::Outcome TlsStream::Handshake() {
  Outcome outcome = Try([](SSL* ssl) { return SSL_do_handshake(ssl); });
  outcome.bytes = 0;
  return outcome;
}

TlsStream::Outcome TlsStream::Read(asio::mutable_buffer buffer) {
  if (buffer.size() == 0) return {};
  return Try([buffer](SSL* ssl) { return SSL_read(ssl, buffer.data(), SizeOf(buffer.size())); });
}

TlsStream::Outcome TlsStream::Write(asio::const_buffer buffer) {
  if (buffer.size() == 0) return {};
  return Try([buffer](SSL* ssl) { return SSL_write(ssl, buffer.data(), SizeOf(buffer.size())); });
}

TlsStream::Outcome TlsStream::Shutdown() {
  Outcome outcome = Try([](SSL* ssl) {
    const int result = SSL_shutdown(ssl);
    // 0: said, but not heard yet.
    return result == 0 ? SSL_shutdown(ssl) : result;
  });
  outcome.bytes = 0;
  return outcome;
}

TlsStream::Outcome TlsStream::ReadRaw(asio::mutable_buffer buffer) {
  const ssize_t count = recv(socket_.native_handle(), buffer.data(), buffer.size(), 0);
  if (count > 0) return {.bytes = static_cast<std::size_t>(count)};
  if (count == 0) return {.error = asio::error::eof};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {.wants = Wants::kToRead};
  return {.error = Error(errno, asio::error::get_system_category())};
}

}  // namespace planwright::webhook
