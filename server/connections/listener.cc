#include "server/connections/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"

namespace planwright::server {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kAbstract = "unix-abstract:";

absl::Status CannotListen(std::string_view address, const char* reason) {
  return absl::UnavailableError(absl::StrCat("cannot listen on ", ToAbsl(address), ": ", reason));
}

absl::Status CannotListen(std::string_view address, int error) {
  if (error != EADDRINUSE) return CannotListen(address, std::strerror(error));
  return absl::UnavailableError(absl::StrCat("address already in use: ", ToAbsl(address)));
}

in_port_t& PortOf(SocketAddress& address) {
  // At the same place in both families.
  return reinterpret_cast<sockaddr_in&>(address.storage).sin_port;
}

SocketAddress BoundAddress(int file) {
  SocketAddress bound;
  getsockname(file, bound.get(), &bound.length);
  return bound;
}

bool IsWildcard(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(address.storage).sin_addr.s_addr == htonl(INADDR_ANY);
  }
  return address.storage.ss_family == AF_INET6 &&
         IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr);
}

SocketAddress AllAddresses(int family, in_port_t port) {
  SocketAddress all;
  all.storage.ss_family = static_cast<sa_family_t>(family);
  all.length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  PortOf(all) = port;
  return all;
}

SocketAddress Loopback(int family, in_port_t port) {
  SocketAddress loopback = AllAddresses(family, port);
  if (family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(loopback.storage).sin6_addr = in6addr_loopback;
  } else {
    reinterpret_cast<sockaddr_in&>(loopback.storage).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  return loopback;
}

// The addresses of a host; wildcards of one family stand for both.
absl::StatusOr<std::vector<SocketAddress>> Resolve(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  std::string host(address.substr(0, colon));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(host.c_str(), std::string(address.substr(colon + 1)).c_str(), &wanted, &found);
  if (failure != 0) return CannotListen(address, gai_strerror(failure));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> candidates(found, &freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* candidate = found; candidate != nullptr; candidate = candidate->ai_next) {
    SocketAddress& next = addresses.emplace_back();
    std::memcpy(&next.storage, candidate->ai_addr, candidate->ai_addrlen);
    next.length = candidate->ai_addrlen;
  }
  return addresses;
}

bool HasServer(const SocketAddress& address) {
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool has_server = file >= 0 && connect(file, address.get(), address.length) == 0;
  close(file);
  return has_server;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(std::string_view address) {
  std::unique_ptr<Listener> listener(new Listener());
  const bool is_unix = address.starts_with(kUnix) || address.starts_with(kAbstract);
  RETURN_IF_ERROR(is_unix ? listener->OpenUnix(address) : listener->OpenTcp(address));
  return listener;
}

Listener::~Listener() {
  for (const int file : files_) close(file);
  if (!unix_path_.empty()) unlink(unix_path_.c_str());
}

SocketAddress Listener::OwnAddress() const {
  SocketAddress own = BoundAddress(files_.front());
  return IsWildcard(own) ? Loopback(own.storage.ss_family, PortOf(own)) : own;
}

absl::Status Listener::OpenUnix(std::string_view address) {
  const bool is_abstract = address.starts_with(kAbstract);
  std::string path(address.substr(is_abstract ? kAbstract.size() : kUnix.size()));
  if (!is_abstract && path.starts_with("//")) path.erase(0, 2);
  const std::string name = is_abstract ? std::string(1, '\0') + path : path;
  SocketAddress wanted;
  auto& unix_address = reinterpret_cast<sockaddr_un&>(wanted.storage);
  if (path.empty() || name.size() >= sizeof unix_address.sun_path) {
    return CannotListen(address, "the path of a Unix socket has 1 to 107 bytes");
  }
  unix_address.sun_family = AF_UNIX;
  std::memcpy(unix_address.sun_path, name.data(), name.size());
  wanted.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (is_abstract ? 0 : 1));
  if (HasServer(wanted)) return CannotListen(address, EADDRINUSE);
  struct stat left_behind {};
  if (!is_abstract && stat(path.c_str(), &left_behind) == 0 && S_ISSOCK(left_behind.st_mode)) unlink(path.c_str());
  const int error = Add(wanted);
  if (error != 0) return CannotListen(address, error);
  if (!is_abstract) unix_path_ = path;
  address_ = std::string(address);
  return absl::OkStatus();
}

absl::Status Listener::OpenTcp(std::string_view address) {
  ASSIGN_OR_RETURN(std::vector<SocketAddress> candidates, Resolve(address));
  in_port_t port = PortOf(candidates.front());
  const bool any_port = port == 0;
  int error = EADDRNOTAVAIL;
  for (SocketAddress& candidate : candidates) {
    PortOf(candidate) = port;
    // A machine without IPv6 has the other family only.
    const bool both = IsWildcard(candidate) && Add(AllAddresses(AF_INET6, port)) == 0;
    error = both ? 0 : Add(candidate);
    if (error == EADDRINUSE && (!any_port || files_.empty())) return CannotListen(address, error);
    if (error == 0 && port == 0) {
      SocketAddress bound = BoundAddress(files_.back());
      port = PortOf(bound);
    }
    if (both) break;
  }
  if (files_.empty()) return CannotListen(address, error);
  address_ = absl::StrCat(ToAbsl(address.substr(0, address.rfind(':'))), ":", ntohs(port));
  return absl::OkStatus();
}

int Listener::Add(const SocketAddress& address) {
  const int family = address.storage.ss_family;
  const int file = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (file < 0) return errno;
  const int yes = 1;
  const int ipv6_only = IsWildcard(address) ? 0 : 1;
  // Connections of the server before may still be closing.
  if (family != AF_UNIX) setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (family == AF_INET6) setsockopt(file, IPPROTO_IPV6, IPV6_V6ONLY, &ipv6_only, sizeof ipv6_only);
  if (bind(file, address.get(), address.length) == 0 && listen(file, SOMAXCONN) == 0) {
    files_.push_back(file);
    return 0;
  }
  const int error = errno;
  close(file);
  return error;
}

}  // namespace planwright::server
