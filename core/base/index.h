// Positions in vectors from the 32-bit numbers that graphs and instances keep, and vectors of what one function says.
#ifndef PLANWRIGHT_CORE_BASE_INDEX_H_
#define PLANWRIGHT_CORE_BASE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <type_traits>
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

// make(0), make(1), ..., make(count - 1).
template <typename Make>
auto MappedNumbers(std::size_t count, const Make& make) {
  std::vector<std::decay_t<decltype(make(count))>> made;
  made.reserve(count);
  for (std::size_t i = 0; i < count; ++i) made.push_back(make(i));
  return made;
}

// make(element) for each element of `list`, in its order.
template <typename List, typename Make>
auto Mapped(const List& list, const Make& make) {
  std::vector<std::decay_t<decltype(make(*std::begin(list)))>> made;
  made.reserve(std::size(list));
  for (const auto& element : list) made.push_back(make(element));
  return made;
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_INDEX_H_
