// Best contiguous split for throughput: reduction to blocks, elementary proofs and bounds, greedy and linearized splits
// for a plan at once, then the exact dynamic program over ideals.
//
// The search works on loads in which a device pays each net once. For host_staged those are the true loads. For uniform
// they bound them from below: candidates are ranked by their true cost, and the bound stays valid.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_THROUGHPUT_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_THROUGHPUT_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/cost/cost_table.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"

namespace planwright {

struct ThroughputRequest {
  const OperatorGraph& graph;
  const Cluster& cluster;
  // Resolved and supported.
  const PlanningProblem& problem;
  const CostTable& costs;
  // algorithm: kAuto and kIdealDp search exactly, kLinearizedDp stops after the linearized program.
  const SolverOptions& options;
};

struct ThroughputOutcome {
  Placement placement;
  Picoseconds objective{0};
  // Ascending; the last one is the best.
  std::vector<Bound> bounds;
  StopReason stop_reason = StopReason::kExhausted;
  // "ideal_dp" or "linearized_dp": what was asked for.
  std::string algorithm;
  // What made the placement when the exact search could not finish; else empty.
  std::string fallback;
  std::map<std::string, int64_t> counters;
};

// What the caller provides; called on the calling thread only.
struct ThroughputCallbacks {
  // The true objective of a feasible placement.
  std::function<Picoseconds(const Placement&)> objective;
  std::function<void(std::string_view phase)> on_phase;
  // A better placement was found, by `algorithm`. `so_far` is the outcome if the search were stopped now.
  std::function<void(const ThroughputOutcome& so_far, int64_t work, std::string_view algorithm)> on_incumbent;
  std::function<void(const Bound&)> on_bound;
};

// Errors: FAILED_PRECONDITION (InfeasibilityOf) with a proof; DEADLINE_EXCEEDED (IsNoPlanFound), CANCELLED or
// RESOURCE_EXHAUSTED when the search had to stop before it found a split.
absl::StatusOr<ThroughputOutcome> SolveContiguousThroughput(const ThroughputRequest& request, const SolveLimits& limits,
                                                            TaskArena& arena, const ThroughputCallbacks& callbacks);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_THROUGHPUT_H_
