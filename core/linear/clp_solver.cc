// BestMultipliers by Clp (COIN-OR): the dual simplex method.
#include <ClpEventHandler.hpp>
#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/polling.h"
#include "core/linear/linear_program.h"

namespace planwright {
namespace {

// Units of polling: an iteration goes over the rows, some of them more than once.
constexpr int64_t kUnitsPerRow = 4;
constexpr int64_t kUnitsPerEntry = 16;

class PollingHandler final : public ClpEventHandler {
 public:
  PollingHandler(Poller* poller, int64_t units) : poller_(poller), units_(units) {}
  int event(Event which) override {
    if (which != endOfIteration && which != endOfFactorization) return -1;
    return poller_->ShouldStop(units_) ? 1 : -1;
  }
  ClpEventHandler* clone() const override { return new PollingHandler(*this); }

 private:
  Poller* poller_;
  int64_t units_;
};

void Load(const LinearProgram& program, ClpSimplex& solver) {
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> objective;
  for (const LinearProgram::Column& column : program.columns) {
    lower.push_back(column.lower);
    upper.push_back(column.upper);
    objective.push_back(column.objective);
  }
  std::vector<double> least;
  std::vector<double> most;
  std::vector<int> rows;
  std::vector<int> columns;
  std::vector<double> coefficients;
  for (const LinearProgram::Row& row : program.rows) {
    for (const auto& [column, coefficient] : row.entries) {
      rows.push_back(static_cast<int>(least.size()));
      columns.push_back(column);
      coefficients.push_back(coefficient);
    }
    least.push_back(row.least);
    most.push_back(row.is_equation ? row.least : COIN_DBL_MAX);
  }
  // Entries of the same place add up.
  CoinPackedMatrix matrix(/*colordered=*/true, rows.data(), columns.data(), coefficients.data(),
                          static_cast<CoinBigIndex>(rows.size()));
  matrix.setDimensions(static_cast<int>(least.size()), static_cast<int>(lower.size()));
  solver.loadProblem(matrix, lower.data(), upper.data(), objective.data(), least.data(), most.data());
}

}  // namespace

bool HasLinearSolver() { return true; }

std::vector<double> BestMultipliers(const LinearProgram& program, Poller& poller) {
  int64_t entries = 0;
  for (const LinearProgram::Row& row : program.rows) entries += std::ssize(row.entries);
  ClpSimplex solver;
  solver.setLogLevel(0);
  if (!poller.ShouldStop(kUnitsPerEntry * entries)) {
    Load(program, solver);
    const PollingHandler handler(&poller, kUnitsPerRow * std::ssize(program.rows));
    solver.passInEventHandler(&handler);
    solver.dual();
  }
  std::vector<double> multipliers(program.rows.size(), 0.0);
  const double* const prices = solver.getRowPrice();
  for (std::size_t r = 0; prices != nullptr && r < multipliers.size(); ++r) multipliers[r] = prices[r];
  return multipliers;
}

}  // namespace planwright
