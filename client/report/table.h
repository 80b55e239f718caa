// Aligned columns of text.
#ifndef PLANWRIGHT_CLIENT_REPORT_TABLE_H_
#define PLANWRIGHT_CLIENT_REPORT_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

namespace planwright::client {

// `text` without control characters, which could steer the terminal of whoever reads a report: each becomes '?'.
std::string Printable(std::string_view text);

// Collects rows, then prints them two spaces apart. Names come from strangers: cells are made printable.
class Table {
 public:
  enum class Align { kLeft, kRight };
  // What happens to a last column that is too wide.
  enum class Overflow { kKept, kWrapped };

  // Lines of tables whose last column is wrapped are no longer than this where words allow it.
  static constexpr std::size_t kMaxLineLength = 120;

  struct Column {
    std::string heading;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns, Overflow overflow = Overflow::kKept);

  // REQUIRES: as many cells as columns.
  void AddRow(std::vector<std::string> cells);

  // Of the longest line, where no column is wrapped.
  std::size_t width() const;

  // Every line indented by two spaces and without trailing spaces; the headings first unless all are empty.
  std::string ToString() const;

 private:
  std::string Line(const std::vector<std::string>& cells) const;
  // The row, and what of its last cell goes into lines of their own.
  std::string Wrapped(std::vector<std::string> cells) const;

  std::vector<Column> columns_;
  Overflow overflow_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

// Every item on a line of its own after a dash, wrapped as the last column of a table.
std::string ListText(const std::vector<std::string>& items);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_TABLE_H_
