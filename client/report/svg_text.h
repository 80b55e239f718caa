// Text in pictures.
#ifndef PLANWRIGHT_CLIENT_REPORT_SVG_TEXT_H_
#define PLANWRIGHT_CLIENT_REPORT_SVG_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace planwright::client {

// `text` as the content of an element of SVG: marks replaced, control characters as blanks.
std::string SvgText(std::string_view text);

// SvgText of at most `max_length` bytes of `text`, cut between characters of UTF-8, with an ellipsis where some are
// missing. The default is for names.
std::string SvgLabel(std::string_view text, std::size_t max_length = 22);

// The picture around `content`: white, `width` x `height` pixels. SVG 1.1, no scripts.
std::string SvgPicture(double width, double height, std::string_view content);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_SVG_TEXT_H_
