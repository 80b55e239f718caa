// A mixed-integer linear program as values: what is to be minimised, apart from whoever solves or writes it.
#ifndef PLANWRIGHT_CORE_PARTITION_MIP_INTEGER_PROGRAM_H_
#define PLANWRIGHT_CORE_PARTITION_MIP_INTEGER_PROGRAM_H_

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace planwright {

// Minimise objective x subject to lower <= row <= upper and lower <= x <= upper, some x integer.
struct IntegerProgram {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  struct Column {
    // Unique; letters, digits and underscores, at most 64, the first one a letter: legal in LP and MPS files.
    std::string name;
    double lower = 0;
    double upper = kInfinity;
    bool is_integer = false;
    double objective = 0;
  };
  struct Entry {
    int32_t column;
    double coefficient;
  };
  struct Row {
    // As of a column, among rows.
    std::string name;
    double lower = -kInfinity;
    double upper = kInfinity;
    // Each column at most once; coefficients are not 0.
    std::vector<Entry> entries;
  };

  // What the program says, for the head of a file.
  std::string title;
  // Not moved where they grow: a move of all of them would take a tenth of a second.
  std::deque<Column> columns;
  std::deque<Row> rows;

  // The new column.
  int32_t AddBinary(std::string name) { return AddColumn({std::move(name), 0, 1, true, 0}); }
  int32_t AddContinuous(std::string name, double lower, double upper) {
    return AddColumn({std::move(name), lower, upper, false, 0});
  }
  void AddAtMost(std::string name, std::vector<Entry> entries, double upper) {
    AddRow({std::move(name), -kInfinity, upper, std::move(entries)});
  }
  void AddAtLeast(std::string name, std::vector<Entry> entries, double lower) {
    AddRow({std::move(name), lower, kInfinity, std::move(entries)});
  }
  void AddEquals(std::string name, std::vector<Entry> entries, double value) {
    AddRow({std::move(name), value, value, std::move(entries)});
  }
  // Adds up entries of the same column and drops those that are 0.
  void AddRow(Row row);
  void Fix(int32_t column, double value) {
    columns[static_cast<std::size_t>(column)].lower = value;
    columns[static_cast<std::size_t>(column)].upper = value;
  }

 private:
  int32_t AddColumn(Column column) {
    columns.push_back(std::move(column));
    return static_cast<int32_t>(columns.size()) - 1;
  }
};

// The program as text that other solvers read: free MPS (with the sections NAME, ROWS, COLUMNS, RHS, RANGES, BOUNDS,
// ENDATA), or the LP format of CPLEX. Numbers have 17 significant digits. O(size of the program).
std::string ToMps(const IntegerProgram& program);
std::string ToLp(const IntegerProgram& program);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_MIP_INTEGER_PROGRAM_H_
