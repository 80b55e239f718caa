#include "server/connections/connections.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace planwright::server {
namespace {

// A client that sends less than this in a second is not seen to move: whoever wants to hold memory need not send more.
constexpr int64_t kLeastProgress = int64_t{64} << 10;
constexpr std::chrono::seconds kProgressTime{1};

// gRPC opens windows of 4 MiB at first and of 32 MiB at most, and opens them again when they are half used; with many
// calls at once they add up.
constexpr int64_t kMostWithoutAnswer = int64_t{16} << 20;

// What the server sends before it opens any window beyond its first ones, in the clear: 61 bytes are gRPC's settings,
// its first window, and that it has seen the client's settings. Any other frame has nine bytes at least.
constexpr int64_t kSettingsBytes = 64;
// Through TLS, what has been sent by now is the handshake and the settings, and few calls have had windows opened.
constexpr int64_t kBeforeCalls = int64_t{16} << 10;

// What a connection has sent for one message: the message, the frames around it (9 bytes of HTTP/2 and 22 of TLS in
// 16 KiB), and the metadata of its call. What is left over adds up until the connection holds nothing for a moment.
int64_t BytesOnTheWire(int64_t message) {
  constexpr int64_t kMetadata = 256;
  return message + message / 128 + kMetadata;
}

}  // namespace

const char* NameOf(EndReason reason) {
  switch (reason) {
    case EndReason::kRoom:
      return "room";
    case EndReason::kHost:
      return "host";
    case EndReason::kAge:
      return "age";
    case EndReason::kHeld:
      return "held";
  }
  return "";
}

Connections::Connections(const ConnectionLimits& limits) : limits_(limits) {}

bool Connections::Enter(const Peer& peer, OpenSocket socket, Clock::time_point now, std::vector<OpenSocket>& ended) {
  const std::lock_guard lock(mutex_);
  if (entries_.contains(peer.name)) {
    ++counts_.refused;
    return false;
  }
  const bool is_expected = expected_.erase(peer.name) > 0;
  if (!is_expected && HostIsFull(peer)) End(Oldest(peer.host), EndReason::kHost, ended);
  if (!is_expected && counts_.open >= limits_.connections) {
    if (hosts_.empty()) {
      ++counts_.refused;
      return false;
    }
    End(Oldest(hosts_.rbegin()->second), EndReason::kRoom, ended);
  }
  const auto entry = entries_
                         .emplace(peer.name, Entry{.socket = socket,
                                                   .host = peer.host,
                                                   .number = ++last_number_,
                                                   .since = now,
                                                   .is_identified = peer.is_unix,
                                                   .is_expected = is_expected,
                                                   .mark = now})
                         .first;
  ++counts_.accepted;
  if (is_expected) return true;
  ++counts_.open;
  if (peer.is_unix) {
    ++counts_.identified;
  } else {
    AddUnidentified(entry);
  }
  return true;
}

bool Connections::IsTight(const Peer& peer) const {
  const std::lock_guard lock(mutex_);
  return counts_.open >= limits_.connections || HostIsFull(peer);
}

std::optional<OpenSocket> Connections::Find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(name);
  return entry == entries_.end() ? std::nullopt : std::optional<OpenSocket>(entry->second.socket);
}

void Connections::Forget(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry != entries_.end()) Remove(entry);
}

void Connections::Expect(const std::string& name) {
  const std::lock_guard lock(mutex_);
  // The one that was expected before never came.
  expected_.clear();
  expected_.insert(name);
}

void Connections::Identified(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(std::string(name));
  if (entry == entries_.end()) return;
  Entry& known = entry->second;
  if (known.is_identified || known.is_expected || known.is_ending) return;
  RemoveUnidentified(known);
  known.is_identified = true;
  ++counts_.identified;
}

void Connections::Delivered(std::string_view name, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(std::string(name));
  if (entry != entries_.end()) entry->second.delivered += BytesOnTheWire(bytes);
}

std::vector<Connections::Sample> Connections::Samples() {
  const std::lock_guard lock(mutex_);
  std::vector<Sample> samples;
  samples.reserve(entries_.size());
  for (auto& [name, entry] : entries_) {
    // What has been delivered by now has been received before whoever has the sample looks.
    entry.delivered_before += std::exchange(entry.delivered, 0);
    samples.push_back({.name = name, .socket = entry.socket, .traffic = std::nullopt});
  }
  return samples;
}

std::vector<OpenSocket> Connections::Update(const std::vector<Sample>& samples, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  for (const Sample& sample : samples) {
    const auto entry = entries_.find(sample.name);
    // Another one may have the name by now.
    if (entry == entries_.end() || entry->second.socket.inode != sample.socket.inode) continue;
    if (!sample.is_open) {
      Remove(entry);
    } else if (sample.traffic.has_value()) {
      Note(entry->second, *sample.traffic, now);
    }
  }
  std::vector<OpenSocket> ended;
  EndOld(now, ended);
  EndHolders(ended);
  return ended;
}

int Connections::sockets() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(entries_.size());
}

bool Connections::is_full() const {
  const std::lock_guard lock(mutex_);
  return counts_.identified >= limits_.connections;
}

Connections::Counts Connections::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

bool Connections::HostIsFull(const Peer& peer) const {
  const auto queue = unidentified_.find(peer.host);
  if (peer.is_unix || queue == unidentified_.end()) return false;
  return static_cast<int>(queue->second.size()) >= limits_.unidentified_per_host;
}

void Connections::AddUnidentified(Entries::iterator entry) {
  const std::string& host = entry->second.host;
  Queue& queue = unidentified_[host];
  hosts_.erase({queue.size(), host});
  queue.emplace(entry->second.number, entry);
  hosts_.insert({queue.size(), host});
}

void Connections::RemoveUnidentified(const Entry& entry) {
  const auto queue = unidentified_.find(entry.host);
  hosts_.erase({queue->second.size(), entry.host});
  queue->second.erase(entry.number);
  if (queue->second.empty()) {
    unidentified_.erase(queue);
  } else {
    hosts_.insert({queue->second.size(), entry.host});
  }
}

Connections::Entries::iterator Connections::Oldest(const std::string& host) const {
  return unidentified_.at(host).begin()->second;
}

void Connections::End(Entries::iterator entry, EndReason reason, std::vector<OpenSocket>& ended) {
  Entry& leaving = entry->second;
  if (leaving.is_identified) {
    --counts_.identified;
  } else {
    RemoveUnidentified(leaving);
  }
  leaving.is_ending = true;
  --counts_.open;
  ++counts_.ended[static_cast<std::size_t>(reason)];
  ended.push_back(leaving.socket);
}

void Connections::Remove(Entries::iterator entry) {
  const Entry& gone = entry->second;
  if (!gone.is_ending && !gone.is_expected) {
    --counts_.open;
    if (gone.is_identified) {
      --counts_.identified;
    } else {
      RemoveUnidentified(gone);
    }
  }
  entries_.erase(entry);
}

void Connections::Note(Entry& entry, const Traffic& traffic, Clock::time_point now) {
  const int64_t received = traffic.received - entry.traffic.received;
  counts_.received += received;
  const int64_t held = entry.held + received - std::exchange(entry.delivered_before, 0);
  entry.held = std::max<int64_t>(held, 0);
  if (traffic.sent != entry.traffic.sent) entry.received_at_answer = traffic.received;
  if (traffic.received <= kBeforeCalls) entry.sent_at_first = traffic.sent;
  entry.traffic = traffic;
  if (traffic.received - entry.received_at_mark >= kLeastProgress) {
    entry.is_stalled = false;
  } else if (now - entry.mark < kProgressTime) {
    return;
  } else {
    entry.is_stalled = true;
  }
  entry.mark = now;
  entry.received_at_mark = traffic.received;
}

void Connections::EndOld(Clock::time_point now, std::vector<OpenSocket>& ended) {
  if (limits_.max_age <= std::chrono::nanoseconds::zero()) return;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    const Entry& candidate = entry->second;
    if (candidate.is_ending || candidate.is_expected || now - candidate.since < limits_.max_age) continue;
    End(entry, EndReason::kAge, ended);
  }
}

template <typename Condition>
Connections::Holders Connections::HoldersWhere(const Condition& condition) {
  Holders holders;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    const Entry& candidate = entry->second;
    if (candidate.is_ending || candidate.is_expected || candidate.held == 0 || !condition(candidate)) continue;
    holders.held += candidate.held;
    holders.entries.push_back(entry);
  }
  return holders;
}

void Connections::EndHolders(std::vector<OpenSocket>& ended) {
  const auto is_unidentified = [](const Entry& entry) { return !entry.is_identified; };
  const auto is_large = [&](const Entry& entry) {
    return is_unidentified(entry) && entry.held > limits_.unidentified_held_bytes;
  };
  const auto is_unopened = [&](const Entry& entry) {
    return is_unidentified(entry) && entry.traffic.sent <= std::max(kSettingsBytes, entry.sent_at_first) &&
           entry.held > limits_.unopened_held_bytes;
  };
  const auto is_unanswered = [&](const Entry& entry) {
    return is_unidentified(entry) && entry.traffic.received - entry.received_at_answer > kMostWithoutAnswer;
  };
  for (const Entries::iterator& entry : HoldersWhere(is_large).entries) End(entry, EndReason::kHeld, ended);
  for (const Entries::iterator& entry : HoldersWhere(is_unopened).entries) End(entry, EndReason::kHeld, ended);
  EndMost(HoldersWhere(is_unanswered), limits_.unanswered_held_bytes, ended);
  EndMost(HoldersWhere(is_unidentified), limits_.all_unidentified_held_bytes, ended);
  counts_.held_bytes = EndMost(HoldersWhere([](const Entry&) { return true; }), limits_.held_bytes, ended);
}

int64_t Connections::EndMost(Holders holders, int64_t limit, std::vector<OpenSocket>& ended) {
  if (holders.held <= limit) return holders.held;
  // Who holds next to nothing frees nothing.
  const int64_t least = holders.held / static_cast<int64_t>(2 * holders.entries.size());
  std::erase_if(holders.entries, [least](const auto& entry) { return entry->second.held < least; });
  std::sort(holders.entries.begin(), holders.entries.end(), [](const auto& a, const auto& b) {
    const auto rank = [](const Entry& entry) {
      return std::tuple(entry.is_identified, !entry.is_stalled, -entry.held, entry.number);
    };
    return rank(a->second) < rank(b->second);
  });
  for (const auto& holder : holders.entries) {
    if (holders.held <= limit) break;
    holders.held -= holder->second.held;
    End(holder, EndReason::kHeld, ended);
  }
  return holders.held;
}

}  // namespace planwright::server
