#include "core/base/random.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace planwright {

RandomStream::RandomStream(uint64_t seed, uint64_t stream) : state_(seed) {
  state_ = Next() ^ (stream * 0xD1342543DE82EF95ULL);
}

uint64_t RandomStream::Next() {
  state_ += 0x9E3779B97F4A7C15ULL;
  uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

uint64_t RandomStream::Below(uint64_t bound) {
  // Rejects the first (2^64 mod bound) values, so that every remainder is equally likely.
  const uint64_t threshold = (std::numeric_limits<uint64_t>::max() - bound + 1) % bound;
  uint64_t value = Next();
  while (value < threshold) value = Next();
  return value % bound;
}

int64_t RandomStream::Between(int64_t low, int64_t high) {
  // Unsigned, because high - low may exceed int64; a bound of 2^64 wraps to 0.
  const uint64_t bound = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  const uint64_t offset = bound == 0 ? Next() : Below(bound);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
}

double RandomStream::Unit() { return static_cast<double>(Next() >> 11U) * 0x1.0p-53; }

double RandomStream::Normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - Unit()));
  return radius * std::cos(2.0 * std::numbers::pi * Unit());
}

}  // namespace planwright
