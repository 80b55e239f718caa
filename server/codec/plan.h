// Plan of core <-> Plan of the wire, and what EvaluatePlan reads of a plan of the wire.
#ifndef PLANWRIGHT_SERVER_CODEC_PLAN_H_
#define PLANWRIGHT_SERVER_CODEC_PLAN_H_

#include <optional>
#include <string>

#include "core/base/ids.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "planwright/v1/plan.pb.h"
#include "server/codec/scalars.h"

namespace planwright::server {

// Everything but `name` and the digests. REQUIRES: ids in range.
v1::Plan EncodePlan(const Plan& plan, const OperatorGraph& graph, const Cluster& cluster);

// The inverse, for plans that EncodePlan wrote: `operators` and `devices` say what each name is in the plan. Of the
// problem only what the schedule repeats of it is set. Violations, all at "plan": names, enums and times that
// EncodePlan would not have written.
Plan DecodePlan(const v1::Plan& wire, const OperatorGraph& graph, const NameIndex<OperatorId>& operators,
                const NameIndex<DeviceId>& devices, Violations& violations);

void EncodeBound(const Bound& bound, v1::Bound& wire);
void EncodeIncumbent(const Incumbent& incumbent, v1::Provenance::Incumbent& wire);

// Operators and devices of the stages, and joint choices; where the plan, or its problem, is PERIODIC and has tasks,
// their pattern. Violations (paths below "plan"): names that resolve to nothing, which are left out; tasks of no stage,
// with unknown operations or impossible times.
Placement DecodePlacement(const v1::Plan& wire, const OperatorGraph& graph, const Cluster& cluster,
                          Violations& violations);

// Adds a violation for whatever `stated` says and `fresh`, the same placement costed anew, does not:
//   - single numbers that are set (are not 0) and, in messages that set any, truth values: of the plan, its stages and
//     their replicas, devices, links, schedule and estimate;
//   - lists with an element: indices and copies are places; devices in use, their stages, links with traffic, and tasks
//     with their times are listed as they are, each once;
//   - bounds for the problem: at most the objective; the largest is lower_bound_ms, whose distance is relative_gap; a
//     proof and stop reason OPTIMAL need what proves them;
//   - baselines that are admissible and better than the bound; the slack of an explanation.
// Not judged, because placements do not say it: names and texts, how the search went (counters, times, incumbents,
// seed), other bounds and the rest of baselines, what relief would give, and `problem`, the question itself.
// Stages are matched by their operators, devices by name, tasks by operation and stage. Times are compared as
// picoseconds, shares to 9 digits.
void CheckStatedNumbers(const v1::Plan& stated, const v1::Plan& fresh, Violations& violations);

// Whether the two directions of a link are two links of plans for `problem`, which is resolved: in patterns with full
// duplex. Else the ends of LinkUsage are in no order of their own.
bool HasDirectedLinks(const v1::PlanningProblem& problem);

// For people, where the numbers of `plan` follow other rules than those of this program (Plan.cost_model_version), so
// that they cannot be held against its own. nullopt: they do not, or it states none.
std::optional<std::string> OtherRulesWarning(const v1::Plan& plan);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_PLAN_H_
