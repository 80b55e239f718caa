// Aligned columns of text, and text in lines that are not too long.
#ifndef PLANWRIGHT_CLIENT_REPORT_TABLE_H_
#define PLANWRIGHT_CLIENT_REPORT_TABLE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/report/line_length.h"

namespace planwright::client {

// `text` without control characters, which could steer the terminal of whoever reads a report: each becomes '?'.
std::string Printable(std::string_view text);

// `text` in at most `max_length` characters (at least 3), cut in its middle, where names differ least: "enco..norm".
std::string Shortened(std::string_view text, std::size_t max_length);

// The first `count` characters of UTF-8 text, all where there are fewer.
std::string_view FirstCharacters(std::string_view text, std::size_t count);

// Lines of at most `length` characters, broken at blanks; all but the first begin with `indent` blanks. No line break
// at the end.
std::string Wrapped(std::string_view text, std::size_t indent, std::size_t length = CurrentLineLengths().report);

// Collects rows, then prints them two spaces apart. Names come from strangers: cells are made printable.
class Table {
 public:
  enum class Align { kLeft, kRight };
  // What happens to a column where lines would be longer than CurrentLineLengths().report; the widest such column gives
  // way first.
  enum class Overflow { kKept, kCut, kWrapped };

  struct Column {
    std::string heading;
    Align align = Align::kLeft;
    Overflow overflow = Overflow::kKept;
    // Characters that a column keeps which gives way.
    std::size_t least_width = 12;
    // Where that is not enough, columns are left out, those of the lowest rank first; 0: never.
    int drop_rank = 0;
  };

  // A column whose cells are continued below.
  static Column Wrapping(std::string heading, std::size_t least_width = 24) {
    return {std::move(heading), Align::kLeft, Overflow::kWrapped, least_width};
  }
  // A column whose cells are Shortened.
  static Column Cutting(std::string heading, std::size_t least_width = 12) {
    return {std::move(heading), Align::kLeft, Overflow::kCut, least_width};
  }

  explicit Table(std::vector<Column> columns);

  // REQUIRES: as many cells as columns.
  void AddRow(std::vector<std::string> cells);

  // The width of the longest line, if no column gives way.
  std::size_t width() const;

  // Every line indented by two spaces and without trailing spaces; the headings first unless all are empty.
  std::string ToString() const;

 private:
  // Positions of the columns that are shown.
  std::vector<std::size_t> ShownColumns() const;
  // The least width of a line of these columns.
  std::size_t LeastWidth(const std::vector<std::size_t>& shown) const;
  // Widths of these columns at which lines are short enough, or at which every column has given way.
  std::vector<std::size_t> FittingWidths(const std::vector<std::size_t>& shown) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

inline constexpr Table::Align kRight = Table::Align::kRight;

// Every item after a dash, wrapped.
std::string ListText(const std::vector<std::string>& items);

// A section of them; empty: there are none.
std::string WarningsText(const std::vector<std::string>& warnings);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_TABLE_H_
