// Numbers with their unit in the text: "80 GB", "400 Gb/s", "989 TFLOPS", "5 us".
#ifndef PLANWRIGHT_CORE_TEXT_AMOUNT_H_
#define PLANWRIGHT_CORE_TEXT_AMOUNT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace planwright {

struct Unit {
  std::string_view name;
  // What one of it is in the base unit.
  double factor = 1;
};

// What is measured. Units are told apart by case: b is a bit, B a byte, k and Ki are 1,000 and 1,024.
struct Dimension {
  // With two examples, as an error says it: `an amount of memory such as "80 GB" or "80 GiB"`.
  std::string_view description;
  std::span<const Unit> units;
  // Whether 0 is an amount.
  bool may_be_zero = false;
  // In the base unit.
  double maximum = 0;
};

// Base unit byte; at most 2^62 of them. Zero is allowed for what is taken away from a memory.
extern const Dimension kMemoryAmount;
extern const Dimension kReservedMemoryAmount;
// Base unit byte per second.
extern const Dimension kBandwidthAmount;
// Base unit floating-point operation per second.
extern const Dimension kComputeSpeedAmount;
// Base unit millisecond.
extern const Dimension kTimeAmount;

// `text` in the base unit. nullopt: not a number >= 0 and a unit of the dimension, or out of its range. The number is
// written in decimals, perhaps with an exponent; there may be blanks before the unit.
std::optional<double> ParseAmount(std::string_view text, const Dimension& dimension);

// A size as flags take it: a whole number of bytes >= 0, or an amount of memory such as "1.5 GiB", rounded to a byte.
// nullopt: neither, or beyond 2^62 bytes.
std::optional<int64_t> ParseSize(std::string_view text);

// What ParseSize takes, as an error says it.
extern const std::string_view kSizeDescription;

// `text` as a number >= 0 without a unit. nullopt: it is none, or not finite.
std::optional<double> ParseNumber(std::string_view text);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_TEXT_AMOUNT_H_
