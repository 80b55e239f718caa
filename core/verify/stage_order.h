// Whether stages have an order, and which.
#ifndef PLANWRIGHT_CORE_VERIFY_STAGE_ORDER_H_
#define PLANWRIGHT_CORE_VERIFY_STAGE_ORDER_H_

#include <vector>

#include "core/base/units.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "core/verify/facts/assignment.h"

namespace planwright {

// Whether the stages form a pipeline (docs/cost-model.md section 8). NON_CONTIGUOUS lets a device hold several, and
// those of all devices together must have an order too.
//
// Brings the stages into pipeline order: the order they have if it is one, else the first by smallest operator id.
// Where none exists the order stays, and a violation names a cycle of stages and its tensors.
// Complexity O(tensor ends log + stages log).
// REQUIRES: the structure is whole.
void PutInPipelineOrder(const OperatorGraph& graph, const ResolvedProblem& problem, Assignment& assignment,
                        Violations& violations);

// When what runs for one micro-batch: the schedule of MIN_LATENCY (docs/cost-model.md section 8).
//
// A stage on an accelerator is a subgraph: it starts when its outside producers have finished and the subgraph before
// it on its device has ended, and all its operators finish at its end. An operator on a CPU starts when its inputs are
// there; CPUs are as many as it takes.
//
// Brings the stages into an order that can be executed: the order they have if it is one; else that in which the
// subgraphs become ready, by smallest operator, with the stages on CPUs at the end. False: there is none, and a
// violation names a cycle. REQUIRES: a whole structure. Complexity O((operators + tensor ends) log).
bool PutInExecutableOrder(const OperatorGraph& graph, const Cluster& cluster, Assignment& assignment,
                          Violations& violations);

struct JudgedSchedule {
  // By stage: the start of the subgraph; meaningless on CPUs.
  std::vector<Picoseconds> starts;
  Picoseconds latency{0};
};

// `loads` says how long each subgraph takes. REQUIRES: an order that can be executed. Complexity as above.
JudgedSchedule ScheduleSubgraphs(const ResolvedInput& input, const Assignment& assignment,
                                 const std::vector<Picoseconds>& loads);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_STAGE_ORDER_H_
