#include "server/main/configuration/listen_address.h"

#include <arpa/inet.h>

#include <cstddef>
#include <string>

#include "absl/strings/numbers.h"
#include "core/base/strings.h"

namespace planwright::server {

namespace {

bool IsUnixSocket(std::string_view address) {
  return address.starts_with("unix:") || address.starts_with("unix-abstract:");
}

}  // namespace

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

}  // namespace planwright::server
