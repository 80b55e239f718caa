#include "core/planner/solvers.h"

#include <cstdlib>

#include "core/partition/contiguous_throughput.h"

namespace planwright {

SolveFunction SolverOf(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kIdealDp:
    case Algorithm::kLinearizedDp:
      return SolveContiguousThroughput;
    default:
      // Not reached: CheckSupported lets only Algorithms() through.
      std::abort();
  }
}

}  // namespace planwright
