// The gate in front of the solvers: every rule on graph, cluster and problem that core values can break.
//
// The codec has already refused what core values cannot express (names that do not resolve, numbers that are not
// finite). Paths are those of the wire ("graph.operators[17].forward_operator"). Complexity O(operators + tensors +
// devices). Solvers may assume everything that is checked here.
#ifndef PLANWRIGHT_CORE_MODEL_VALIDATOR_H_
#define PLANWRIGHT_CORE_MODEL_VALIDATOR_H_

#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// Sizes that a request may have; flags of the server.
struct ModelLimits {
  int64_t max_operators = 1'000'000;
  int64_t max_tensors = 4'000'000;
  int64_t max_devices = 16'384;
  int64_t max_name_bytes = 256;
};

// Sizes within the limits, at least one operator, names unique and of legal length, ids in range, numbers in their
// domain, acyclic (the violation names a cycle), no BACKWARD -> FORWARD tensor, not both backward times and BACKWARD
// operators, forward_operator only on BACKWARD operators and FORWARD.
void ValidateGraph(const OperatorGraph& graph, const ModelLimits& limits, Violations& violations);

// At least one device, names unique and of legal length, sizes and bandwidths in their domain, the interconnect
// consistent with the devices.
void ValidateCluster(const Cluster& cluster, const ModelLimits& limits, Violations& violations);

// Domains of the numbers, ids in range, and what graph, cluster and problem must agree on: a transfer time for every
// tensor that may cross, a bandwidth where replicas train, memory_bytes of every operator under DECLARED memory, pins
// and prohibitions that contradict neither support, colocation nor each other, and sums of times and bytes that stay
// below kMaxQuantity, so that no later sum overflows. REQUIRES: graph and cluster are valid.
void ValidateProblem(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                     const SolverOptions& options, Violations& violations);

// The part of it that looks at the options alone.
void ValidateOptions(const SolverOptions& options, Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_VALIDATOR_H_
