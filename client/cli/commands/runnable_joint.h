// plan --runnable_on=TARGET --global_batch=B: the best plan of the joint search that a trainer can express, and what
// that costs.
//
// A trainer says one recomputation for all layers where the search chooses by layer, and shards what its kind of
// pipeline can. Each way to say a plan is a request of its own, a part of the whole space; the best answer wins, and
// stands beside the plan without the constraint. Where that one can be expressed, it is the answer, found by one
// search.
#ifndef PLANWRIGHT_CLIENT_CLI_COMMANDS_RUNNABLE_JOINT_H_
#define PLANWRIGHT_CLIENT_CLI_COMMANDS_RUNNABLE_JOINT_H_

#include <chrono>
#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

struct JointSearchCalls {
  // One search, within the time limit of its request.
  std::function<absl::StatusOr<v1::CreatePlanResponse>(const v1::CreatePlanRequest&)> plan;
  // FAILED_PRECONDITION: the target cannot express the plan.
  std::function<absl::Status(const v1::Plan&)> express;
  // How long all of this has taken.
  std::function<std::chrono::milliseconds()> spent;
};

// INVALID_ARGUMENT: --runnable_on=TARGET and another flag contradict, with the reason.
absl::Status Contradiction(std::string_view target, std::string_view flag, std::string_view why);

// INVALID_ARGUMENT: `target` is none that trains jointly planned models, or the request asks for what it does not have.
absl::Status CheckJointTarget(std::string_view target, const v1::PlanningProblem& problem);

// The best plan that `target` expresses, with its price as a warning. Its problem says what it was restricted to, and
// its bound speaks of that. The time limit of the request is that of all searches, each of which has a share of what
// the others have left; where it ended some of them, stop reason and a warning say so.
// Errors: those of CheckJointTarget and of the searches, FAILED_PRECONDITION where all forms provably do not fit;
// INVALID_ARGUMENT where plans were found, but none that the target can express, or MIN_DEVICES has one that it cannot;
// DEADLINE_EXCEEDED where there was no time to know. A plan_id is given to the answer alone. REQUIRES:
// problem.has_joint().
absl::StatusOr<v1::CreatePlanResponse> PlanJointlyFor(std::string_view target, const v1::CreatePlanRequest& request,
                                                      const JointSearchCalls& calls);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_COMMANDS_RUNNABLE_JOINT_H_
