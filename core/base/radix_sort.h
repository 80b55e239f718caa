// Stable sort of large arrays by an integer key, in linear time and open to interruption.
#ifndef PLANWRIGHT_CORE_BASE_RADIX_SORT_H_
#define PLANWRIGHT_CORE_BASE_RADIX_SORT_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/polling.h"

namespace planwright {

// Sorts `values` ascending by key_of(value), which lies in 0 .. max_key; equal keys keep their order. False:
// interrupted, and the order is unspecified. O(n bits / 11) time, n extra places.
template <typename T, typename KeyOf>
bool StableRadixSort(std::vector<T>& values, uint64_t max_key, Poller& poller, KeyOf key_of) {
  constexpr unsigned kDigitBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
  std::vector<T> scratch(values.size());
  for (unsigned shift = 0; shift < static_cast<unsigned>(std::bit_width(max_key)); shift += kDigitBits) {
    const auto digit_of = [&](const T& value) { return static_cast<std::size_t>(key_of(value) >> shift) % kDigits; };
    std::array<std::size_t, kDigits> position{};
    for (const T& value : values) {
      if (poller.ShouldStop()) return false;
      ++position[digit_of(value)];
    }
    std::size_t start = 0;
    for (std::size_t& entry : position) start += std::exchange(entry, start);
    for (const T& value : values) {
      if (poller.ShouldStop()) return false;
      scratch[position[digit_of(value)]++] = value;
    }
    values.swap(scratch);
  }
  return true;
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_RADIX_SORT_H_
