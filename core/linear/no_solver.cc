// Stands in where the build has no solver.
#include <cstdlib>

#include "core/linear/linear_program.h"

namespace planwright {

bool HasLinearSolver() { return false; }

std::vector<double> BestMultipliers(const LinearProgram& /*program*/, Poller& /*poller*/) {
  // Not reached: callers ask HasLinearSolver first.
  std::abort();
}

}  // namespace planwright
