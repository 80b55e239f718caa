// A solver of integer programs from outside: CBC (COIN-OR), where the build has it.
#ifndef PLANWRIGHT_CORE_PARTITION_MIP_MIP_SOLVER_H_
#define PLANWRIGHT_CORE_PARTITION_MIP_MIP_SOLVER_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/limits.h"
#include "core/partition/mip/integer_program.h"

namespace planwright {

// Whether this build has a solver (CMake option PLANWRIGHT_WITH_CBC).
bool HasMipSolver();

struct MipRequest {
  const IntegerProgram& program;
  // Only solutions below this are of interest: the objective of a solution that is known.
  double cutoff = std::numeric_limits<double>::infinity();
  // Ends when the gap is at most this; at least kMipTolerance.
  double relative_gap = 0;
  // `work` counts nodes of the search tree. The clock and the stop flag are looked at in every iteration of the simplex
  // method, presolving and cuts of large programs look less often; a solver that does not stop within some milliseconds
  // is left behind (left_behind.h), with what it has found.
  SolveLimits limits = {};
};

// What solutions may violate, and by how much bounds may be off, relative to programs with coefficients of order 1.
inline constexpr double kMipTolerance = 1e-6;

enum class MipEnd {
  // The best solution below the cutoff is optimal within the gap, or none exists.
  kFinished,
  // The limits ended it.
  kNodeLimit,
  kStopped,
};

struct MipOutcome {
  MipEnd end = MipEnd::kStopped;
  // No solution has a smaller objective, up to kMipTolerance; where it is finished, the smaller of cutoff and optimum.
  double bound = -std::numeric_limits<double>::infinity();
  // The best solution below the cutoff, in the columns of the program; empty: none was found.
  std::vector<double> solution;
  int64_t nodes = 0;
};

// Deterministic, silent, on a thread of its own. REQUIRES: HasMipSolver(). Several may run at once in different
// threads.
MipOutcome SolveIntegerProgram(const MipRequest& request);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_MIP_MIP_SOLVER_H_
