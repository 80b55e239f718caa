// Quantities as a person reads them, in messages.
#ifndef PLANWRIGHT_CORE_BASE_QUANTITY_TEXT_H_
#define PLANWRIGHT_CORE_BASE_QUANTITY_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/units.h"

namespace planwright {

// Exact, in milliseconds: "12.5 ms", "0.000000001 ms".
std::string TimeText(Picoseconds time);

// Exact, in groups of three digits: "1,234,567".
std::string CountText(int64_t count);

// "1 stage", "1,024 stages" of "stage".
std::string CountedText(int64_t count, std::string_view noun);

// Returns a size in binary units: "16.00 GiB"; below 1 KiB it is exact: "512 bytes".
std::string SizeText(int64_t bytes);

// As SizeText, with the exact number where a byte decides: "1.50 GiB (1,610,612,736 bytes)", "1 byte".
std::string ExactSizeText(int64_t bytes);

// "1.50 GiB (1,610,612,736 bytes) are missing", "1 byte is missing".
std::string MissingText(int64_t bytes);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_QUANTITY_TEXT_H_
