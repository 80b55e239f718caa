#include "client/report/table.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planwright::client {
namespace {

bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Characters of UTF-8 text: every byte but those that continue one.
std::size_t Width(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), ContinuesCharacter));
}

// The byte at which character `count` of `text` begins; its size where there are fewer.
std::size_t BytesOf(std::string_view text, std::size_t count) {
  std::size_t byte = 0;
  for (; byte < text.size(); ++byte) {
    if (!ContinuesCharacter(text[byte]) && count-- == 0) break;
  }
  return byte;
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// What of `text` goes into a line of `room` characters, without the blank behind it. A word that is longer is broken
// where `breaks_words`, else it has its line.
std::string_view NextLine(std::string_view text, std::size_t room, bool breaks_words) {
  if (Width(text) <= room) return text;
  const std::size_t most = BytesOf(text, room);
  std::size_t end = text.rfind(' ', most);
  if (end != std::string_view::npos && end > 0) return text.substr(0, end);
  if (breaks_words) return text.substr(0, most);
  end = text.find(' ', most);
  return text.substr(0, end);
}

std::vector<std::string> Lines(std::string_view text, std::size_t room, bool breaks_words) {
  std::vector<std::string> lines;
  do {
    const std::string_view line = NextLine(text, room, breaks_words);
    lines.emplace_back(line);
    text.remove_prefix(line.size());
    if (text.starts_with(' ')) text.remove_prefix(1);
  } while (!text.empty());
  return lines;
}

// The lines of a cell, all but the last column's no longer than `width`.
std::vector<std::string> CellLines(const std::string& cell, const Table::Column& column, std::size_t width,
                                   bool is_last) {
  switch (column.overflow) {
    case Table::Overflow::kCut:
      return {Shortened(cell, width)};
    case Table::Overflow::kWrapped:
      return Lines(cell, width, /*breaks_words=*/!is_last);
    default:
      return {cell};
  }
}

std::string RowText(const std::vector<std::string>& cells, const std::vector<Table::Column>& columns,
                    const std::vector<std::size_t>& widths) {
  std::vector<std::vector<std::string>> lines;
  std::size_t height = 1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    lines.push_back(CellLines(cells[i], columns[i], widths[i], i + 1 == cells.size()));
    height = std::max(height, lines.back().size());
  }
  std::string text;
  for (std::size_t line = 0; line < height; ++line) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string part = line < lines[i].size() ? lines[i][line] : "";
      const std::string padding(widths[i] - std::min(widths[i], Width(part)), ' ');
      text += "  ";
      text += columns[i].align == Table::Align::kRight ? padding + part : part + padding;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable(text);
  std::replace_if(printable.begin(), printable.end(), IsControl, '?');
  // C1 controls (U+0080 .. U+009F) are two bytes in UTF-8.
  for (std::size_t i = 0; i + 1 < printable.size(); ++i) {
    if (printable[i] == '\xC2' && static_cast<unsigned char>(printable[i + 1]) < 0xA0) printable.replace(i, 2, "?");
  }
  return printable;
}

std::string Shortened(std::string_view text, std::size_t max_length) {
  const std::size_t width = Width(text);
  if (width <= max_length) return std::string(text);
  const std::size_t kept = (max_length - 2) / 2;
  return absl::StrCat(std::string(text.substr(0, BytesOf(text, kept))), "..",
                      std::string(text.substr(BytesOf(text, width - kept))));
}

std::string_view FirstCharacters(std::string_view text, std::size_t count) {
  return text.substr(0, BytesOf(text, count));
}

std::string Wrapped(std::string_view text, std::size_t indent, std::size_t length) {
  std::string wrapped(NextLine(text, length, /*breaks_words=*/false));
  text.remove_prefix(std::min(text.size(), wrapped.size() + 1));
  if (text.empty()) return wrapped;
  const std::string separator = "\n" + std::string(indent, ' ');
  return absl::StrCat(wrapped, separator,
                      absl::StrJoin(Lines(text, length - indent, /*breaks_words=*/false), separator));
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(Width(column.heading));
}

void Table::AddRow(std::vector<std::string> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = Printable(cells[i]);
    widths_[i] = std::max(widths_[i], Width(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

std::size_t Table::width() const { return std::accumulate(widths_.begin(), widths_.end(), 2 * widths_.size()); }

std::size_t Table::LeastWidth(const std::vector<std::size_t>& shown) const {
  std::size_t least = 2 * shown.size();
  for (const std::size_t i : shown) {
    const Column& column = columns_[i];
    const std::size_t kept = std::max(column.least_width, Width(column.heading));
    least += column.overflow == Overflow::kKept ? widths_[i] : std::min(widths_[i], kept);
  }
  return least;
}

std::vector<std::size_t> Table::ShownColumns() const {
  std::vector<std::size_t> shown(columns_.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  const auto rank = [this](std::size_t i) {
    return columns_[i].drop_rank == 0 ? std::numeric_limits<int>::max() : columns_[i].drop_rank;
  };
  while (LeastWidth(shown) > CurrentLineLengths().report) {
    const auto first = std::ranges::min_element(shown, {}, rank);
    if (first == shown.end() || columns_[*first].drop_rank == 0) break;
    shown.erase(first);
  }
  return shown;
}

std::vector<std::size_t> Table::FittingWidths(const std::vector<std::size_t>& shown) const {
  std::vector<std::size_t> widths;
  widths.reserve(shown.size());
  for (const std::size_t i : shown) widths.push_back(widths_[i]);
  const std::size_t most = CurrentLineLengths().report;
  const std::size_t all = std::accumulate(widths.begin(), widths.end(), 2 * widths.size());
  for (std::size_t excess = all - std::min(all, most); excess > 0; --excess) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const Column& column = columns_[shown[i]];
      const std::size_t least = std::max(column.least_width, Width(column.heading));
      if (column.overflow == Overflow::kKept || widths[i] <= least) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) break;
    --widths[widest];
  }
  return widths;
}

std::string Table::ToString() const {
  const std::vector<std::size_t> shown = ShownColumns();
  const std::vector<std::size_t> widths = FittingWidths(shown);
  std::vector<Column> columns;
  std::vector<std::string> headings;
  for (const std::size_t i : shown) {
    columns.push_back(columns_[i]);
    headings.push_back(columns_[i].heading);
  }
  const bool has_headings = std::any_of(headings.begin(), headings.end(), [](const auto& h) { return !h.empty(); });
  std::string text = has_headings ? RowText(headings, columns, widths) : "";
  for (const auto& row : rows_) {
    std::vector<std::string> cells;
    cells.reserve(shown.size());
    for (const std::size_t i : shown) cells.push_back(row[i]);
    text += RowText(cells, columns, widths);
  }
  return text;
}

std::string ListText(const std::vector<std::string>& items) {
  Table table({{""}, Table::Wrapping("")});
  for (const std::string& item : items) table.AddRow({"-", item});
  return table.ToString();
}

std::string WarningsText(const std::vector<std::string>& warnings) {
  return warnings.empty() ? "" : absl::StrCat("\nWarnings\n", ListText(warnings));
}

}  // namespace planwright::client
