#include "core/text/amount.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace planwright {
namespace {

constexpr double kKi = 1024;
constexpr double kMi = 1024 * kKi;
constexpr double kGi = 1024 * kMi;
constexpr double kTi = 1024 * kGi;
// A bit in bytes.
constexpr double kBit = 0.125;

constexpr auto kMemoryUnits = std::to_array<Unit>({{"B", 1},
                                                   {"kB", 1e3},
                                                   {"MB", 1e6},
                                                   {"GB", 1e9},
                                                   {"TB", 1e12},
                                                   {"KiB", kKi},
                                                   {"MiB", kMi},
                                                   {"GiB", kGi},
                                                   {"TiB", kTi}});

constexpr auto kBandwidthUnits = std::to_array<Unit>({{"B/s", 1},
                                                      {"kB/s", 1e3},
                                                      {"MB/s", 1e6},
                                                      {"GB/s", 1e9},
                                                      {"TB/s", 1e12},
                                                      {"KiB/s", kKi},
                                                      {"MiB/s", kMi},
                                                      {"GiB/s", kGi},
                                                      {"TiB/s", kTi},
                                                      {"b/s", kBit},
                                                      {"kb/s", 1e3 * kBit},
                                                      {"Mb/s", 1e6 * kBit},
                                                      {"Gb/s", 1e9 * kBit},
                                                      {"Tb/s", 1e12 * kBit},
                                                      {"bit/s", kBit},
                                                      {"kbit/s", 1e3 * kBit},
                                                      {"Mbit/s", 1e6 * kBit},
                                                      {"Gbit/s", 1e9 * kBit},
                                                      {"Tbit/s", 1e12 * kBit},
                                                      {"Mbps", 1e6 * kBit},
                                                      {"Gbps", 1e9 * kBit},
                                                      {"Tbps", 1e12 * kBit}});

constexpr auto kComputeSpeedUnits = std::to_array<Unit>(
    {{"GFLOPS", 1e9}, {"TFLOPS", 1e12}, {"PFLOPS", 1e15}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}});

// The micro sign, the Greek letter and a plain u.
constexpr auto kTimeUnits =
    std::to_array<Unit>({{"ns", 1e-6}, {"us", 1e-3}, {"\u00b5s", 1e-3}, {"\u03bcs", 1e-3}, {"ms", 1}, {"s", 1e3}});

constexpr int64_t kMaxSize = int64_t{1} << 62;
constexpr auto kMaxBytes = static_cast<double>(kMaxSize);
constexpr double kMaxReal = std::numeric_limits<double>::max();

// The number >= 0 at the beginning of `text`, which is cut off; nullopt when there is none.
std::optional<double> TakeNumber(std::string_view& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || std::signbit(number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

const Dimension kMemoryAmount = {R"(an amount of memory such as "80 GB" or "80 GiB")", kMemoryUnits, false, kMaxBytes};
const Dimension kReservedMemoryAmount = {R"(an amount of memory such as "2 GB" or "512 MiB")", kMemoryUnits, true,
                                         kMaxBytes};
const Dimension kBandwidthAmount = {R"(a bandwidth such as "400 Gb/s" or "50 GB/s")", kBandwidthUnits, false, kMaxReal};
const Dimension kComputeSpeedAmount = {R"(a speed such as "989 TFLOPS" or "1.2 PFLOPS")", kComputeSpeedUnits, false,
                                       kMaxReal};
const Dimension kTimeAmount = {R"(a time such as "5 us" or "0.1 ms")", kTimeUnits, true, kMaxReal};

std::optional<double> ParseAmount(std::string_view text, const Dimension& dimension) {
  const auto number = TakeNumber(text);
  if (!number.has_value()) return std::nullopt;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto unit = std::ranges::find(dimension.units, text, &Unit::name);
  if (unit == dimension.units.end()) return std::nullopt;
  const double amount = *number * unit->factor;
  const bool is_in_range = dimension.may_be_zero ? amount >= 0 : amount > 0;
  return is_in_range && amount <= dimension.maximum ? std::optional(amount) : std::nullopt;
}

const std::string_view kSizeDescription = R"(a number of bytes, or an amount of memory such as "2 GB" or "512 MiB")";

std::optional<int64_t> ParseSize(std::string_view text) {
  int64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error == std::errc() && end == text.data() + text.size()) {
    const bool is_in_range = !text.starts_with('-') && bytes <= kMaxSize;
    return is_in_range ? std::optional(bytes) : std::nullopt;
  }
  const auto amount = ParseAmount(text, kReservedMemoryAmount);
  return amount.has_value() ? std::optional<int64_t>(std::llround(*amount)) : std::nullopt;
}

std::optional<double> ParseNumber(std::string_view text) {
  const auto number = TakeNumber(text);
  return text.empty() ? number : std::nullopt;
}

}  // namespace planwright
