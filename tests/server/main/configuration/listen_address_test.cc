#include "server/main/configuration/listen_address.h"

#include <gtest/gtest.h>

namespace planwright::server {
namespace {

TEST(ListenAddressTest, KnowsLoopback) {
  for (const char* address : {"127.0.0.1:1", "127.3.2.1:1", "localhost:1", "[::1]:1", "unix:/tmp/socket"}) {
    EXPECT_TRUE(IsLoopback(address)) << address;
  }
  for (const char* address : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "example.org:1", "127.0.0.1.example.org:1", ":1"}) {
    EXPECT_FALSE(IsLoopback(address)) << address;
  }
}

TEST(ListenAddressTest, NeedsHostAndPort) {
  for (const char* address : {"127.0.0.1:0", "[::1]:65535", "host:50051", "unix:/tmp/socket"}) {
    EXPECT_TRUE(IsListenAddress(address)) << address;
  }
  for (const char* address : {"", "host", ":1", "host:", "host:65536", "host:-1", "host:http"}) {
    EXPECT_FALSE(IsListenAddress(address)) << address;
  }
}

}  // namespace
}  // namespace planwright::server
