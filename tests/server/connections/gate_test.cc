// The gate with real sockets.
#include "server/connections/gate.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace planwright::server {
namespace {

// Waits for what a thread does soon; gives up after a minute.
bool Eventually(const std::function<bool()>& fact) {
  for (int i = 0; i < 6000 && !fact(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return fact();
}

// The other end of a connection to the gate.
class Client {
 public:
  explicit Client(const Listener& listener) {
    const SocketAddress address = listener.OwnAddress();
    file_ = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(file_, address.get(), address.length), 0);
  }
  Client(Client&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  ~Client() {
    if (file_ >= 0) close(file_);
  }

  void Send(std::size_t bytes) const { EXPECT_TRUE(Sends(bytes)); }
  // Whether the other side has taken it.
  bool Sends(std::size_t bytes) const {
    const std::vector<char> content(bytes, 'x');
    return send(file_, content.data(), bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
  }
  // Sends what fits without waiting: who has been ended may wait for a window until the kernel gives up.
  void Offer(std::size_t bytes) const {
    const std::vector<char> content(bytes, 'x');
    static_cast<void>(send(file_, content.data(), bytes, MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  // Whether something comes, which may take a while.
  bool Receives() const {
    char byte = 0;
    return recv(file_, &byte, 1, 0) == 1;
  }
  // Whether the other side has closed or shut down.
  bool IsEnded() const {
    pollfd one{.fd = file_, .events = POLLIN, .revents = 0};
    char byte = 0;
    return poll(&one, 1, 0) == 1 && recv(file_, &byte, 1, MSG_DONTWAIT) <= 0;
  }
  Peer Name() const {
    SocketAddress own;
    getsockname(file_, own.get(), &own.length);
    return PeerOf(own.storage, own.length);
  }

 private:
  int file_ = -1;
};

// A gate whose sockets are kept, read and closed as a server would: as soon as they end.
class Door {
 public:
  explicit Door(const ConnectionLimits& limits, const char* address = "127.0.0.1:0")
      : connections(limits),
        gate_(std::in_place, *Listener::Open(address), connections,
              [this](int file, const SocketAddress& /*peer*/) {
                const std::lock_guard lock(mutex_);
                files_.push_back(file);
              }),
        server_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            CloseEnded();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}
  ~Door() {
    server_.request_stop();
    server_.join();
    gate_.reset();
    for (const int file : files_) close(file);
  }

  Client Connect() const { return Client(gate_->listener()); }
  const Listener& listener() const { return gate_->listener(); }
  std::size_t served() const {
    const std::lock_guard lock(mutex_);
    return files_.size();
  }

  Connections connections;
  // Whether something is sent for what is read.
  std::atomic<bool> answers{true};

 private:
  void CloseEnded() {
    const std::lock_guard lock(mutex_);
    std::erase_if(files_, [this](int file) {
      std::vector<char> content(1 << 16);
      ssize_t count = 0;
      do {
        // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): it does not wait.
        count = recv(file, content.data(), content.size(), MSG_DONTWAIT);
        if (count > 0 && answers) send(file, content.data(), 1, MSG_NOSIGNAL);
      } while (count > 0);
      if (count < 0 && errno == EAGAIN) return false;
      close(file);
      return true;
    });
  }

  mutable std::mutex mutex_;
  std::vector<int> files_;
  std::optional<Gate> gate_;
  std::jthread server_;
};

TEST(GateTest, HandsOverAndNoticesWhatIsClosed) {
  Door door({});
  {
    const Client first = door.Connect();
    const Client second = door.Connect();
    EXPECT_TRUE(Eventually([&] { return door.served() == 2 && door.connections.counts().open == 2; }));
  }
  EXPECT_TRUE(Eventually([&] { return door.connections.sockets() == 0; }));
}

TEST(GateTest, IdleConnectionsMakeRoom) {
  Door door({.connections = 4, .unidentified_per_host = 4});
  std::vector<Client> clients;
  clients.push_back(door.Connect());
  EXPECT_TRUE(Eventually([&] { return door.connections.counts().open == 1; }));
  door.connections.Identified(clients.front().Name().name);
  for (int i = 0; i < 20; ++i) clients.push_back(door.Connect());
  EXPECT_TRUE(Eventually([&] { return door.connections.counts().accepted == 21; }));
  EXPECT_TRUE(Eventually([&] { return clients[1].IsEnded() && clients[17].IsEnded(); }));
  EXPECT_FALSE(clients.front().IsEnded());
  EXPECT_FALSE(clients.back().IsEnded());
  EXPECT_TRUE(Eventually([&] { return door.connections.sockets() == 4; }));
}

// However fast they come, and however many have been closed since.
TEST(GateTest, NobodyGoesForThoseWhoHaveLeft) {
  Door door({.connections = 4, .unidentified_per_host = 4});
  const Client patient = door.Connect();
  EXPECT_TRUE(Eventually([&] { return door.served() == 1; }));
  for (int i = 0; i < 100; ++i) {
    const int64_t accepted = door.connections.counts().accepted;
    {
      const Client hasty = door.Connect();
      EXPECT_TRUE(Eventually([&] { return door.connections.counts().accepted > accepted && door.served() == 2; }));
    }
    EXPECT_TRUE(Eventually([&] { return door.served() == 1; }));
  }
  EXPECT_FALSE(patient.IsEnded());
}

TEST(GateTest, EndsWhoHoldsTooMuch) {
  const Door door({.held_bytes = 1 << 20});
  const Client greedy = door.Connect();
  const Client modest = door.Connect();
  // The rest may come when it has been ended.
  static_cast<void>(greedy.Sends(2 << 20));
  modest.Send(1000);
  EXPECT_TRUE(Eventually([&] { return greedy.IsEnded(); }));
  EXPECT_FALSE(modest.IsEnded());
}

TEST(GateTest, EndsWhoSendsOnWithoutAnAnswer) {
  Door door({.unanswered_held_bytes = 20 << 20});
  const Client silent = door.Connect();
  silent.Send(1);
  EXPECT_TRUE(silent.Receives());
  door.answers = false;
  const auto held = [&door] { return door.connections.counts().ended[static_cast<std::size_t>(EndReason::kHeld)]; };
  EXPECT_TRUE(Eventually([&] {
    silent.Offer(1 << 20);
    return held() == 1;
  }));
  door.answers = true;
  const Client answered = door.Connect();
  for (int i = 0; i < 100; ++i) {
    answered.Send(1 << 20);
    EXPECT_TRUE(answered.Receives());
  }
  EXPECT_EQ(held(), 1);
}

// Reads from a socket for as long as it is open, as gRPC does while something comes.
class Captive {
 public:
  void Read(int file) {
    ++begun_;
    std::vector<char> content(1 << 16);
    while (recv(file, content.data(), content.size(), MSG_DONTWAIT) != 0) std::this_thread::yield();
    close(file);
    ++ended_;
  }
  int begun() const { return begun_; }
  int ended() const { return ended_; }

 private:
  std::atomic<int> begun_{0};
  std::atomic<int> ended_{0};
};

TEST(GateTest, EndsWhoHoldsTooMuchThoughItIsStillBeingHandedOver) {
  Connections connections({.held_bytes = 1 << 20});
  Captive captive;
  const Gate gate(*Listener::Open("127.0.0.1:0"), connections,
                  [&](int file, const SocketAddress& /*peer*/) { captive.Read(file); });
  const Client greedy(gate.listener());
  // The rest may come when it has been ended.
  static_cast<void>(greedy.Sends(2 << 20));
  EXPECT_TRUE(Eventually([&] { return greedy.IsEnded(); }));
}

TEST(GateTest, NobodyIsHandedOverForLongWhileOthersWait) {
  Connections connections({});
  Captive captive;
  std::optional<Gate> gate(std::in_place, *Listener::Open("127.0.0.1:0"), connections,
                           [&](int file, const SocketAddress& /*peer*/) { captive.Read(file); });
  const Client first(gate->listener());
  EXPECT_TRUE(Eventually([&] { return captive.begun() == 1; }));
  const Client second(gate->listener());
  EXPECT_TRUE(Eventually([&] { return captive.begun() == 2; }));
  EXPECT_TRUE(first.IsEnded());
  EXPECT_EQ(captive.ended(), 1);
  // Nobody waits, and the end of the gate does not wait either.
  EXPECT_FALSE(second.IsEnded());
  gate.reset();
  EXPECT_EQ(captive.ended(), 2);
}

TEST(GateTest, EndsTheOldWhereThereIsAnAge) {
  const Door door({.max_age = std::chrono::milliseconds(50)});
  const Client client = door.Connect();
  EXPECT_TRUE(Eventually([&] { return client.IsEnded(); }));
}

TEST(GateTest, GoesOnWhenDescriptorsRunOut) {
  Door door({});
  std::vector<Client> clients;
  clients.push_back(door.Connect());
  EXPECT_TRUE(Eventually([&] { return door.served() == 1; }));
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  clients.push_back(door.Connect());
  EXPECT_TRUE(Eventually([&] { return door.served() == 2; }));
  const Client waiting(door.Connect());
  EXPECT_TRUE(Eventually([&] { return door.served() == 3; }));
  // Sockets of the clients, made before there are no more.
  std::vector<int> unconnected;
  unconnected.reserve(3);
  for (int i = 0; i < 3; ++i) unconnected.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress address = door.listener().OwnAddress();
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  for (const int file : unconnected) EXPECT_EQ(connect(file, address.get(), address.length), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  setrlimit(RLIMIT_NOFILE, &before);
  for (const int file : unconnected) close(file);
  const Client later = door.Connect();
  EXPECT_TRUE(Eventually([&] { return door.served() >= 4; }));
}

TEST(GateTest, TurnsAwayWhomItHasNoDescriptorFor) {
  Door door({});
  std::vector<Client> clients;
  clients.push_back(door.Connect());
  EXPECT_TRUE(Eventually([&] { return door.served() == 1; }));
  const SocketAddress address = door.listener().OwnAddress();
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const std::size_t served = door.served();
  int turned_away = 0;
  for (int round = 0; round < 5; ++round) {
    const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // The lowest that is free: all below are in use, the reserve among them.
    const int free = fcntl(file, F_DUPFD_CLOEXEC, 0);
    close(free);
    const rlimit full{.rlim_cur = static_cast<rlim_t>(free), .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &full), 0);
    const bool is_connected = connect(file, address.get(), address.length) == 0;
    pollfd one{.fd = file, .events = POLLIN, .revents = 0};
    // Somebody else may have taken the reserve and given it back: then it is one to serve with.
    const bool is_done = Eventually([&] { return poll(&one, 1, 0) == 1 || door.served() > served; });
    turned_away += door.served() > served ? 0 : 1;
    // Before anything is printed, which may take a descriptor.
    setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_TRUE(is_connected);
    EXPECT_TRUE(is_done);
    close(file);
    EXPECT_TRUE(Eventually([&] { return door.served() == served; }));
  }
  EXPECT_GT(turned_away, 0);
  const Client later = door.Connect();
  EXPECT_TRUE(Eventually([&] { return door.served() == served + 1; }));
}

TEST(GateTest, ServesUnixSocketsWhoseClientsHaveNoNames) {
  Door door({.connections = 2}, "unix-abstract:planwright-gate-test");
  const Client first = door.Connect();
  const Client second = door.Connect();
  EXPECT_TRUE(Eventually([&] { return door.served() == 2; }));
  EXPECT_EQ(door.connections.counts().identified, 2);
  const Client third = door.Connect();
  EXPECT_TRUE(Eventually([&] { return third.IsEnded(); }));
}

}  // namespace
}  // namespace planwright::server
