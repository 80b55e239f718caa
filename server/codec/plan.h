// Plan of core -> Plan of the wire, and what EvaluatePlan reads of a plan of the wire.
#ifndef PLANWRIGHT_SERVER_CODEC_PLAN_H_
#define PLANWRIGHT_SERVER_CODEC_PLAN_H_

#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "planwright/v1/plan.pb.h"

namespace planwright::server {

// Everything but `name` and the digests. REQUIRES: ids in range.
v1::Plan EncodePlan(const Plan& plan, const OperatorGraph& graph, const Cluster& cluster);

void EncodeBound(const Bound& bound, v1::Bound& wire);
void EncodeIncumbent(const Incumbent& incumbent, v1::Provenance::Incumbent& wire);

// Operators and devices of the stages; where the plan, or its problem, is PERIODIC and has tasks, their pattern.
// Violations (paths below "plan"): names that resolve to nothing, which are left out; tasks of no stage, with unknown
// operations or impossible times.
Placement DecodePlacement(const v1::Plan& wire, const OperatorGraph& graph, const Cluster& cluster,
                          Violations& violations);

// Adds a violation for every number that `stated` sets (is not 0) and that differs from `fresh`, the same placement
// costed anew: objective, loads, communication, memory, estimate, and resources of tasks; and for a lower bound above
// the objective or a proof of optimality without equal bound. Stages are matched by their operators, devices by name,
// tasks of a pattern by operation and stage. Times are compared as picoseconds, shares to 9 digits.
void CheckStatedNumbers(const v1::Plan& stated, const v1::Plan& fresh, Violations& violations);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_PLAN_H_
