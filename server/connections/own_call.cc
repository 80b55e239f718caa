#include "server/connections/own_call.h"

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/connections/peer.h"

namespace planwright::server {
namespace {

using Clock = std::chrono::steady_clock;

// A descriptor that is closed at the end.
class File {
 public:
  explicit File(int file) : file_(file) {}
  ~File() {
    if (file_ >= 0) close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

absl::Status Failed(const char* step) {
  return absl::UnavailableError(absl::StrCat("cannot call the own listener: ", step, ": ", std::strerror(errno)));
}

// The preface of HTTP/2 with an empty SETTINGS frame, and what acknowledges that (RFC 9113, 3.4 and 6.5). A server's
// own preface comes before it has read anything.
constexpr std::string_view kHttp2Greeting("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
constexpr std::string_view kHttp2Answer("\0\0\0\4\1\0\0\0\0", 9);

// The first message of a handshake with a server that speaks HTTP/2; empty where OpenSSL fails.
std::string TlsGreeting() {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  if (context == nullptr) return "";
  const std::unique_ptr<SSL, decltype(&SSL_free)> handshake(SSL_new(context.get()), &SSL_free);
  if (handshake == nullptr) return "";
  BIO* const incoming = BIO_new(BIO_s_mem());
  BIO* const outgoing = BIO_new(BIO_s_mem());
  // Takes both over.
  SSL_set_bio(handshake.get(), incoming, outgoing);
  constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};
  SSL_set_alpn_protos(handshake.get(), kHttp2.data(), kHttp2.size());
  // Wants to read what has not come: all that is needed is what it wrote.
  SSL_connect(handshake.get());
  std::string greeting(BIO_ctrl_pending(outgoing), '\0');
  BIO_read(outgoing, greeting.data(), static_cast<int>(greeting.size()));
  return greeting;
}

// Where a connection from this machine to `target` comes from, with a port or a name of its own to be chosen.
SocketAddress SourceFor(const SocketAddress& target) {
  SocketAddress source = target;
  if (target.storage.ss_family == AF_UNIX) {
    // Linux chooses a name.
    source.length = sizeof(sa_family_t);
  } else {
    // At the same place in both families.
    reinterpret_cast<sockaddr_in&>(source.storage).sin_port = 0;
  }
  return source;
}

// Waits until the socket can be read or written (`event`).
absl::Status Wait(int file, int16_t event, Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
  pollfd one{.fd = file, .events = event, .revents = 0};
  const int ready = left.count() > 0 ? poll(&one, 1, static_cast<int>(left.count())) : 0;
  if (ready > 0) return absl::OkStatus();
  if (ready < 0) return Failed("wait");
  return absl::DeadlineExceededError("the own listener does not answer");
}

absl::Status Connect(int file, const SocketAddress& target, Connections& connections) {
  const SocketAddress source = SourceFor(target);
  if (bind(file, source.get(), source.length) != 0) return Failed("bind");
  SocketAddress own;
  if (getsockname(file, own.get(), &own.length) != 0) return Failed("getsockname");
  connections.Expect(PeerOf(own.storage, own.length).name);
  if (connect(file, target.get(), target.length) != 0 && errno != EINPROGRESS) return Failed("connect");
  return absl::OkStatus();
}

// Waits for some bytes that contain `answer`.
absl::Status AwaitAnswer(int file, std::string_view answer, Clock::time_point end) {
  std::string received;
  std::array<char, 1024> next{};
  while (received.empty() || received.find(answer) == std::string::npos) {
    RETURN_IF_ERROR(Wait(file, POLLIN, end));
    const ssize_t count = recv(file, next.data(), next.size(), 0);
    if (count == 0) return absl::UnavailableError("cannot call the own listener: it closes connections");
    if (count < 0) return Failed("recv");
    received.append(next.data(), static_cast<std::size_t>(count));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CallOwnDoor(const Listener& listener, Connections& connections, bool tls,
                         std::chrono::milliseconds timeout) {
  const Clock::time_point end = Clock::now() + timeout;
  const SocketAddress target = listener.OwnAddress();
  const File file(socket(target.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (file.get() < 0) return Failed("socket");
  RETURN_IF_ERROR(Connect(file.get(), target, connections));
  RETURN_IF_ERROR(Wait(file.get(), POLLOUT, end));
  const std::string greeting = tls ? TlsGreeting() : std::string(kHttp2Greeting);
  if (greeting.empty()) return absl::UnavailableError("cannot call the own listener: OpenSSL begins no handshake");
  if (send(file.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL) < 0) return Failed("send");
  return AwaitAnswer(file.get(), tls ? std::string_view() : kHttp2Answer, end);
}

}  // namespace planwright::server
