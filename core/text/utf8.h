// Texts in UTF-8 by their bytes.
#ifndef PLANWRIGHT_CORE_TEXT_UTF8_H_
#define PLANWRIGHT_CORE_TEXT_UTF8_H_

#include <cstddef>
#include <string_view>

namespace planwright {

// The first bytes of a text, at most `max_bytes`, that end with a whole character.
std::string_view FirstBytes(std::string_view text, std::size_t max_bytes);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_TEXT_UTF8_H_
