// CreatePlan as a StreamPlan call.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_PLAN_STREAM_H_
#define PLANWRIGHT_CLIENT_LIBRARY_PLAN_STREAM_H_

#include "absl/status/statusor.h"
#include "client/library/planning_client.h"
#include "planwright/v1/planning_service.grpc.pb.h"

namespace planwright::client {

// PlanningClient::CreatePlan over `stub`. Cancelling an RPC loses its answer; so where options.stop can be requested,
// the plan of each incumbent is asked for, and the latest one is the answer to a stop request. Errors: as StreamPlan;
// UNIMPLEMENTED, the server is too old for it.
absl::StatusOr<v1::CreatePlanResponse> CreatePlanByStream(v1::PlanningService::Stub& stub,
                                                          const v1::CreatePlanRequest& request,
                                                          const CallOptions& options);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_PLAN_STREAM_H_
