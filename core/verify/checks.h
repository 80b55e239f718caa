// What a problem demands of a placement beside its order and its memory, and what a plan states against what it is.
#ifndef PLANWRIGHT_CORE_VERIFY_CHECKS_H_
#define PLANWRIGHT_CORE_VERIFY_CHECKS_H_

#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/verify/facts/assignment.h"

namespace planwright {

// Whether the problem lets plans use the device (DeviceSelection).
bool IsSelected(const Cluster& cluster, const DeviceSelection& selection, DeviceId id);

// Adds a violation for every breach of: colocation, layers that stay whole (granularity LAYER), pinned and forbidden
// devices, devices_to_use, num_stages and num_replicas, equal numbers of replicas (UNIFORM), how many stages a device
// may hold, and that all of them have the same replicas; for MIN_LATENCY one pass per accelerator stage and
// max_subgraphs_per_device; for PERIODIC accelerators only, and colocated operators in one stage. To colocation all
// CPUs are one device under MIN_LATENCY, to pins and bans they are not. `assignment` need not be whole. Complexity
// O(operators + replicas + labels).
void CheckRules(const ResolvedInput& input, const Assignment& assignment, Violations& violations);

// Adds every number of `stated` that differs from `fresh`, the same placement costed anew.
void CompareNumbers(const Plan& stated, const Plan& fresh, Violations& violations);

// Adds what is wrong among the bounds, the lower bound, the claim of optimality and the reason to stop, given the
// objective that the plan really has.
void CheckBounds(const Plan& plan, Picoseconds objective, Violations& violations);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_CHECKS_H_
