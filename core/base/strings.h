// std::string_view at our interfaces, absl::string_view at Abseil's: Debian's Abseil does not convert between the two.
#ifndef PLANWRIGHT_CORE_BASE_STRINGS_H_
#define PLANWRIGHT_CORE_BASE_STRINGS_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace planwright {

inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ToStd(absl::string_view text) { return {text.data(), text.size()}; }

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_STRINGS_H_
