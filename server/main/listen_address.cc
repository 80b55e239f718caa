#include "server/main/listen_address.h"

#include <arpa/inet.h>

#include "absl/strings/str_cat.h"
#include "core/base/strings.h"

namespace planwright::server {

bool IsLoopback(std::string_view address) {
  if (address.starts_with("unix:") || address.starts_with("unix-abstract:")) return true;
  const std::string host(address.substr(0, address.rfind(':')));
  in_addr ipv4{};
  if (inet_pton(AF_INET, host.c_str(), &ipv4) == 1) return (ntohl(ipv4.s_addr) >> 24U) == 127;
  return host == "localhost" || host == "[::1]";
}

std::string WithPort(std::string_view address, int port) {
  if (address.starts_with("unix")) return std::string(address);
  return absl::StrCat(ToAbsl(address.substr(0, address.rfind(':'))), ":", port);
}

}  // namespace planwright::server
