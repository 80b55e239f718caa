#include "client/importer/reading/cells.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planwright::client {
namespace {

std::string_view Stripped(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

}  // namespace

std::string_view WithoutByteOrderMark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::string_view TakeLine(std::string_view& text) {
  const std::string_view raw = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), raw.size() + 1));
  return Stripped(raw);
}

std::optional<std::vector<std::string>> CellsOf(std::string_view line) {
  std::vector<std::string> cells;
  while (true) {
    line = Stripped(line);
    std::string cell;
    if (!line.starts_with('"')) {
      const std::size_t end = line.find(',');
      cells.emplace_back(Stripped(line.substr(0, end)));
      if (end == std::string_view::npos) return cells;
      line.remove_prefix(end + 1);
      continue;
    }
    line.remove_prefix(1);
    while (true) {
      const std::size_t quote = line.find('"');
      if (quote == std::string_view::npos) return std::nullopt;
      cell += line.substr(0, quote);
      line.remove_prefix(quote + 1);
      if (!line.starts_with('"')) break;
      cell += '"';
      line.remove_prefix(1);
    }
    cells.push_back(std::move(cell));
    line = Stripped(line);
    if (line.empty()) return cells;
    if (line.front() != ',') return std::nullopt;
    line.remove_prefix(1);
  }
}

std::optional<double> NumberOf(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && std::isfinite(number) && number >= 0 ? std::optional(number) : std::nullopt;
}

std::string Quoted(std::string_view text) {
  const bool is_long = text.size() > kMaxShownLength;
  return absl::StrCat("\"", std::string(text.substr(0, kMaxShownLength)), is_long ? "...\"" : "\"");
}

}  // namespace planwright::client
