#include "server/connections/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace planwright::server {
namespace {

using testing::StartsWith;

std::unique_ptr<Listener> Listen(const std::string& address) {
  auto listener = Listener::Open(address);
  EXPECT_TRUE(listener.ok()) << listener.status();
  return listener.ok() ? *std::move(listener) : nullptr;
}

bool CanReach(const Listener& listener) {
  const SocketAddress address = listener.OwnAddress();
  const int file = socket(address.storage.ss_family, SOCK_STREAM, 0);
  const bool can_reach = connect(file, address.get(), address.length) == 0;
  close(file);
  return can_reach;
}

TEST(ListenerTest, TakesAFreePortAndTellsIt) {
  for (const char* host : {"127.0.0.1", "localhost", "0.0.0.0"}) {
    const auto listener = Listen(std::string(host) + ":0");
    ASSERT_NE(listener, nullptr);
    EXPECT_THAT(listener->address(), StartsWith(host));
    EXPECT_NE(listener->address(), std::string(host) + ":0");
    EXPECT_TRUE(CanReach(*listener)) << host;
  }
}

TEST(ListenerTest, SharesNoPortAndLeavesItFree) {
  std::string address;
  {
    const auto listener = Listen("127.0.0.1:0");
    address = listener->address();
    EXPECT_EQ(Listener::Open(address).status().message(), "address already in use: " + address);
  }
  EXPECT_TRUE(Listener::Open(address).ok());
}

TEST(ListenerTest, SaysWhyNot) {
  // An address for documents: no machine has it.
  EXPECT_EQ(Listener::Open("192.0.2.1:50051").status().message(),
            "cannot listen on 192.0.2.1:50051: Cannot assign requested address");
  EXPECT_EQ(Listener::Open("unix:").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Listener::Open("unix:/" + std::string(200, 'a')).status().code(), absl::StatusCode::kUnavailable);
}

TEST(ListenerTest, ReplacesTheSocketFileOfAServerThatIsGoneAndOfNoOther) {
  std::string pattern = std::filesystem::temp_directory_path() / "planwright_listener_XXXXXX";
  const std::filesystem::path folder = mkdtemp(pattern.data());
  const std::string path = folder / "socket";
  {
    const auto first = Listen("unix:" + path);
    EXPECT_TRUE(CanReach(*first));
    EXPECT_EQ(Listener::Open("unix://" + path).status().message(), "address already in use: unix://" + path);
    // Left behind, as by a server that was killed.
    std::filesystem::create_hard_link(path, folder / "left");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(CanReach(*Listen("unix:" + (folder / "left").string())));
  std::ofstream(folder / "file") << "precious";
  EXPECT_FALSE(Listener::Open("unix:" + (folder / "file").string()).ok());
  EXPECT_TRUE(std::filesystem::exists(folder / "file"));
  std::filesystem::remove_all(folder);
}

TEST(ListenerTest, KnowsAbstractUnixSockets) {
  const std::string address = "unix-abstract:planwright-listener-test-" + std::to_string(getpid());
  const auto listener = Listen(address);
  EXPECT_TRUE(CanReach(*listener));
  EXPECT_FALSE(Listener::Open(address).ok());
}

}  // namespace
}  // namespace planwright::server
