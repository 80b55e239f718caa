// Inputs that are named, as the messages themselves.
#ifndef PLANWRIGHT_CLIENT_CLI_COMMANDS_RESOLVE_INPUT_H_
#define PLANWRIGHT_CLIENT_CLI_COMMANDS_RESOLVE_INPUT_H_

#include <memory>

#include "absl/status/status.h"
#include "client/library/planning_client.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// Replaces the graph reference of `request`, or the cluster reference, by what the service says it is; nothing is done
// where the source is given or not set. Errors: those of GetGraph and GetCluster.
absl::Status ResolveGraph(PlanningClient& client, const CallOptions& call, v1::CreatePlanRequest& request);
absl::Status ResolveCluster(PlanningClient& client, const CallOptions& call, v1::CreatePlanRequest& request);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_COMMANDS_RESOLVE_INPUT_H_
