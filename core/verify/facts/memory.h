// What a set of operators needs of the memory of one device (docs/cost-model.md section 7).
#ifndef PLANWRIGHT_CORE_VERIFY_FACTS_MEMORY_H_
#define PLANWRIGHT_CORE_VERIFY_FACTS_MEMORY_H_

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/verify/facts/assignment.h"

namespace planwright {

// Whether stages run their forward pass again before the backward pass, instead of keeping activations: FULL, where
// there is a backward pass.
bool Recomputes(const ResolvedProblem& problem);

// The sum over all `operators`.
int64_t ParameterBytesOf(const OperatorGraph& graph, const std::vector<OperatorId>& operators);

// DECLARED: the sum of memory_bytes. COMPONENTS: parameters with their versions, gradients and optimizer state (rounded
// up once), activations of `in_flight` micro-batches where there is a backward pass, the largest workspace, twice
// `boundary_bytes`, and the reserve.
int64_t MemoryOf(const OperatorGraph& graph, const ResolvedProblem& problem, const std::vector<OperatorId>& operators,
                 int64_t boundary_bytes, int32_t in_flight);

// The part of MemoryOf that depends neither on the micro-batches in flight nor on what crosses, without the reserve and
// the workspace, which devices share among their stages.
int64_t StaticBytesOf(const OperatorGraph& graph, const ResolvedProblem& problem,
                      const std::vector<OperatorId>& operators);

// The part of MemoryOf that is kept for each micro-batch in flight: activations; none with recomputation.
int64_t StoredBytesOf(const OperatorGraph& graph, const ResolvedProblem& problem,
                      const std::vector<OperatorId>& operators);

// The largest workspace, as MemoryOf counts it; with recomputation, activations of its operator included.
int64_t WorkspaceBytesOf(const OperatorGraph& graph, const ResolvedProblem& problem,
                         const std::vector<OperatorId>& operators);

// Adds a violation for every device that holds more than its memory.
// REQUIRES: `plan` is that of `assignment`.
void CheckMemory(const Cluster& cluster, const Assignment& assignment, const Plan& plan, Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_FACTS_MEMORY_H_
