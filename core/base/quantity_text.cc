#include "core/base/quantity_text.h"

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

std::string CountedText(int64_t count, std::string_view noun) {
  return absl::StrCat(CountText(count), " ", std::string(noun), count == 1 ? "" : "s");
}

std::string SizeText(int64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes > -1024 && bytes < 1024) return CountedText(bytes, "byte");
  double size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; (size >= 1024 || size <= -1024) && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return absl::StrFormat("%.2f %s", size, kUnits[unit]);
}

std::string ExactSizeText(int64_t bytes) {
  if (bytes > -1024 && bytes < 1024) return SizeText(bytes);
  return absl::StrCat(SizeText(bytes), " (", CountText(bytes), " bytes)");
}

std::string MissingText(int64_t bytes) {
  return absl::StrCat(ExactSizeText(bytes), bytes == 1 ? " is missing" : " are missing");
}

}  // namespace planwright
