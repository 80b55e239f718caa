// Sockets that listen at an address.
#ifndef PLANWRIGHT_SERVER_CONNECTIONS_LISTENER_H_
#define PLANWRIGHT_SERVER_CONNECTIONS_LISTENER_H_

#include <sys/socket.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace planwright::server {

// A socket's address of any family.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// Listens from Open until it is destroyed. A port is shared with nobody; one whose last server has just ended is taken.
class Listener {
 public:
  // `address`: "127.0.0.1:50051", "[::1]:0" (a free port), "localhost:50051" (every address of that name),
  // "unix:PATH", "unix:///PATH", "unix-abstract:NAME". "0.0.0.0" and "[::]" are both all addresses of both families. A
  // file that a Unix socket has left behind is replaced.
  // Errors: UNAVAILABLE, "address already in use: 127.0.0.1:50051" or why else not.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(std::string_view address);

  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Descriptors of sockets that listen, non-blocking; at least one.
  const std::vector<int>& files() const { return files_; }
  // The address with the port that was bound.
  const std::string& address() const { return address_; }
  // The address at which one of this machine reaches the first of them.
  SocketAddress OwnAddress() const;

 private:
  Listener() = default;

  absl::Status OpenUnix(std::string_view address);
  absl::Status OpenTcp(std::string_view address);
  // Binds and listens. 0, or why not: an errno.
  int Add(const SocketAddress& address);

  std::vector<int> files_;
  std::string address_;
  // The file of a Unix socket, removed at the end; empty: none.
  std::string unix_path_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CONNECTIONS_LISTENER_H_
