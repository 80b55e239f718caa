// Stands in where the build has no solver.
#include <cstdlib>

#include "core/partition/mip/mip_solver.h"

namespace planwright {

bool HasMipSolver() { return false; }

MipOutcome SolveIntegerProgram(const MipRequest& /*request*/) {
  // Not reached: callers ask HasMipSolver first.
  std::abort();
}

}  // namespace planwright
