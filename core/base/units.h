// Exact time and size (docs/cost-model.md section 1).
//
// Time is int64 picoseconds inside core, so sums do not depend on their order; sizes are int64 bytes in variables whose
// names end in `_bytes`. Milliseconds exist only at the edges.
#ifndef PLANWRIGHT_CORE_BASE_UNITS_H_
#define PLANWRIGHT_CORE_BASE_UNITS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <ratio>
#include <span>

namespace planwright {

using Picoseconds = std::chrono::duration<int64_t, std::pico>;

inline constexpr double kPicosecondsPerSecond = 1e12;
inline constexpr double kGiB = int64_t{1} << 30;

// Largest sum of times or sizes that a valid request can reach; the validator refuses more.
inline constexpr int64_t kMaxQuantity = int64_t{1} << 62;

// The nearest whole number of picoseconds. nullopt: not finite, or beyond +-kMaxQuantity.
std::optional<Picoseconds> FromMilliseconds(double milliseconds);

// The value in milliseconds, rounded to the nearest double.
double ToMilliseconds(Picoseconds time);

// ceil(numerator / denominator). REQUIRES: numerator >= 0, denominator > 0.
int64_t CeilDivide(int64_t numerator, int64_t denominator);

// Time to move `bytes` at `bytes_per_second`: ceil(bytes x 1e12 / bytes_per_second), the quotient computed in 128-bit
// integers after the bandwidth is rounded to whole bytes per second in 1 .. kMaxQuantity. Saturates at kMaxQuantity.
// REQUIRES: bytes >= 0; bytes_per_second finite and > 0.
Picoseconds TransferTime(int64_t bytes, double bytes_per_second);

// The time for numerator / denominator of the bytes, as above: one ceil of the exact quotient.
// REQUIRES: 0 <= numerator, 0 < denominator, both at most 2^24.
Picoseconds TransferTime(int64_t bytes, int64_t numerator, int64_t denominator, double bytes_per_second);

// ceil(sum of counts[i] x times[i] / sum of counts), in 128-bit integers: the mean time of several cases, 0 of none.
// REQUIRES: equal sizes; counts and times >= 0, times at most kMaxQuantity.
Picoseconds MeanTime(std::span<const int64_t> counts, std::span<const Picoseconds> times);

// a + b and a x b for a, b >= 0, saturating at kMaxQuantity.
int64_t SaturatingAdd(int64_t a, int64_t b);
int64_t SaturatingMultiply(int64_t a, int64_t b);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_UNITS_H_
