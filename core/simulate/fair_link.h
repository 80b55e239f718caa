// A link whose transfers share its bandwidth equally.
//
// With n transfers under way each proceeds at 1/n of the speed of the link. The virtual time of the link advances at
// that rate, so a transfer that would take d alone ends when virtual time has advanced by d since its start, whatever
// joins or leaves meanwhile: the next end is the least of a heap, and arrivals and departures cost O(log n) instead of
// a scan. (The idea of virtual time: Zhang, Virtual Clock, 1990; Parekh, Gallager, generalized processor sharing,
// 1993.) Virtual time is whole picoseconds; what a division leaves over is carried on, so that an end is late or early
// by less than a picosecond for each transfer that came or went, and exact for a transfer that has the link to itself.
#ifndef PLANWRIGHT_CORE_SIMULATE_FAIR_LINK_H_
#define PLANWRIGHT_CORE_SIMULATE_FAIR_LINK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace planwright {

// Times are picoseconds. Not thread-safe.
class FairLink {
 public:
  // `transfer` begins at `now` and would take `duration` alone. REQUIRES: now is not before an earlier call's.
  void Begin(int32_t transfer, int64_t duration, int64_t now) {
    Advance(now);
    transfers_.emplace_back(virtual_time_ + duration, transfer);
    std::push_heap(transfers_.begin(), transfers_.end(), std::greater<>());
  }

  bool is_idle() const { return transfers_.empty(); }

  // When the next transfer ends if none begins before. REQUIRES: !is_idle().
  int64_t NextEnd() const {
    return updated_ + (transfers_.front().first - virtual_time_) * static_cast<int64_t>(transfers_.size());
  }

  // Ends the next transfer, at `now`; transfers that end together, by ascending number. REQUIRES: now >= NextEnd().
  int32_t End(int64_t now) {
    std::pop_heap(transfers_.begin(), transfers_.end(), std::greater<>());
    const auto [end, transfer] = transfers_.back();
    transfers_.pop_back();
    virtual_time_ = end;
    updated_ = now;
    return transfer;
  }

 private:
  void Advance(int64_t now) {
    if (transfers_.empty()) {
      virtual_time_ = 0;
      updated_ = now;
      return;
    }
    const auto sharing = static_cast<int64_t>(transfers_.size());
    virtual_time_ += (now - updated_) / sharing;
    updated_ = now - (now - updated_) % sharing;
  }

  int64_t virtual_time_ = 0;
  // The real time that virtual_time_ belongs to.
  int64_t updated_ = 0;
  // A heap by virtual end, then number.
  std::vector<std::pair<int64_t, int32_t>> transfers_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SIMULATE_FAIR_LINK_H_
