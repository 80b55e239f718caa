#include "core/base/units.h"

#include <algorithm>
#include <cmath>

namespace planwright {
namespace {

constexpr double kPicosecondsPerMillisecond = 1e9;
constexpr int64_t kPicosecondsPerSecond = 1'000'000'000'000;

// GCC and Clang provide 128-bit integers outside the standard; __extension__ keeps -Wpedantic quiet.
__extension__ using Wide = unsigned __int128;

}  // namespace

std::optional<Picoseconds> FromMilliseconds(double milliseconds) {
  const double picoseconds = milliseconds * kPicosecondsPerMillisecond;
  if (!(std::abs(picoseconds) <= static_cast<double>(kMaxQuantity))) return std::nullopt;
  return Picoseconds(std::llround(picoseconds));
}

double ToMilliseconds(Picoseconds time) { return static_cast<double>(time.count()) / kPicosecondsPerMillisecond; }

int64_t CeilDivide(int64_t numerator, int64_t denominator) {
  return numerator / denominator + (numerator % denominator != 0 ? 1 : 0);
}

Picoseconds TransferTime(int64_t bytes, double bytes_per_second) {
  if (bytes == 0) return Picoseconds(0);
  if (bytes_per_second >= static_cast<double>(kMaxQuantity)) return Picoseconds(1);
  const auto rate = static_cast<Wide>(std::max<int64_t>(1, std::llround(bytes_per_second)));
  const Wide quotient = (static_cast<Wide>(bytes) * kPicosecondsPerSecond + rate - 1) / rate;
  return Picoseconds(static_cast<int64_t>(std::min(quotient, static_cast<Wide>(kMaxQuantity))));
}

int64_t SaturatingAdd(int64_t a, int64_t b) {
  return std::min(kMaxQuantity, a > kMaxQuantity - b ? kMaxQuantity : a + b);
}

}  // namespace planwright
