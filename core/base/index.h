// Positions in vectors from the 32-bit numbers that graphs and instances keep.
#ifndef PLANWRIGHT_CORE_BASE_INDEX_H_
#define PLANWRIGHT_CORE_BASE_INDEX_H_

#include <cstddef>
#include <cstdint>

namespace planwright {

// REQUIRES: value >= 0.
constexpr std::size_t Index(int32_t value) { return static_cast<std::size_t>(value); }

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_INDEX_H_
