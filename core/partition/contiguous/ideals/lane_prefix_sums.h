// Sums over the first blocks of every lane of a chain layout, from which the sum over any ideal is one term per lane.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_LANE_PREFIX_SUMS_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_LANE_PREFIX_SUMS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/partition/contiguous/ideals/chain_code.h"

namespace planwright {

// Immutable after construction.
class LanePrefixSums {
 public:
  // Sums of nothing: not to be asked.
  LanePrefixSums() = default;
  // `values`: by block.
  LanePrefixSums(const ChainLayout& layout, const std::vector<int64_t>& values) {
    for (std::size_t lane = 0; lane < layout.num_lanes(); ++lane) {
      begin_.push_back(sums_.size());
      sums_.push_back(0);
      for (const int32_t block : layout.lane(lane)) {
        sums_.push_back(sums_.back() + values[static_cast<std::size_t>(block)]);
      }
    }
  }

  // Over the first `count` blocks of `lane`.
  int64_t Of(std::size_t lane, std::size_t count) const { return sums_[begin_[lane] + count]; }
  // The first count of [begin, end) whose sum is at least `sum`; `end`: none. REQUIRES: values >= 0. O(log).
  std::size_t FirstAtLeast(int64_t sum, std::size_t lane, std::size_t begin, std::size_t end) const {
    const auto sums = sums_.begin() + static_cast<std::ptrdiff_t>(begin_[lane]);
    const auto at = [&](std::size_t count) { return sums + static_cast<std::ptrdiff_t>(count); };
    return static_cast<std::size_t>(std::lower_bound(at(begin), at(end), sum) - sums);
  }
  // Over all blocks below `code`. O(lanes).
  template <std::size_t W>
  int64_t Below(const ChainLayout& layout, const ChainCode<W>& code) const {
    int64_t sum = 0;
    for (std::size_t lane = 0; lane < begin_.size(); ++lane) sum += Of(lane, layout.Get(code, lane));
    return sum;
  }

 private:
  std::vector<int64_t> sums_;
  // By lane: position of its sum of no blocks.
  std::vector<std::size_t> begin_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_LANE_PREFIX_SUMS_H_
