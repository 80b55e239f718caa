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
  const auto rate =
      static_cast<Wide>(std::llround(std::clamp(bytes_per_second, 1.0, static_cast<double>(kMaxQuantity))));
  const Wide quotient = (static_cast<Wide>(bytes) * kPicosecondsPerSecond + rate - 1) / rate;
  return Picoseconds(static_cast<int64_t>(std::min(quotient, static_cast<Wide>(kMaxQuantity))));
}

int64_t SaturatingAdd(int64_t a, int64_t b) { return a > kMaxQuantity - b ? kMaxQuantity : a + b; }

int64_t SaturatingMultiply(int64_t a, int64_t b) { return a != 0 && b > kMaxQuantity / a ? kMaxQuantity : a * b; }

}  // namespace planwright
