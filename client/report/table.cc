#include "client/report/table.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace planwright::client {
namespace {

// Characters of UTF-8 text: every byte but those that continue one.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

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

Table::Table(std::vector<Column> columns, Overflow overflow) : columns_(std::move(columns)), overflow_(overflow) {
  for (const Column& column : columns_) widths_.push_back(Width(column.heading));
}

void Table::AddRow(std::vector<std::string> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = Printable(cells[i]);
    widths_[i] = std::max(widths_[i], Width(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

std::string Table::Line(const std::vector<std::string>& cells) const {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string padding(widths_[i] - Width(cells[i]), ' ');
    line += "  ";
    line += columns_[i].align == Align::kRight ? padding + cells[i] : cells[i] + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::size_t Table::width() const { return std::accumulate(widths_.begin(), widths_.end(), 2 * widths_.size()); }

std::string Table::ToString() const {
  std::vector<std::string> headings;
  for (const Column& column : columns_) headings.push_back(column.heading);
  const bool has_headings = std::any_of(headings.begin(), headings.end(), [](const auto& h) { return !h.empty(); });
  std::string text = has_headings ? Line(headings) : "";
  for (const auto& row : rows_) text += overflow_ == Overflow::kWrapped ? Wrapped(row) : Line(row);
  return text;
}

std::string Table::Wrapped(std::vector<std::string> cells) const {
  std::size_t start = 2;
  for (std::size_t i = 0; i + 1 < widths_.size(); ++i) start += widths_[i] + 2;
  const std::size_t room = kMaxLineLength > start ? kMaxLineLength - start : 1;
  std::string rest = std::move(cells.back());
  std::string text;
  while (Width(rest) > room) {
    // Bytes, of which there are at least as many as characters: a line may be shorter than it could be.
    std::size_t end = rest.rfind(' ', room);
    if (end == std::string::npos || end == 0) end = rest.find(' ', room);
    if (end == std::string::npos) break;
    cells.back() = rest.substr(0, end);
    text += Line(cells);
    rest.erase(0, end + 1);
    std::fill(cells.begin(), cells.end(), "");
  }
  cells.back() = std::move(rest);
  return text + Line(cells);
}

std::string ListText(const std::vector<std::string>& items) {
  Table table({{""}, {""}}, Table::Overflow::kWrapped);
  for (const std::string& item : items) table.AddRow({"-", item});
  return table.ToString();
}

}  // namespace planwright::client
