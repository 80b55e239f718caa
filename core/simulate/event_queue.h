// The next event of each of a fixed number of sources.
#ifndef PLANWRIGHT_CORE_SIMULATE_EVENT_QUEUE_H_
#define PLANWRIGHT_CORE_SIMULATE_EVENT_QUEUE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace planwright {

// A tournament tree over the sources: setting a time replays log2(sources) matches, the winner is at the root. Of equal
// times the first source wins, so the order of events does not depend on that of insertion. Not thread-safe.
class EventQueue {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  explicit EventQueue(std::size_t sources)
      : leaves_(std::bit_ceil(std::max<std::size_t>(sources, 1))), times_(leaves_, kNever), winners_(2 * leaves_) {
    for (std::size_t leaf = 0; leaf < leaves_; ++leaf) winners_[leaves_ + leaf] = static_cast<uint32_t>(leaf);
    for (std::size_t node = leaves_ - 1; node > 0; --node) winners_[node] = winners_[2 * node];
  }

  // When `source` has its next event; kNever: it has none.
  void Set(std::size_t source, int64_t time) {
    times_[source] = time;
    for (std::size_t node = (leaves_ + source) / 2; node > 0; node /= 2) {
      const uint32_t left = winners_[2 * node];
      const uint32_t right = winners_[2 * node + 1];
      winners_[node] = times_[right] < times_[left] ? right : left;
    }
  }

  // The source with the earliest event, and its time.
  std::size_t next() const { return winners_[1]; }
  int64_t next_time() const { return times_[next()]; }

 private:
  std::size_t leaves_;
  std::vector<int64_t> times_;
  // [node]: the source with the earliest event below it; node 1 is the root, leaves begin at leaves_.
  std::vector<uint32_t> winners_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SIMULATE_EVENT_QUEUE_H_
