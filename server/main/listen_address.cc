#include "server/main/listen_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/strings.h"

namespace planwright::server {

namespace {

bool IsUnixSocket(std::string_view address) {
  return address.starts_with("unix:") || address.starts_with("unix-abstract:");
}

// 0, or why not: an errno.
int TryToBind(const addrinfo& candidate) {
  const int file = socket(candidate.ai_family, candidate.ai_socktype, candidate.ai_protocol);
  if (file < 0) return errno;
  // As servers do: connections of the one before may still be closing.
  const int reuse = 1;
  setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  const int error = bind(file, candidate.ai_addr, candidate.ai_addrlen) == 0 ? 0 : errno;
  close(file);
  return error;
}

absl::Status CannotListen(std::string_view address, const char* reason) {
  return absl::UnavailableError(absl::StrCat("cannot listen on ", ToAbsl(address), ": ", reason));
}

}  // namespace

absl::Status CheckCanListen(std::string_view address) {
  if (IsUnixSocket(address)) return absl::OkStatus();
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
  int error = EADDRNOTAVAIL;
  for (const addrinfo* candidate = found; candidate != nullptr; candidate = candidate->ai_next) {
    error = TryToBind(*candidate);
    if (error == 0) return absl::OkStatus();
  }
  if (error != EADDRINUSE) return CannotListen(address, std::strerror(error));
  return absl::UnavailableError(absl::StrCat("address already in use: ", ToAbsl(address)));
}

bool IsListenAddress(std::string_view address) {
  if (IsUnixSocket(address)) return true;
  const std::size_t colon = address.rfind(':');
  int port = 0;
  return colon != std::string_view::npos && colon > 0 && absl::SimpleAtoi(ToAbsl(address.substr(colon + 1)), &port) &&
         port >= 0 && port <= 65535;
}

bool IsLoopback(std::string_view address) {
  if (IsUnixSocket(address)) return true;
  const std::string host(address.substr(0, address.rfind(':')));
  in_addr ipv4{};
  if (inet_pton(AF_INET, host.c_str(), &ipv4) == 1) return (ntohl(ipv4.s_addr) >> 24U) == 127;
  return host == "localhost" || host == "[::1]";
}

std::string WithPort(std::string_view address, int port) {
  if (IsUnixSocket(address)) return std::string(address);
  return absl::StrCat(ToAbsl(address.substr(0, address.rfind(':'))), ":", port);
}

}  // namespace planwright::server
