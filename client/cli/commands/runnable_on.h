// plan --runnable_on=TARGET: plans that a trainer or a server can express (client/exporter).
#ifndef PLANWRIGHT_CLIENT_CLI_COMMANDS_RUNNABLE_ON_H_
#define PLANWRIGHT_CLIENT_CLI_COMMANDS_RUNNABLE_ON_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/library/planning_client.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// The targets that run pipelines of whole layers.
std::vector<std::string> RunnableTargets();

// Makes what `target` can express a constraint of `request`: whole layers, contiguous stages, as many replicas of each,
// no CPUs, and the workload that it is for; the joint search is only looked at. The cluster is asked for where it is
// named.
// Errors: INVALID_ARGUMENT: no such target, or the request asks for what it does not have; those of GetCluster.
absl::Status MakeRunnable(std::string_view target, PlanningClient& client, const CallOptions& call,
                          v1::CreatePlanRequest& request);

// One search.
using PlanSearch = std::function<absl::StatusOr<v1::CreatePlanResponse>(const v1::CreatePlanRequest&)>;

// The plan of a request that MakeRunnable has constrained; of the joint search the best that `target` expresses, by
// several searches (runnable_joint.h). The graph is asked for where it is named.
// Errors: those of the search; INVALID_ARGUMENT, with the reason: `target` cannot express the plan all the same,
// because of the model.
absl::StatusOr<v1::CreatePlanResponse> PlanRunnable(std::string_view target, PlanningClient& client,
                                                    const CallOptions& call, const v1::CreatePlanRequest& request,
                                                    const PlanSearch& search);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_COMMANDS_RUNNABLE_ON_H_
