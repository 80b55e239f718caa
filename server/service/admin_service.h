// planwright.v1.AdminService on gRPC's callback API.
#ifndef PLANWRIGHT_SERVER_SERVICE_ADMIN_SERVICE_H_
#define PLANWRIGHT_SERVER_SERVICE_ADMIN_SERVICE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "absl/status/statusor.h"
#include "planwright/v1/admin_service.grpc.pb.h"
#include "server/service/admin_desk.h"
#include "server/service/planning_service.h"

namespace planwright::server {

// The generated service with its methods taking bytes (see call_messages.h).
template <typename Base>
using WithLiveMethods =
    v1::AdminService::WithRawCallbackMethod_ListCalls<v1::AdminService::WithRawCallbackMethod_CancelCall<
        v1::AdminService::WithRawCallbackMethod_ListTenants<v1::AdminService::WithRawCallbackMethod_SetTenantLimits<
            v1::AdminService::WithRawCallbackMethod_ResetTenantLimits<Base>>>>>;
template <typename Base>
using WithStoreMethods = v1::AdminService::WithRawCallbackMethod_ListTenantOperations<
    v1::AdminService::WithRawCallbackMethod_GetTenantOperation<
        v1::AdminService::WithRawCallbackMethod_CancelTenantOperation<
            v1::AdminService::WithRawCallbackMethod_ListTenantItems<
                v1::AdminService::WithRawCallbackMethod_DeleteTenantItem<Base>>>>>;

// Thread-safe. What is asked of memory is answered at once, on gRPC's thread, also when the server is full.
class AdminServiceImpl final : public WithLiveMethods<WithStoreMethods<v1::AdminService::Service>> {
 public:
  // `callers`: says who calls; it outlives the service, as what `services` refers to does.
  AdminServiceImpl(const CallServices& services, PlanningServiceImpl& callers)
      : services_(services), callers_(callers), desk_(services) {}

  using Context = grpc::CallbackServerContext;
  using Buffer = grpc::ByteBuffer;

  grpc::ServerUnaryReactor* ListCalls(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* CancelCall(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* ListTenants(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* SetTenantLimits(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* ResetTenantLimits(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* ListTenantOperations(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* GetTenantOperation(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* CancelTenantOperation(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* ListTenantItems(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* DeleteTenantItem(Context* context, const Buffer* request, Buffer* response) override;

 private:
  CallStart Begin(const char* method, Context& context);
  // Answers on this thread.
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* Answer(const char* method, Context& context, const Buffer& request, Buffer& response,
                                   absl::StatusOr<Response> (AdminDesk::*handler)(const Request& request) const);
  // Answers on a thread that may wait for the store.
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* Ask(const char* method, Context& context, const Buffer& request, Buffer& response,
                                absl::StatusOr<Response> (AdminDesk::*handler)(const Request& request) const);

  CallServices services_;
  PlanningServiceImpl& callers_;
  AdminDesk desk_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_ADMIN_SERVICE_H_
