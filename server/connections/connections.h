// Which connections there are, who may come in, and who goes when there is no room.
//
// A server's connections are few (descriptors, memory), and before a call says who makes it nobody knows whose they
// are. Connections that have not yet carried an identified call therefore make room for new ones, the oldest of the
// host that has most of them first, so that idle and hostile ones keep nobody out; those of known callers stay.
//
// What a client has sent of a message is in the transport's memory until the message is whole. The kernel knows how
// much each connection has sent, the service how much of it has been delivered to it: the rest is held. Where all
// connections together hold too much, those go that hold most, unidentified before identified ones, stalled before
// moving ones, instead of whoever asks for memory next.
//
// A message cannot come in one go: a window has to be opened again and again (RFC 9113, 5.2), and whoever opens it
// sends something. Headers need no window. A connection that has sent far more than a window since the server last sent
// anything is therefore most likely sending headers without an end, and is known before it holds much; one that has
// sent more than the first windows let in, while the server has sent nothing but its settings, is sending nothing else.
#ifndef PLANWRIGHT_SERVER_CONNECTIONS_CONNECTIONS_H_
#define PLANWRIGHT_SERVER_CONNECTIONS_CONNECTIONS_H_

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/connections/peer.h"

namespace planwright::server {

struct ConnectionLimits {
  // All together; >= 1.
  int connections = 1000;
  // Connections of one host that have not carried an identified call; >= 1.
  int unidentified_per_host = 250;
  // How long a connection may last, whatever it does; zero: for ever.
  std::chrono::nanoseconds max_age{0};
  // Held bytes: of all connections, of one that has not carried an identified call, and of all of those together.
  int64_t held_bytes = std::numeric_limits<int64_t>::max();
  int64_t unidentified_held_bytes = std::numeric_limits<int64_t>::max();
  int64_t all_unidentified_held_bytes = std::numeric_limits<int64_t>::max();
  // Of one whose windows have not been opened beyond the first ones.
  int64_t unopened_held_bytes = std::numeric_limits<int64_t>::max();
  // Of all of those that send on and on without an answer.
  int64_t unanswered_held_bytes = std::numeric_limits<int64_t>::max();
};

// Why a connection was ended: for another one, because its host had too many, because it was too old, because it and
// others held too much.
enum class EndReason { kRoom, kHost, kAge, kHeld };
inline constexpr int kEndReasons = 4;
// "room", "host", "age", "held".
const char* NameOf(EndReason reason);

// A socket in the table of descriptors. Whoever has been given it closes it, and its number is used again: the inode
// tells whether it is still the same.
struct OpenSocket {
  int file = -1;
  ino_t inode = 0;
};

// Thread-safe; opens, looks at and closes no socket itself.
//
// Invariants: (1) at most limits.connections connections are not on their way out, besides expected ones; (2) of each
// host at most limits.unidentified_per_host of those are unidentified; (3) after Update the held bytes of those are
// within the limits, or next to nothing each.
class Connections {
 public:
  using Clock = std::chrono::steady_clock;

  // What there is, and what has happened since the start.
  struct Counts {
    int open = 0;
    int identified = 0;
    int64_t held_bytes = 0;
    int64_t accepted = 0;
    // Bytes of all connections, as far as samples told.
    int64_t received = 0;
    // There was no room, and nobody to make it.
    int64_t refused = 0;
    // By EndReason.
    std::array<int64_t, kEndReasons> ended{};
  };

  struct Traffic {
    int64_t received = 0;
    int64_t sent = 0;
  };

  // A connection as it is now. What is told of it later goes back into Update.
  struct Sample {
    std::string name;
    OpenSocket socket;
    // To be filled in: whether the socket is still the connection's, and all bytes that have come and gone so far;
    // nullopt: the system does not say.
    bool is_open = true;
    std::optional<Traffic> traffic;
  };

  explicit Connections(const ConnectionLimits& limits);

  // Takes in a connection. Those that the answer names are to be ended; false: so is this one. REQUIRES: no other one
  // of that name is open (Forget).
  bool Enter(const Peer& peer, OpenSocket socket, Clock::time_point now, std::vector<OpenSocket>& ended);

  // Whether somebody would have to go for it now. Some of those that are open may have been closed meanwhile (Update).
  bool IsTight(const Peer& peer) const;

  // The socket of the connection of that name, if there is one.
  std::optional<OpenSocket> Find(const std::string& name) const;
  // A connection has been closed.
  void Forget(const std::string& name);

  // A connection of that name will come, has a place beyond the limits and is not counted. Until it has gone.
  void Expect(const std::string& name);

  // The connection has carried a call of a known caller. Names that there are not are ignored, here and below.
  void Identified(std::string_view name);
  // A message of that many bytes has come out of what the connection has sent, or the metadata of a call (0).
  void Delivered(std::string_view name, int64_t bytes);

  // Everything that is open, also what is on its way out. O(n).
  std::vector<Sample> Samples();
  // Takes note of `samples`; returns the connections that are to be ended now. O(n log n).
  std::vector<OpenSocket> Update(const std::vector<Sample>& samples, Clock::time_point now);

  const ConnectionLimits& limits() const { return limits_; }
  // How many sockets there are, those on their way out included.
  int sockets() const;
  // Whether every place is taken by an identified caller.
  bool is_full() const;
  Counts counts() const;

 private:
  struct Entry {
    OpenSocket socket;
    std::string host;
    // In the order in which they came.
    uint64_t number = 0;
    Clock::time_point since;
    bool is_identified = false;
    bool is_expected = false;
    bool is_ending = false;
    Traffic traffic{};
    int64_t held = 0;
    // What had been received when the server was last seen to have sent something.
    int64_t received_at_answer = 0;
    // What had been sent before calls can have said much: the settings, through TLS its handshake.
    int64_t sent_at_first = 0;
    // Bytes of messages, to be taken from what is held: since the last Samples, and before.
    int64_t delivered = 0;
    int64_t delivered_before = 0;
    // Whether enough has come lately, judged from `mark` on.
    Clock::time_point mark;
    int64_t received_at_mark = 0;
    bool is_stalled = false;
  };
  using Entries = std::unordered_map<std::string, Entry>;

  // Connections of one host, in the order in which they came.
  using Queue = std::map<uint64_t, Entries::iterator>;

  bool HostIsFull(const Peer& peer) const;
  void AddUnidentified(Entries::iterator entry);
  void RemoveUnidentified(const Entry& entry);
  // The oldest unidentified connection of a host.
  Entries::iterator Oldest(const std::string& host) const;
  void End(Entries::iterator entry, EndReason reason, std::vector<OpenSocket>& ended);
  void Remove(Entries::iterator entry);
  void Note(Entry& entry, const Traffic& traffic, Clock::time_point now);
  void EndOld(Clock::time_point now, std::vector<OpenSocket>& ended);
  // Connections and what they hold together.
  struct Holders {
    std::vector<Entries::iterator> entries;
    int64_t held = 0;
  };

  // Those that are not on their way out, without expected ones, and fulfil the condition.
  template <typename Condition>
  Holders HoldersWhere(const Condition& condition);
  void EndHolders(std::vector<OpenSocket>& ended);
  // Ends those that hold most until no more than `limit` is held, and returns how much is.
  int64_t EndMost(Holders holders, int64_t limit, std::vector<OpenSocket>& ended);

  const ConnectionLimits limits_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  Entries entries_;
  std::set<std::string> expected_;
  std::map<std::string, Queue> unidentified_;
  // How many each host has there.
  std::set<std::pair<std::size_t, std::string>> hosts_;
  uint64_t last_number_ = 0;
  Counts counts_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CONNECTIONS_CONNECTIONS_H_
