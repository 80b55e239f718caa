// What administrators see and end on a server, as a C++ interface.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_ADMIN_CLIENT_H_
#define PLANWRIGHT_CLIENT_LIBRARY_ADMIN_CLIENT_H_

#include "absl/status/statusor.h"
#include "client/library/planning_client.h"
#include "planwright/v1/admin_service.pb.h"

namespace planwright::client {

// Status codes of each call: admin_service.proto. A stop request ends a call with CANCELLED. Thread-safe.
class AdminClient {
 public:
  virtual ~AdminClient() = default;

  virtual absl::StatusOr<v1::ListCallsResponse> ListCalls(const v1::ListCallsRequest& request,
                                                          const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::CancelCallResponse> CancelCall(const v1::CancelCallRequest& request,
                                                            const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::ListTenantsResponse> ListTenants(const v1::ListTenantsRequest& request,
                                                              const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::SetTenantLimitsResponse> SetTenantLimits(const v1::SetTenantLimitsRequest& request,
                                                                      const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::ResetTenantLimitsResponse> ResetTenantLimits(const v1::ResetTenantLimitsRequest& request,
                                                                          const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::ListTenantOperationsResponse> ListTenantOperations(
      const v1::ListTenantOperationsRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::CancelTenantOperationResponse> CancelTenantOperation(
      const v1::CancelTenantOperationRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::ListTenantItemsResponse> ListTenantItems(const v1::ListTenantItemsRequest& request,
                                                                      const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::DeleteTenantItemResponse> DeleteTenantItem(const v1::DeleteTenantItemRequest& request,
                                                                        const CallOptions& options) = 0;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_ADMIN_CLIENT_H_
