// How many devices of each class of a cluster a plan may take.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_DEVICE_COUNTS_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_DEVICE_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace planwright {

// By class.
using DeviceCounts = std::vector<int64_t>;

inline int64_t TotalOf(const DeviceCounts& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

// Mixes of classes: from `low` to `high` devices of all classes but the last. REQUIRES: one class besides that.
struct MixBox {
  DeviceCounts low;
  DeviceCounts high;

  bool is_one() const { return low == high; }

  // The class whose numbers differ most.
  std::size_t widest() const {
    std::size_t widest = 0;
    for (std::size_t number = 1; number < low.size(); ++number) {
      if (high[number] - low[number] > high[widest] - low[widest]) widest = number;
    }
    return widest;
  }

  // Those with at most `middle` devices of class `number`, and those with more.
  std::pair<MixBox, MixBox> DividedAt(std::size_t number, int64_t middle) const {
    std::pair<MixBox, MixBox> parts{*this, *this};
    parts.first.high[number] = middle;
    parts.second.low[number] = middle + 1;
    return parts;
  }
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_DEVICE_COUNTS_H_
