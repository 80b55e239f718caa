#include "server/main/listen_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

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

// Listens on a free port of this machine.
class Listener {
 public:
  Listener() : file_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(file_, reinterpret_cast<const sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(file_, 1), 0);
    EXPECT_EQ(getsockname(file_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
  ~Listener() { close(file_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::string& address() const { return address_; }

 private:
  int file_;
  std::string address_;
};

TEST(ListenAddressTest, NamesWhatStandsInTheWay) {
  for (const char* address : {"127.0.0.1:0", "localhost:0", "unix:/tmp/socket"}) {
    EXPECT_TRUE(CheckCanListen(address).ok()) << address;
  }
  std::string address;
  {
    const Listener listener;
    address = listener.address();
    EXPECT_EQ(CheckCanListen(address).message(), "address already in use: " + address);
  }
  EXPECT_TRUE(CheckCanListen(address).ok());
  // An address for documents: no machine has it.
  EXPECT_EQ(CheckCanListen("192.0.2.1:50051").message(),
            "cannot listen on 192.0.2.1:50051: Cannot assign requested address");
}

TEST(ListenAddressTest, ShowsThePortThatWasBound) {
  EXPECT_EQ(WithPort("127.0.0.1:0", 41), "127.0.0.1:41");
  EXPECT_EQ(WithPort("[::1]:0", 41), "[::1]:41");
  EXPECT_EQ(WithPort("unix:/tmp/socket", 0), "unix:/tmp/socket");
}

}  // namespace
}  // namespace planwright::server
