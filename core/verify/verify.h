// Checks a plan against the problem from first principles and costs it.
//
// A second implementation of docs/cost-model.md that shares only core/base and values of core/model with the rest: it
// neither calls nor is called by the solvers or core/cost. Every number that a plan states is computed anew and
// compared exactly (core time is integer).
// Knows every mode of MAX_THROUGHPUT in the limit of many micro-batches: stages that share devices (NON_CONTIGUOUS),
// replicas (PER_STAGE, UNIFORM), the three overlaps, GPIPE, every interconnect; synchronous steps of a number of
// micro-batches; PERIODIC on uniform; and MIN_LATENCY on host_staged.
// Complexity O((operators + tensor ends) x (log + stages / 64)) for one plan, and the pairs of replicas that each
// tensor joins; ids need not be in range.
#ifndef PLANWRIGHT_CORE_VERIFY_VERIFY_H_
#define PLANWRIGHT_CORE_VERIFY_VERIFY_H_

#include <optional>

#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"

namespace planwright {

// What a placement costs under a problem, and every constraint that it breaks.
struct Verdict {
  // Broken constraints, with paths "plan.stages[2].operators[0]". Empty: the placement is feasible.
  Violations violations;
  // The placement with every number computed: stages (compute, communication, load, memory, replica loads, backward
  // contiguity), devices, links, tasks, objective and estimate. nullopt: the structure is too broken to cost (an
  // operator in no stage or in two, an id out of range, a stage without device or with replicas that the problem does
  // not allow, an operator on a class that cannot run it; for MIN_LATENCY subgraphs that wait for each other; for
  // PERIODIC stages that are not in linear order, or a pattern with tasks that are missing or not known). Bounds,
  // provenance and warnings are left empty.
  std::optional<Plan> costed;
};

// Judges a placement. `problem` is supported (CheckSupported); graph and cluster are valid.
// Stages are taken in the order given where that is a pipeline order, else in the first order by smallest operator id
// that is one; if there is none, that is a violation. For MIN_LATENCY see PutInExecutableOrder, for PERIODIC
// CheckLinearOrder and CheckPattern.
// Empty stages are dropped.
Verdict VerifyPlacement(const ResolvedInput& input, const Placement& placement);

// Compares every number of `plan` with a fresh judgement of its placement and adds what differs:
// VerifyPlacement's violations, wrong loads, memory, objective, bounds above the objective, proven_optimal without
// equal bound, estimate, device order. Doubles may differ by 1e-9 relative. The best bound with scope PROBLEM must be
// lower_bound, proven_optimal must say whether it equals the objective, and OPTIMAL is no reason to stop otherwise.
// Warnings, incumbents, counters and times cannot be recomputed and are not judged.
void VerifyPlan(const OperatorGraph& graph, const Cluster& cluster, const Plan& plan, Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_VERIFY_H_
