#include "server/connections/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace planwright::server {
namespace {

Peer Ipv4Peer(const in_addr& address, in_port_t port) {
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &address, text.data(), text.size());
  const std::string host = absl::StrCat("ipv4:", text.data());
  return {.name = absl::StrCat(host, ":", ntohs(port)), .host = host};
}

Peer Ipv6Peer(const sockaddr_in6& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr)) {
    in_addr ipv4{};
    std::memcpy(&ipv4, address.sin6_addr.s6_addr + 12, sizeof ipv4);
    return Ipv4Peer(ipv4, address.sin6_port);
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
  // Whoever has one address of a network usually has all of it.
  in6_addr network = address.sin6_addr;
  std::memset(network.s6_addr + 8, 0, 8);
  std::array<char, INET6_ADDRSTRLEN> network_text{};
  inet_ntop(AF_INET6, &network, network_text.data(), network_text.size());
  // Of an address that holds on one link only.
  const std::string scope = address.sin6_scope_id != 0 ? absl::StrCat("%25", address.sin6_scope_id) : "";
  return {.name = absl::StrCat("ipv6:%5B", text.data(), scope, "%5D:", ntohs(address.sin6_port)),
          .host = absl::StrCat("ipv6:", network_text.data(), "/64")};
}

Peer UnixPeer(const sockaddr_un& address, socklen_t length) {
  Peer peer{.name = "unix:", .host = "unix", .is_unix = true};
  const std::size_t size = length - offsetof(sockaddr_un, sun_path);
  if (length <= offsetof(sockaddr_un, sun_path)) return peer;
  const bool is_abstract = address.sun_path[0] == '\0';
  if (is_abstract) {
    peer.name = absl::StrCat("unix-abstract:", std::string(address.sun_path + 1, size - 1));
  } else {
    peer.name = absl::StrCat("unix:", std::string(address.sun_path, strnlen(address.sun_path, size)));
  }
  return peer;
}

}  // namespace

Peer PeerOf(const sockaddr_storage& address, socklen_t length) {
  switch (address.ss_family) {
    case AF_INET: {
      const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
      return Ipv4Peer(ipv4.sin_addr, ipv4.sin_port);
    }
    case AF_INET6:
      return Ipv6Peer(reinterpret_cast<const sockaddr_in6&>(address));
    default:
      return UnixPeer(reinterpret_cast<const sockaddr_un&>(address), length);
  }
}

}  // namespace planwright::server
