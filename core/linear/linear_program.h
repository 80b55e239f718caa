// Linear programs, and what none of their solutions is below.
#ifndef PLANWRIGHT_CORE_LINEAR_LINEAR_PROGRAM_H_
#define PLANWRIGHT_CORE_LINEAR_LINEAR_PROGRAM_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/polling.h"

namespace planwright {

// Minimise objective x subject to rows of at least, or exactly, so much and lower <= x <= upper. Coefficients should be
// of order 1.
struct LinearProgram {
  struct Column {
    double lower = 0;
    // Finite: bounds by multipliers need it.
    double upper = 0;
    double objective = 0;
  };
  struct Entry {
    int32_t column = 0;
    double coefficient = 0;
  };
  struct Row {
    // A column may stand in several entries, which add up.
    std::vector<Entry> entries;
    double least = 0;
    bool is_equation = false;
  };

  std::vector<Column> columns;
  std::vector<Row> rows;

  // Returns the number of the new column.
  int32_t AddColumn(Column column) {
    columns.push_back(column);
    return static_cast<int32_t>(columns.size()) - 1;
  }
  void AddAtLeast(std::vector<Entry> entries, double least) { rows.push_back({std::move(entries), least, false}); }
  void AddEquation(std::vector<Entry> entries, double value) { rows.push_back({std::move(entries), value, true}); }
};

// Whether this build has a solver (CMake option PLANWRIGHT_WITH_CBC).
bool HasLinearSolver();

// What no solution is below, up to the rounding of doubles: the optimum where the build has a solver and `poller` does
// not end it, otherwise less. Deterministic but for the end by `poller`.
double LeastObjective(const LinearProgram& program, Poller& poller);

// What no solution is below by weak duality, for any multipliers of the rows, of which those of rows that are no
// equations are taken for 0 where they are negative. O(size of the program).
double BoundByMultipliers(const LinearProgram& program, const std::vector<double>& multipliers);

// Those of the optimum, or of where `poller` ended the solver. REQUIRES: HasLinearSolver().
std::vector<double> BestMultipliers(const LinearProgram& program, Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_LINEAR_LINEAR_PROGRAM_H_
