// What a server keeps, as a C++ interface: plans, graphs, clusters, operations.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_STORE_CLIENT_H_
#define PLANWRIGHT_CLIENT_LIBRARY_STORE_CLIENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/library/planning_client.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

class AdminClient;

// Status codes of each call: planning_service.proto. A stop request ends a call with CANCELLED; `progress` is not told
// anything. Thread-safe.
class StoreClient {
 public:
  virtual ~StoreClient() = default;

  // What administrators may do there, for every tenant. Lives as long as this.
  virtual AdminClient& admin() = 0;

  virtual absl::StatusOr<v1::GetPlanResponse> GetPlan(const v1::GetPlanRequest& request,
                                                      const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::ListPlansResponse> ListPlans(const v1::ListPlansRequest& request,
                                                          const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::DeletePlanResponse> DeletePlan(const v1::DeletePlanRequest& request,
                                                            const CallOptions& options) = 0;
  // Sends the graph in fragments, so it may be larger than a message.
  virtual absl::StatusOr<v1::RegisterGraphResponse> RegisterGraph(const v1::Graph& graph,
                                                                  const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::RegisterClusterResponse> RegisterCluster(const v1::RegisterClusterRequest& request,
                                                                      const CallOptions& options) = 0;
  // A request without request_id gets one, so that a call that is sent again submits once.
  virtual absl::StatusOr<v1::SubmitPlanResponse> SubmitPlan(const v1::SubmitPlanRequest& request,
                                                            const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::SweepPlansResponse> SweepPlans(const v1::SweepPlansRequest& request,
                                                            const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::GetOperationResponse> GetOperation(const v1::GetOperationRequest& request,
                                                                const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::ListOperationsResponse> ListOperations(const v1::ListOperationsRequest& request,
                                                                    const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::WaitOperationResponse> WaitOperation(const v1::WaitOperationRequest& request,
                                                                  const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::CancelOperationResponse> CancelOperation(const v1::CancelOperationRequest& request,
                                                                      const CallOptions& options) = 0;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_STORE_CLIENT_H_
