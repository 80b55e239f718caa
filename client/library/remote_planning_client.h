// PlanningClient over gRPC.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_REMOTE_PLANNING_CLIENT_H_
#define PLANWRIGHT_CLIENT_LIBRARY_REMOTE_PLANNING_CLIENT_H_

#include <memory>

#include "client/library/planning_client.h"
#include "client/library/remote_store_client.h"
#include "client/library/server_connection.h"
#include "planwright/v1/planning_service.grpc.pb.h"

namespace planwright::client {

// One channel to a server, or to all addresses of a name in turn (round robin). Every call has a deadline; UNAVAILABLE
// is retried with backoff, at most 4 attempts, nothing else is. Messages up to 64 MiB both ways.
//
// A CreatePlan with a listener or a stop token is a StreamPlan on the wire (unless its plan is to be kept), or a plain
// CreatePlan where the server is too old for that: it then reports nothing, and a stop request ends it without a plan.
class RemotePlanningClient final : public PlanningClient {
 public:
  // Connects with the first call. With a token that is not printable ASCII, every call fails with INVALID_ARGUMENT.
  // REQUIRES: the connection has an address.
  explicit RemotePlanningClient(const ServerConnection& connection);

  absl::StatusOr<v1::CreatePlanResponse> CreatePlan(const v1::CreatePlanRequest& request,
                                                    const CallOptions& options) override;
  absl::StatusOr<v1::BatchCreatePlansResponse> BatchCreatePlans(const v1::BatchCreatePlansRequest& request,
                                                                const CallOptions& options) override;
  absl::StatusOr<v1::EvaluatePlanResponse> EvaluatePlan(const v1::EvaluatePlanRequest& request,
                                                        const CallOptions& options) override;
  absl::Status SimulatePlan(const v1::SimulatePlanRequest& request, const CallOptions& options,
                            const SimulationListener& listener) override;
  absl::StatusOr<v1::GetGraphResponse> GetGraph(const v1::GetGraphRequest& request,
                                                const CallOptions& options) override;
  absl::StatusOr<v1::GetClusterResponse> GetCluster(const v1::GetClusterRequest& request,
                                                    const CallOptions& options) override;
  absl::StatusOr<v1::GetServerInfoResponse> GetServerInfo(const v1::GetServerInfoRequest& request,
                                                          const CallOptions& options) override;

  StoreClient* store() override { return &store_; }

 private:
  explicit RemotePlanningClient(const std::shared_ptr<grpc::ChannelInterface>& channel)
      : stub_(v1::PlanningService::NewStub(channel)), store_(*stub_, channel) {}

  std::unique_ptr<v1::PlanningService::Stub> stub_;
  RemoteStoreClient store_;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_REMOTE_PLANNING_CLIENT_H_
