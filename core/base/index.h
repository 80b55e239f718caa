// Positions in vectors from the 32-bit numbers that graphs and instances keep.
#ifndef PLANWRIGHT_CORE_BASE_INDEX_H_
#define PLANWRIGHT_CORE_BASE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace planwright {

// REQUIRES: value >= 0.
constexpr std::size_t Index(int32_t value) { return static_cast<std::size_t>(value); }

// 0, 1, ..., count - 1.
template <typename Number = int32_t>
std::vector<Number> FirstNumbers(std::size_t count) {
  std::vector<Number> numbers(count);
  std::iota(numbers.begin(), numbers.end(), Number{0});
  return numbers;
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_INDEX_H_
