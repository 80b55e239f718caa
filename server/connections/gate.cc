#include "server/connections/gate.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/thread_cpu_time.h"
#include "server/connections/peer.h"

namespace planwright::server {
namespace {

// How often the gate looks around: so seldom that it spends two hundredths of its time on it, within these bounds. On
// loopback 20 ms are 20 to 40 MB.
constexpr std::chrono::milliseconds kLeastInterval{20};
constexpr std::chrono::milliseconds kGreatestInterval{500};
constexpr int kRest = 50;
// Where somebody would have to go, and while much comes, it spends up to a fifth of its time: to look at a connection
// then takes long, since the kernel has whoever looks take in what has come.
constexpr int kTightRest = 4;
constexpr int64_t kMuch = int64_t{1} << 20;
constexpr std::chrono::milliseconds kLeastBusyInterval{5};
constexpr std::chrono::milliseconds kLongestTurn{50};
// While sockets have to be closed before others can come.
constexpr std::chrono::milliseconds kFullInterval{5};
// While others wait.
constexpr std::chrono::seconds kLongestHandOver{2};
// Connections of one listening socket that are accepted before it is the next one's turn.
constexpr int kAtOnce = 64;

// Whether somebody waits to be accepted, for poll.
std::vector<pollfd> ListeningFiles(const Listener& listener) {
  std::vector<pollfd> waited;
  waited.reserve(listener.files().size() + 1);
  for (const int file : listener.files()) waited.push_back({.fd = file, .events = POLLIN, .revents = 0});
  return waited;
}

int OpenReserve() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

std::optional<ino_t> InodeOf(int file) {
  struct stat status {};
  if (fstat(file, &status) != 0 || !S_ISSOCK(status.st_mode)) return std::nullopt;
  return status.st_ino;
}

bool IsOpen(OpenSocket socket) { return InodeOf(socket.file) == socket.inode; }

// All bytes of both sides so far, without what was sent again; nullopt: not TCP. Linux before 4.19 does not say what
// was sent, but what of it has arrived.
std::optional<Connections::Traffic> TrafficOf(int file) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (getsockopt(file, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  if (length < offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received) return std::nullopt;
  const bool tells_sent = length >= offsetof(tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans;
  const uint64_t sent = tells_sent ? info.tcpi_bytes_sent - info.tcpi_bytes_retrans : info.tcpi_bytes_acked;
  return Connections::Traffic{.received = static_cast<int64_t>(info.tcpi_bytes_received),
                              .sent = static_cast<int64_t>(sent)};
}

// A copy of the descriptor stays the same socket while it is looked at, whatever becomes of the number.
void ShutDown(OpenSocket socket) {
  const int copy = fcntl(socket.file, F_DUPFD_CLOEXEC, 0);
  if (copy >= 0) {
    if (InodeOf(copy) == socket.inode) shutdown(copy, SHUT_RDWR);
    close(copy);
  } else if (errno != EBADF && IsOpen(socket)) {
    // No descriptor left for the copy.
    shutdown(socket.file, SHUT_RDWR);
  }
}

}  // namespace

Gate::Gate(std::unique_ptr<Listener> listener, Connections& connections, HandOver hand_over)
    : listener_(std::move(listener)),
      connections_(connections),
      hand_over_(std::move(hand_over)),
      max_sockets_(connections.limits().connections + std::max(8, connections.limits().connections / 16)),
      reserve_(OpenReserve()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      watcher_([this](const std::stop_token& stop) { WatchUntil(stop); }),
      acceptor_([this](const std::stop_token& stop) { AcceptUntil(stop); }) {}

Gate::~Gate() {
  acceptor_.request_stop();
  {
    const std::lock_guard lock(watch_mutex_);
    is_closing_ = true;
    if (handed_over_.has_value()) ShutDown(*handed_over_);
  }
  const uint64_t one = 1;
  // Always fits.
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
  acceptor_.join();
  watcher_.request_stop();
  watcher_.join();
  close(wake_);
  if (reserve_ >= 0) close(reserve_);
}

void Gate::AcceptUntil(const std::stop_token& stop) {
  std::vector<pollfd> waited = ListeningFiles(*listener_);
  waited.push_back({.fd = wake_, .events = POLLIN, .revents = 0});
  while (!stop.stop_requested()) {
    const bool has_room = connections_.sockets() < max_sockets_;
    // Where there is no room, those who wait are left to the kernel.
    for (pollfd& one : waited) one.events = has_room || one.fd == wake_ ? POLLIN : 0;
    poll(waited.data(), waited.size(), static_cast<int>((has_room ? kGreatestInterval : kFullInterval).count()));
    for (const pollfd& one : waited) {
      if (one.fd == wake_ || (one.revents & POLLIN) == 0) continue;
      for (int i = 0; i < kAtOnce && !Accept(one.fd); ++i) continue;
    }
  }
}

void Gate::WatchUntil(const std::stop_token& stop) {
  std::unique_lock lock(watch_mutex_);
  while (!stop.stop_requested()) {
    const Connections::Clock::time_point next = LookAround();
    EndLongHandOver(Connections::Clock::now());
    watch_.wait_until(lock, stop, next, [] { return false; });
  }
}

bool Gate::Accept(int listening) {
  if (connections_.sockets() >= max_sockets_) return true;
  SocketAddress peer;
  const int file = accept4(listening, peer.get(), &peer.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (file >= 0) {
    // Somebody may have taken its descriptor when it was used.
    if (reserve_ < 0) reserve_ = OpenReserve();
    Admit(file, peer);
    return false;
  }
  if (errno == EMFILE || errno == ENFILE) {
    TurnAway(listening);
    return true;
  }
  // Gone before it was accepted; short of memory: poll tells again.
  return errno != EINTR && errno != ECONNABORTED;
}

void Gate::Admit(int file, const SocketAddress& address) {
  Peer peer = PeerOf(address.storage, address.length);
  if (peer.name == "unix:") peer.name = absl::StrCat("unix:#", ++unnamed_);
  // Nobody goes for those that have been closed already.
  if (connections_.IsTight(peer)) {
    const std::lock_guard lock(watch_mutex_);
    if (Connections::Clock::now() >= next_tight_look_) LookAround();
  }
  const std::optional<ino_t> inode = InodeOf(file);
  const std::optional<OpenSocket> before = connections_.Find(peer.name);
  if (before.has_value() && !IsOpen(*before)) connections_.Forget(peer.name);
  std::vector<OpenSocket> ended;
  const bool is_admitted =
      inode.has_value() && connections_.Enter(peer, {.file = file, .inode = *inode}, Connections::Clock::now(), ended);
  for (const OpenSocket& socket : ended) ShutDown(socket);
  if (!is_admitted) {
    close(file);
    return;
  }
  const int yes = 1;
  if (!peer.is_unix) setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (!BeginHandOver({.file = file, .inode = *inode})) {
    close(file);
    return;
  }
  hand_over_(file, address);
  EndHandOver();
}

bool Gate::BeginHandOver(OpenSocket socket) {
  const std::lock_guard lock(watch_mutex_);
  if (is_closing_) return false;
  handed_over_ = socket;
  handed_over_since_ = Connections::Clock::now();
  return true;
}

void Gate::EndHandOver() {
  const std::lock_guard lock(watch_mutex_);
  handed_over_.reset();
}

void Gate::EndLongHandOver(Connections::Clock::time_point now) {
  if (!handed_over_.has_value() || now - handed_over_since_ < kLongestHandOver) return;
  std::vector<pollfd> waited = ListeningFiles(*listener_);
  if (poll(waited.data(), waited.size(), 0) > 0) ShutDown(*handed_over_);
}

void Gate::TurnAway(int listening) {
  if (reserve_ >= 0) close(reserve_);
  const int file = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  if (file >= 0) close(file);
  reserve_ = OpenReserve();
}

Connections::Clock::time_point Gate::LookAround() {
  const Connections::Clock::time_point start_time = Connections::Clock::now();
  const std::chrono::nanoseconds start = ThreadCpuTime();
  const int64_t received_before = connections_.counts().received;
  std::vector<Connections::Sample> samples = connections_.Samples();
  for (Connections::Sample& sample : samples) {
    sample.traffic = TrafficOf(sample.socket.file);
    // Last: what was read is its own only if it is open still.
    sample.is_open = IsOpen(sample.socket);
  }
  for (const OpenSocket& socket : connections_.Update(samples, Connections::Clock::now())) ShutDown(socket);
  // While others had the processor, connections went on sending: that time counts as rest.
  const std::chrono::nanoseconds taken = ThreadCpuTime() - start;
  const Connections::Clock::time_point end = Connections::Clock::now();
  next_tight_look_ = end + kTightRest * taken;
  if (connections_.sockets() >= max_sockets_) return end + kFullInterval;
  const bool is_busy = connections_.counts().received - received_before > kMuch;
  // But whoever waits to admit somebody has its turn, as long as the look took, up to a limit.
  const Connections::Clock::duration turn = std::min<Connections::Clock::duration>(end - start_time, kLongestTurn);
  const Connections::Clock::duration rest =
      std::max<Connections::Clock::duration>((is_busy ? kTightRest : kRest) * taken, turn);
  return end + std::clamp<Connections::Clock::duration>(rest, is_busy ? kLeastBusyInterval : kLeastInterval,
                                                        kGreatestInterval);
}

}  // namespace planwright::server
