// Quantities as a person reads them, in the messages of violations.
#ifndef PLANWRIGHT_CORE_VERIFY_TEXT_H_
#define PLANWRIGHT_CORE_VERIFY_TEXT_H_

#include <cstdint>
#include <string>

#include "core/base/units.h"

namespace planwright {

// Exact, in milliseconds: "12.5 ms", "0.000000001 ms".
std::string TimeText(Picoseconds time);

// Exact, in groups of three digits: "1,234,567".
std::string CountText(int64_t count);

// About three digits in decimal units: "17.2 GB"; below 1 kB exact: "512 bytes".
std::string SizeText(int64_t bytes);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_TEXT_H_
