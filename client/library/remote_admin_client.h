// AdminClient over gRPC.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_REMOTE_ADMIN_CLIENT_H_
#define PLANWRIGHT_CLIENT_LIBRARY_REMOTE_ADMIN_CLIENT_H_

#include <memory>

#include "client/library/admin_client.h"
#include "planwright/v1/admin_service.grpc.pb.h"

namespace planwright::client {

class RemoteAdminClient final : public AdminClient {
 public:
  explicit RemoteAdminClient(const std::shared_ptr<grpc::ChannelInterface>& channel)
      : stub_(v1::AdminService::NewStub(channel)) {}

  absl::StatusOr<v1::ListCallsResponse> ListCalls(const v1::ListCallsRequest& request,
                                                  const CallOptions& options) override;
  absl::StatusOr<v1::CancelCallResponse> CancelCall(const v1::CancelCallRequest& request,
                                                    const CallOptions& options) override;
  absl::StatusOr<v1::ListTenantsResponse> ListTenants(const v1::ListTenantsRequest& request,
                                                      const CallOptions& options) override;
  absl::StatusOr<v1::SetTenantLimitsResponse> SetTenantLimits(const v1::SetTenantLimitsRequest& request,
                                                              const CallOptions& options) override;
  absl::StatusOr<v1::ResetTenantLimitsResponse> ResetTenantLimits(const v1::ResetTenantLimitsRequest& request,
                                                                  const CallOptions& options) override;
  absl::StatusOr<v1::ListTenantOperationsResponse> ListTenantOperations(const v1::ListTenantOperationsRequest& request,
                                                                        const CallOptions& options) override;
  absl::StatusOr<v1::CancelTenantOperationResponse> CancelTenantOperation(
      const v1::CancelTenantOperationRequest& request, const CallOptions& options) override;
  absl::StatusOr<v1::ListTenantItemsResponse> ListTenantItems(const v1::ListTenantItemsRequest& request,
                                                              const CallOptions& options) override;
  absl::StatusOr<v1::DeleteTenantItemResponse> DeleteTenantItem(const v1::DeleteTenantItemRequest& request,
                                                                const CallOptions& options) override;

 private:
  std::unique_ptr<v1::AdminService::Stub> stub_;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_REMOTE_ADMIN_CLIENT_H_
