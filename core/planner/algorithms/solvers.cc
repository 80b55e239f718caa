#include "core/planner/algorithms/solvers.h"

#include <cstdlib>

#include "core/partition/baselines/baselines.h"
#include "core/partition/contiguous/contiguous_throughput.h"
#include "core/partition/enumeration/enumeration.h"
#include "core/partition/latency/min_latency.h"
#include "core/partition/mip/mip_search.h"
#include "core/partition/noncontiguous/noncontiguous_throughput.h"
#include "core/partition/parmesan/uneven_search.h"
#include "core/partition/periodic/periodic_search.h"
#include "core/partition/sequence/sequence_search.h"
#include "core/partition/stage_annealing/stage_annealing.h"

namespace planwright {

SolveFunction SolverOf(Algorithm algorithm, ScheduleKind schedule) {
  if (algorithm == Algorithm::kEnumeration) return SolveByEnumeration;
  if (schedule == ScheduleKind::kPeriodic) return SolvePeriodic;
  switch (algorithm) {
    case Algorithm::kHierarchicalDp:
    case Algorithm::kIdealDp:
    case Algorithm::kLinearizedDp:
      return SolveContiguousThroughput;
    case Algorithm::kLatencyAnnealing:
      return SolveMinLatency;
    case Algorithm::kNetAnnealing:
      return SolveNonContiguousThroughput;
    case Algorithm::kSingleDevice:
    case Algorithm::kDataParallel:
    case Algorithm::kGreedy:
    case Algorithm::kLocalSearch:
    case Algorithm::kPipedream:
    case Algorithm::kScotch:
    case Algorithm::kMaxLoad:
      return SolveByBaseline;
    case Algorithm::kMip:
      return SolveByMip;
    case Algorithm::kParmesan:
    case Algorithm::kParmesanPaper:
      return SolveUnevenStages;
    case Algorithm::kSequenceDp:
      return SolveAlongSequences;
    case Algorithm::kStageAnnealing:
      return SolveByStageAnnealing;
    default:
      // Not reached: CheckSupported lets only Algorithms() through.
      std::abort();
  }
}

}  // namespace planwright
