#include "client/library/remote_admin_client.h"

#include "client/library/unary_call.h"

namespace planwright::client {

using AdminStub = v1::AdminService::Stub;

absl::StatusOr<v1::ListCallsResponse> RemoteAdminClient::ListCalls(const v1::ListCallsRequest& request,
                                                                   const CallOptions& options) {
  return Call(*stub_, &AdminStub::ListCalls, request, options);
}

absl::StatusOr<v1::CancelCallResponse> RemoteAdminClient::CancelCall(const v1::CancelCallRequest& request,
                                                                     const CallOptions& options) {
  return Call(*stub_, &AdminStub::CancelCall, request, options);
}

absl::StatusOr<v1::ListTenantsResponse> RemoteAdminClient::ListTenants(const v1::ListTenantsRequest& request,
                                                                       const CallOptions& options) {
  return Call(*stub_, &AdminStub::ListTenants, request, options);
}

absl::StatusOr<v1::SetTenantLimitsResponse> RemoteAdminClient::SetTenantLimits(
    const v1::SetTenantLimitsRequest& request, const CallOptions& options) {
  return Call(*stub_, &AdminStub::SetTenantLimits, request, options);
}

absl::StatusOr<v1::ResetTenantLimitsResponse> RemoteAdminClient::ResetTenantLimits(
    const v1::ResetTenantLimitsRequest& request, const CallOptions& options) {
  return Call(*stub_, &AdminStub::ResetTenantLimits, request, options);
}

absl::StatusOr<v1::ListTenantOperationsResponse> RemoteAdminClient::ListTenantOperations(
    const v1::ListTenantOperationsRequest& request, const CallOptions& options) {
  return Call(*stub_, &AdminStub::ListTenantOperations, request, options);
}

absl::StatusOr<v1::CancelTenantOperationResponse> RemoteAdminClient::CancelTenantOperation(
    const v1::CancelTenantOperationRequest& request, const CallOptions& options) {
  return Call(*stub_, &AdminStub::CancelTenantOperation, request, options);
}

absl::StatusOr<v1::ListTenantItemsResponse> RemoteAdminClient::ListTenantItems(
    const v1::ListTenantItemsRequest& request, const CallOptions& options) {
  return Call(*stub_, &AdminStub::ListTenantItems, request, options);
}

absl::StatusOr<v1::DeleteTenantItemResponse> RemoteAdminClient::DeleteTenantItem(
    const v1::DeleteTenantItemRequest& request, const CallOptions& options) {
  return Call(*stub_, &AdminStub::DeleteTenantItem, request, options);
}

}  // namespace planwright::client
