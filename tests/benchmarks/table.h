// A table in Markdown whose rows appear one by one, aligned to columns of fixed width.
#ifndef PLANWRIGHT_TESTS_BENCHMARKS_TABLE_H_
#define PLANWRIGHT_TESTS_BENCHMARKS_TABLE_H_

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace planwright::benchmarks {

class Table {
 public:
  struct Column {
    std::string_view title;
    std::size_t width = 0;
  };

  // Writes the head. The first column is aligned to the left, the others to the right. `out` outlives the table.
  Table(std::vector<Column> columns, std::ostream& out);

  // Writes a row. REQUIRES: at most one cell for each column; missing ones are empty.
  void AddRow(std::vector<std::string> cells);

 private:
  std::vector<Column> columns_;
  std::ostream& out_;
};

}  // namespace planwright::benchmarks

#endif  // PLANWRIGHT_TESTS_BENCHMARKS_TABLE_H_
