// What administrators ask for and set, as messages.
#ifndef PLANWRIGHT_SERVER_SERVICE_ADMIN_DESK_H_
#define PLANWRIGHT_SERVER_SERVICE_ADMIN_DESK_H_

#include <string>

#include "absl/status/statusor.h"
#include "planwright/v1/admin_service.pb.h"
#include "server/service/call/call_services.h"

namespace planwright::server {

// Thread-safe. Errors of each call: those of its RPC. None asks who calls; that has been asked before.
class AdminDesk {
 public:
  explicit AdminDesk(const CallServices& services) : services_(services) {}

  // Answered from memory.
  absl::StatusOr<v1::ListCallsResponse> ListCalls(const v1::ListCallsRequest& request) const;
  absl::StatusOr<v1::CancelCallResponse> CancelCall(const v1::CancelCallRequest& request) const;
  absl::StatusOr<v1::ListTenantsResponse> ListTenants(const v1::ListTenantsRequest& request) const;
  absl::StatusOr<v1::SetTenantLimitsResponse> SetTenantLimits(const v1::SetTenantLimitsRequest& request) const;
  absl::StatusOr<v1::ResetTenantLimitsResponse> ResetTenantLimits(const v1::ResetTenantLimitsRequest& request) const;

  // Asked of the store.
  absl::StatusOr<v1::ListTenantOperationsResponse> ListTenantOperations(
      const v1::ListTenantOperationsRequest& request) const;
  absl::StatusOr<v1::GetTenantOperationResponse> GetTenantOperation(const v1::GetTenantOperationRequest& request) const;
  absl::StatusOr<v1::CancelTenantOperationResponse> CancelTenantOperation(
      const v1::CancelTenantOperationRequest& request) const;
  absl::StatusOr<v1::ListTenantItemsResponse> ListTenantItems(const v1::ListTenantItemsRequest& request) const;
  absl::StatusOr<v1::DeleteTenantItemResponse> DeleteTenantItem(const v1::DeleteTenantItemRequest& request) const;

 private:
  v1::TenantInfo InfoOf(const std::string& tenant) const;

  CallServices services_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_ADMIN_DESK_H_
