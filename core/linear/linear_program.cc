#include "core/linear/linear_program.h"

#include <algorithm>
#include <cstddef>

#include "core/base/index.h"

namespace planwright {

double BoundByMultipliers(const LinearProgram& program, const std::vector<double>& multipliers) {
  // objective x >= multipliers rows x + reduced x, and each column is somewhere between its bounds.
  std::vector<double> reduced =
      Mapped(program.columns, [&](const LinearProgram::Column& column) { return column.objective; });
  double bound = 0;
  for (std::size_t r = 0; r < program.rows.size(); ++r) {
    const LinearProgram::Row& row = program.rows[r];
    const double multiplier = row.is_equation ? multipliers[r] : std::max(0.0, multipliers[r]);
    bound += multiplier * row.least;
    for (const auto& [column, coefficient] : row.entries) {
      reduced[static_cast<std::size_t>(column)] -= multiplier * coefficient;
    }
  }
  for (std::size_t c = 0; c < reduced.size(); ++c) {
    const LinearProgram::Column& column = program.columns[c];
    bound += reduced[c] * (reduced[c] >= 0 ? column.lower : column.upper);
  }
  return bound;
}

double LeastObjective(const LinearProgram& program, Poller& poller) {
  const double plain = BoundByMultipliers(program, std::vector<double>(program.rows.size(), 0.0));
  if (!HasLinearSolver()) return plain;
  return std::max(plain, BoundByMultipliers(program, BestMultipliers(program, poller)));
}

}  // namespace planwright
