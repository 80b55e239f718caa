#include "server/connections/peer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace planwright::server {
namespace {

Peer Ipv4(const char* address, uint16_t port) {
  sockaddr_storage storage{};
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(storage);
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = htons(port);
  inet_pton(AF_INET, address, &ipv4.sin_addr);
  return PeerOf(storage, sizeof ipv4);
}

Peer Ipv6(const char* address, uint16_t port, uint32_t scope = 0) {
  sockaddr_storage storage{};
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(storage);
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(port);
  ipv6.sin6_scope_id = scope;
  inet_pton(AF_INET6, address, &ipv6.sin6_addr);
  return PeerOf(storage, sizeof ipv6);
}

Peer Unix(const std::string& path) {
  sockaddr_storage storage{};
  auto& address = reinterpret_cast<sockaddr_un&>(storage);
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return PeerOf(storage, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size()));
}

TEST(PeerTest, IsSpeltAsGrpcSpellsIt) {
  EXPECT_EQ(Ipv4("10.1.2.3", 3333).name, "ipv4:10.1.2.3:3333");
  EXPECT_EQ(Ipv6("::1", 3333).name, "ipv6:%5B::1%5D:3333");
  EXPECT_EQ(Ipv6("fe80::1", 3333, /*scope=*/4).name, "ipv6:%5Bfe80::1%254%5D:3333");
  EXPECT_EQ(Ipv6("::ffff:10.1.2.3", 3333).name, "ipv4:10.1.2.3:3333");
  EXPECT_EQ(Unix("").name, "unix:");
  EXPECT_EQ(Unix("/tmp/socket").name, "unix:/tmp/socket");
  EXPECT_EQ(Unix(std::string("\0name", 5)).name, "unix-abstract:name");
}

TEST(PeerTest, CountsByAddressAndByNetworkOfIpv6) {
  EXPECT_EQ(Ipv4("10.1.2.3", 1).host, Ipv4("10.1.2.3", 2).host);
  EXPECT_NE(Ipv4("10.1.2.3", 1).host, Ipv4("10.1.2.4", 1).host);
  EXPECT_EQ(Ipv6("2001:db8:1:2::1", 1).host, Ipv6("2001:db8:1:2:3:4:5:6", 2).host);
  EXPECT_NE(Ipv6("2001:db8:1:2::1", 1).host, Ipv6("2001:db8:1:3::1", 1).host);
  EXPECT_EQ(Ipv6("::ffff:10.1.2.3", 1).host, Ipv4("10.1.2.3", 2).host);
  EXPECT_TRUE(Unix("/tmp/socket").is_unix);
  EXPECT_FALSE(Ipv4("10.1.2.3", 1).is_unix);
}

}  // namespace
}  // namespace planwright::server
