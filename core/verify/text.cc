#include "core/verify/text.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace planwright {

std::string TimeText(Picoseconds time) {
  constexpr uint64_t kPerMillisecond = 1'000'000'000;
  // Unsigned, so that the least value has a magnitude.
  const auto bits = static_cast<uint64_t>(time.count());
  const uint64_t magnitude = time.count() < 0 ? 0 - bits : bits;
  std::string text = absl::StrFormat("%s%d.%09d", time.count() < 0 ? "-" : "", magnitude / kPerMillisecond,
                                     magnitude % kPerMillisecond);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return absl::StrCat(text, " ms");
}

std::string CountText(int64_t count) {
  std::string text = absl::StrCat(count);
  const std::size_t first_digit = count < 0 ? 1 : 0;
  for (std::size_t end = text.size(); end > first_digit + 3; end -= 3) text.insert(end - 3, 1, ',');
  return text;
}

std::string SizeText(int64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes > -1000 && bytes < 1000) return absl::StrCat(bytes, " bytes");
  double size = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  // 999.5 would be printed as 1e+03.
  while ((size >= 999.5 || size <= -999.5) && unit + 1 < kUnits.size()) {
    size /= 1000;
    ++unit;
  }
  return absl::StrFormat("%.3g %s", size, kUnits[unit]);
}

}  // namespace planwright
