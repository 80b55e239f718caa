#include "core/base/units.h"

#include <algorithm>
#include <cmath>

namespace planwright {
namespace {

constexpr double kPicosecondsPerMillisecond = 1e9;
constexpr int64_t kPicoseconds = 1'000'000'000'000;

// GCC and Clang provide 128-bit integers outside the standard; __extension__ keeps -Wpedantic quiet.
__extension__ using Wide = unsigned __int128;

// ceil(dividend / divisor), saturating at kMaxQuantity.
int64_t CeilQuotient(Wide dividend, Wide divisor) {
  const Wide quotient = dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
  return static_cast<int64_t>(std::min(quotient, static_cast<Wide>(kMaxQuantity)));
}

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

Picoseconds TransferTime(int64_t bytes, double bytes_per_second) { return TransferTime(bytes, 1, 1, bytes_per_second); }

Picoseconds TransferTime(int64_t bytes, int64_t numerator, int64_t denominator, double bytes_per_second) {
  const auto rate =
      static_cast<Wide>(std::llround(std::clamp(bytes_per_second, 1.0, static_cast<double>(kMaxQuantity))));
  const Wide dividend = static_cast<Wide>(bytes) * static_cast<Wide>(numerator) * kPicoseconds;
  return Picoseconds(CeilQuotient(dividend, rate * static_cast<Wide>(denominator)));
}

Picoseconds MeanTime(std::span<const int64_t> counts, std::span<const Picoseconds> times) {
  Wide sum = 0;
  Wide count = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sum += static_cast<Wide>(counts[i]) * static_cast<Wide>(times[i].count());
    count += static_cast<Wide>(counts[i]);
  }
  return Picoseconds(count == 0 ? 0 : CeilQuotient(sum, count));
}

int64_t SaturatingAdd(int64_t a, int64_t b) { return a > kMaxQuantity - b ? kMaxQuantity : a + b; }

int64_t SaturatingMultiply(int64_t a, int64_t b) { return a != 0 && b > kMaxQuantity / a ? kMaxQuantity : a * b; }

}  // namespace planwright
