#include "server/service/admin_service.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/engine/task/without_exceptions.h"
#include "server/service/call/call_messages.h"
#include "server/service/call/resource_of.h"
#include "server/service/call/unary_call.h"
#include "server/service/record/status_conversion.h"

namespace planwright::server {
namespace {

// None of these requests needs more.
constexpr std::size_t kMaxRequestBytes = 64 << 10;

// What a request changes: what is stored, or the limits of a tenant.
template <typename Request>
void DescribeChange(const Request& request, RpcRecord& record) {
  if constexpr (requires { request.tenant(); }) record.SetResourceOwner(request.tenant());
  if constexpr (requires { request.name(); }) {
    record.SetResource(request.name());
  } else if constexpr (requires { request.tenant(); }) {
    record.SetResource(absl::StrCat("tenants/", request.tenant()));
  }
  if constexpr (requires { request.limits(); }) record.SetDetails(request.limits().ShortDebugString());
}

}  // namespace

CallStart AdminServiceImpl::Begin(const char* method, Context& context) {
  return callers_.Begin(method, context, "unary", v1::AdminService::service_full_name());
}

template <typename Request, typename Response>
grpc::ServerUnaryReactor* AdminServiceImpl::Answer(
    const char* method, Context& context, const Buffer& request, Buffer& response,
    absl::StatusOr<Response> (AdminDesk::*handler)(const Request& request) const) {
  const CallStart start = Begin(method, context);
  const absl::Status status = WithoutExceptions([&]() -> absl::Status {
    RETURN_IF_ERROR(start.permitted);
    if (request.Length() > kMaxRequestBytes) {
      return absl::InvalidArgumentError(absl::StrCat("the request must have at most ", kMaxRequestBytes, " bytes"));
    }
    Request message;
    MemoryAccount::Hold unpacked(services_.unpacked);
    RETURN_IF_ERROR(ReadMessage(request, services_.engine.model_limits(), unpacked, message));
    start.record->SetRunning();
    DescribeChange(message, *start.record);
    ASSIGN_OR_RETURN(const Response answer, (desk_.*handler)(message));
    // The tenant whose call it was.
    if constexpr (requires { answer.call().tenant(); }) start.record->SetResourceOwner(answer.call().tenant());
    return WriteMessage(answer, response);
  });
  start.record->SetStatus(status);
  grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

template <typename Request, typename Response>
grpc::ServerUnaryReactor* AdminServiceImpl::Ask(const char* method, Context& context, const Buffer& request,
                                                Buffer& response,
                                                absl::StatusOr<Response> (AdminDesk::*handler)(const Request& request)
                                                    const) {
  CallStart start = Begin(method, context);
  // Lives for as long as the handler is called.
  RpcRecord& record = *start.record;
  // The call deletes itself (OnDone).
  return (new UnaryCall<Request, Response>(services_, services_.lookups, std::move(start), request, response,
                                           [this, handler, &record](const Request& message, const CallContext&) {
                                             DescribeChange(message, record);
                                             return (desk_.*handler)(message);
                                           }))
      ->Start();
}

grpc::ServerUnaryReactor* AdminServiceImpl::ListCalls(Context* context, const Buffer* request, Buffer* response) {
  return Answer("ListCalls", *context, *request, *response, &AdminDesk::ListCalls);
}

grpc::ServerUnaryReactor* AdminServiceImpl::CancelCall(Context* context, const Buffer* request, Buffer* response) {
  return Answer("CancelCall", *context, *request, *response, &AdminDesk::CancelCall);
}

grpc::ServerUnaryReactor* AdminServiceImpl::ListTenants(Context* context, const Buffer* request, Buffer* response) {
  return Answer("ListTenants", *context, *request, *response, &AdminDesk::ListTenants);
}

grpc::ServerUnaryReactor* AdminServiceImpl::SetTenantLimits(Context* context, const Buffer* request, Buffer* response) {
  return Answer("SetTenantLimits", *context, *request, *response, &AdminDesk::SetTenantLimits);
}

grpc::ServerUnaryReactor* AdminServiceImpl::ResetTenantLimits(Context* context, const Buffer* request,
                                                              Buffer* response) {
  return Answer("ResetTenantLimits", *context, *request, *response, &AdminDesk::ResetTenantLimits);
}

grpc::ServerUnaryReactor* AdminServiceImpl::ListTenantOperations(Context* context, const Buffer* request,
                                                                 Buffer* response) {
  return Ask("ListTenantOperations", *context, *request, *response, &AdminDesk::ListTenantOperations);
}

grpc::ServerUnaryReactor* AdminServiceImpl::GetTenantOperation(Context* context, const Buffer* request,
                                                               Buffer* response) {
  return Ask("GetTenantOperation", *context, *request, *response, &AdminDesk::GetTenantOperation);
}

grpc::ServerUnaryReactor* AdminServiceImpl::CancelTenantOperation(Context* context, const Buffer* request,
                                                                  Buffer* response) {
  return Ask("CancelTenantOperation", *context, *request, *response, &AdminDesk::CancelTenantOperation);
}

grpc::ServerUnaryReactor* AdminServiceImpl::ListTenantItems(Context* context, const Buffer* request, Buffer* response) {
  return Ask("ListTenantItems", *context, *request, *response, &AdminDesk::ListTenantItems);
}

grpc::ServerUnaryReactor* AdminServiceImpl::DeleteTenantItem(Context* context, const Buffer* request,
                                                             Buffer* response) {
  return Ask("DeleteTenantItem", *context, *request, *response, &AdminDesk::DeleteTenantItem);
}

}  // namespace planwright::server
