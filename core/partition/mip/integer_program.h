// A mixed-integer linear program as values: what is to be minimised, apart from whoever solves or writes it.
#ifndef PLANWRIGHT_CORE_PARTITION_MIP_INTEGER_PROGRAM_H_
#define PLANWRIGHT_CORE_PARTITION_MIP_INTEGER_PROGRAM_H_

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace planwright {

// Minimise objective x subject to lower <= row <= upper and lower <= x <= upper, some x integer.
// Names and entries lie in blocks that the program owns: a million rows that are each destroyed take a tenth of a
// second, for which a search that was told to stop would wait.
struct IntegerProgram {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  struct Column {
    // Unique; letters, digits and underscores, at most 64, the first one a letter: legal in LP and MPS files.
    absl::string_view name;
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
    absl::string_view name;
    double lower = -kInfinity;
    double upper = kInfinity;
    // Each column at most once, in their order; coefficients are not 0.
    std::span<const Entry> entries;
  };
  static_assert(std::is_trivially_destructible_v<Column> && std::is_trivially_destructible_v<Row>);

  // What the program says, for the head of a file.
  std::string title;
  // Not moved where they grow: a move of all of them would take a tenth of a second.
  std::deque<Column> columns;
  std::deque<Row> rows;

  // The new column.
  int32_t AddBinary(absl::string_view name) { return AddColumn({Kept(name), 0, 1, true, 0}); }
  int32_t AddContinuous(absl::string_view name, double lower, double upper) {
    return AddColumn({Kept(name), lower, upper, false, 0});
  }
  void AddAtMost(absl::string_view name, std::vector<Entry> entries, double upper) {
    AddRow(name, -kInfinity, upper, std::move(entries));
  }
  void AddAtLeast(absl::string_view name, std::vector<Entry> entries, double lower) {
    AddRow(name, lower, kInfinity, std::move(entries));
  }
  void AddEquals(absl::string_view name, std::vector<Entry> entries, double value) {
    AddRow(name, value, value, std::move(entries));
  }
  // Adds up entries of the same column and drops those that are 0.
  void AddRow(absl::string_view name, double lower, double upper, std::vector<Entry> entries);
  void Fix(int32_t column, double value) {
    columns[static_cast<std::size_t>(column)].lower = value;
    columns[static_cast<std::size_t>(column)].upper = value;
  }

 private:
  int32_t AddColumn(const Column& column) {
    columns.push_back(column);
    return static_cast<int32_t>(columns.size()) - 1;
  }
  absl::string_view Kept(absl::string_view name);
  std::span<const Entry> Kept(const std::vector<Entry>& entries);

  std::unique_ptr<std::pmr::monotonic_buffer_resource> blocks_ =
      std::make_unique<std::pmr::monotonic_buffer_resource>();
};

// The program as text that other solvers read: free MPS (with the sections NAME, ROWS, COLUMNS, RHS, RANGES, BOUNDS,
// ENDATA), or the LP format of CPLEX. Numbers have 17 significant digits. O(size of the program).
std::string ToMps(const IntegerProgram& program);
std::string ToLp(const IntegerProgram& program);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_MIP_INTEGER_PROGRAM_H_
