// MIN_DEVICES of the joint search: the fewest devices, of all classes together, that hold the model, or on which it
// trains so fast.
//
// A plan may leave devices idle, so what some devices of each class can do, more of each can. So many of a class are
// whole nodes and part of one more. Of nodes alike without racks one search looks at all numbers (fewest_search.h);
// what other schedules or the part of a node at the end of the pipeline need less is asked from there on downwards.
// Elsewhere each class alone is bisected; mixes of classes are looked at by boxes of counts, of which one that is
// refuted with its most of each class is done. Each question is one search: it reaches the target, refutes it by its
// bound, or leaves it open, which counts as missed and not as refuted. On a network (pairs with links of their own)
// every device counts, whichever it is, and steps are those of plans that have places.
#ifndef PLANWRIGHT_CORE_JOINT_PLAN_FEWEST_DEVICES_H_
#define PLANWRIGHT_CORE_JOINT_PLAN_FEWEST_DEVICES_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/joint/plan/joint_planning.h"

namespace planwright {

// The answer on the fewest devices that were found to reach `question.settings.target_tokens_per_second` (unset: to
// hold the model). Counters "device_counts_tried", "devices_allowed" (of the part of the cluster that the answer's
// bounds speak of), "devices_needed" (the least number that is not refuted).
// Errors: FAILED_PRECONDITION (InfeasibilityOf) where all devices provably do not; DEADLINE_EXCEEDED (IsNoPlanFound)
// where they do not as far as is known; CANCELLED; RESOURCE_EXHAUSTED, as the former, where a search had no memory
// left.
absl::StatusOr<JointAnswer> PlanOnFewestDevices(const JointQuestion& question, const SolveLimits& limits,
                                                const std::function<void(const JointAnswer&)>& on_answer);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLAN_FEWEST_DEVICES_H_
