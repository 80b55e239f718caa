#include "client/cli/terminal/live_view.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

constexpr char kClearScreen[] = "\x1b[2J";
constexpr char kHome[] = "\x1b[H";
constexpr char kEraseRestOfLine[] = "\x1b[K";
constexpr char kEraseBelow[] = "\x1b[J";

}  // namespace

LiveView::LiveView(std::ostream& out) : out_(out) { out_ << kClearScreen; }

bool LiveView::Show(std::string_view text, TerminalSize size) {
  std::vector<absl::string_view> lines = absl::StrSplit(absl::string_view(text.data(), text.size()), '\n');
  // Behind the last line break.
  if (lines.back().empty()) lines.pop_back();
  // The cursor stands below the text; a line break in the last row would move all of it.
  lines.resize(std::min(lines.size(), std::max<std::size_t>(size.rows, 2) - 1));
  // At once: what is half new would flicker.
  std::string screen = kHome;
  for (const absl::string_view line : lines) {
    const std::string_view shown = FirstCharacters({line.data(), line.size()}, size.columns);
    absl::StrAppend(&screen, absl::string_view(shown.data(), shown.size()), kEraseRestOfLine, "\n");
  }
  out_ << screen << kEraseBelow << std::flush;
  return out_.good();
}

}  // namespace planwright::client
