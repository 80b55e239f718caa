// StoreClient over gRPC.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_REMOTE_STORE_CLIENT_H_
#define PLANWRIGHT_CLIENT_LIBRARY_REMOTE_STORE_CLIENT_H_

#include <memory>

#include "client/library/remote_admin_client.h"
#include "client/library/store_client.h"
#include "planwright/v1/planning_service.grpc.pb.h"

namespace planwright::client {

class RemoteStoreClient final : public StoreClient {
 public:
  // `stub` outlives the client and is of the same channel.
  RemoteStoreClient(v1::PlanningService::Stub& stub, const std::shared_ptr<grpc::ChannelInterface>& channel)
      : stub_(stub), admin_(channel) {}

  AdminClient& admin() override { return admin_; }

  absl::StatusOr<v1::GetPlanResponse> GetPlan(const v1::GetPlanRequest& request, const CallOptions& options) override;
  absl::StatusOr<v1::ListPlansResponse> ListPlans(const v1::ListPlansRequest& request,
                                                  const CallOptions& options) override;
  absl::StatusOr<v1::DeletePlanResponse> DeletePlan(const v1::DeletePlanRequest& request,
                                                    const CallOptions& options) override;
  absl::StatusOr<v1::RegisterGraphResponse> RegisterGraph(const v1::Graph& graph, const CallOptions& options) override;
  absl::StatusOr<v1::RegisterClusterResponse> RegisterCluster(const v1::RegisterClusterRequest& request,
                                                              const CallOptions& options) override;
  absl::StatusOr<v1::SubmitPlanResponse> SubmitPlan(const v1::SubmitPlanRequest& request,
                                                    const CallOptions& options) override;
  absl::StatusOr<v1::SweepPlansResponse> SweepPlans(const v1::SweepPlansRequest& request,
                                                    const CallOptions& options) override;
  absl::StatusOr<v1::GetOperationResponse> GetOperation(const v1::GetOperationRequest& request,
                                                        const CallOptions& options) override;
  absl::StatusOr<v1::ListOperationsResponse> ListOperations(const v1::ListOperationsRequest& request,
                                                            const CallOptions& options) override;
  absl::StatusOr<v1::WaitOperationResponse> WaitOperation(const v1::WaitOperationRequest& request,
                                                          const CallOptions& options) override;
  absl::StatusOr<v1::CancelOperationResponse> CancelOperation(const v1::CancelOperationRequest& request,
                                                              const CallOptions& options) override;

 private:
  v1::PlanningService::Stub& stub_;
  RemoteAdminClient admin_;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_REMOTE_STORE_CLIENT_H_
