// Why nothing fits, and what would.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_WHAT_WOULD_FIT_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_WHAT_WOULD_FIT_H_

#include "absl/status/status.h"
#include "core/base/limits.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/plan/joint_planning.h"

namespace planwright {

// REQUIRES: a search to its end has found no plan of `question` on `cluster`, its devices in one order, without links
// of pairs. FAILED_PRECONDITION (InfeasibilityOf): plans again with choices that the question rules out, and on more
// nodes of each of its classes alone, whole ones where a limit to the devices leaves out part of one; minimum_devices
// is that of its settings on the class of which the fewest do, 0 where no number of nodes that was tried holds the
// model. INVALID_ARGUMENT (ViolationsOf): there may
// be plans, which take too long to be looked for. Or NotWithinLimitsError.
absl::Status NothingFitsError(const JointQuestion& question, const TrainingCluster& cluster, const SolveLimits& limits);

// Of searches that found nothing and rule nothing out (JointOutcome::is_open): DEADLINE_EXCEEDED (IsNoPlanFound).
absl::Status NotFoundInterleavedError();

// Of searches that found nothing where devices of one class differ in memory, and some plan may fit:
// DEADLINE_EXCEEDED (IsNoPlanFound).
absl::Status NotFoundOnUnlikeMemoryError();

// What gives a search more memory.
inline constexpr char kMoreMemory[] = "restrict degrees or micro-batches, or give the server more memory";

// The error of a search that was told to stop, CANCELLED or DEADLINE_EXCEEDED (IsNoPlanFound), or else had no memory
// left: RESOURCE_EXHAUSTED.
absl::Status NotWithinLimitsError(const SolveLimits& limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_WHAT_WOULD_FIT_H_
