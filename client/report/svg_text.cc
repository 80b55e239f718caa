#include "client/report/svg_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "core/text/utf8.h"

namespace planwright::client {

std::string SvgText(std::string_view text) {
  std::string printable;
  for (const char c : text) printable += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return absl::StrReplaceAll(printable, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string SvgLabel(std::string_view text, std::size_t max_length) {
  if (text.size() <= max_length) return SvgText(text);
  return absl::StrCat(SvgText(FirstBytes(text, max_length - 1)), "…");
}

std::string SvgPicture(double width, double height, std::string_view content) {
  return absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
      "%s</svg>\n",
      width, height, width, height, std::string(content));
}

}  // namespace planwright::client
