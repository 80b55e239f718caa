// planwright.v1.PlanningService on gRPC's callback API.
#ifndef PLANWRIGHT_SERVER_SERVICE_PLANNING_SERVICE_H_
#define PLANWRIGHT_SERVER_SERVICE_PLANNING_SERVICE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "planwright/v1/planning_service.grpc.pb.h"
#include "server/service/call/call_services.h"
#include "server/service/call/call_start.h"
#include "server/service/call/unary_call.h"

namespace planwright::server {

// The generated service with the given methods taking bytes (see call_messages.h).
template <typename Base>
using WithPlanningMethods =
    v1::PlanningService::WithRawCallbackMethod_CreatePlan<v1::PlanningService::WithRawCallbackMethod_StreamPlan<
        v1::PlanningService::WithRawCallbackMethod_EvaluatePlan<v1::PlanningService::WithRawCallbackMethod_SimulatePlan<
            v1::PlanningService::WithRawCallbackMethod_BatchCreatePlans<
                v1::PlanningService::WithRawCallbackMethod_GetServerInfo<Base>>>>>>;
template <typename Base>
using WithGraphMethods = v1::PlanningService::WithRawCallbackMethod_RegisterGraph<
    v1::PlanningService::WithRawCallbackMethod_GetGraph<v1::PlanningService::WithRawCallbackMethod_ListGraphs<
        v1::PlanningService::WithRawCallbackMethod_DeleteGraph<Base>>>>;
template <typename Base>
using WithClusterMethods = v1::PlanningService::WithRawCallbackMethod_RegisterCluster<
    v1::PlanningService::WithRawCallbackMethod_GetCluster<v1::PlanningService::WithRawCallbackMethod_ListClusters<
        v1::PlanningService::WithRawCallbackMethod_DeleteCluster<Base>>>>;
template <typename Base>
using WithPlanMethods = v1::PlanningService::WithRawCallbackMethod_GetPlan<
    v1::PlanningService::WithRawCallbackMethod_ListPlans<v1::PlanningService::WithRawCallbackMethod_DeletePlan<Base>>>;

template <typename Base>
using WithOperationMethods = v1::PlanningService::WithRawCallbackMethod_SubmitPlan<
    v1::PlanningService::WithRawCallbackMethod_SweepPlans<v1::PlanningService::WithRawCallbackMethod_GetOperation<
        v1::PlanningService::WithRawCallbackMethod_ListOperations<
            v1::PlanningService::WithRawCallbackMethod_WaitOperation<
                v1::PlanningService::WithRawCallbackMethod_CancelOperation<Base>>>>>>;

// Thread-safe. The handlers of what is stored are in library_methods.cc, those of operations in operation_methods.cc.
class PlanningServiceImpl final
    : public WithPlanningMethods<
          WithGraphMethods<WithClusterMethods<WithPlanMethods<WithOperationMethods<v1::PlanningService::Service>>>>> {
 public:
  explicit PlanningServiceImpl(const CallServices& services);

  // To be called when what GetServerInfo tells has changed.
  void Refresh();

  grpc::ServerUnaryReactor* CreatePlan(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamPlan(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* BatchCreatePlans(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* EvaluatePlan(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* SimulatePlan(grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request) override;
  // Answered from memory, also when the server is full.
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;

  // What is stored.
  grpc::ServerUnaryReactor* GetPlan(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListPlans(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DeletePlan(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* RegisterGraph(grpc::CallbackServerContext* context,
                                                           grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetGraph(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListGraphs(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DeleteGraph(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* RegisterCluster(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetCluster(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListClusters(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DeleteCluster(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;

  // Operations.
  grpc::ServerUnaryReactor* SubmitPlan(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* SweepPlans(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetOperation(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListOperations(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* WaitOperation(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* CancelOperation(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) override;

  // Says who calls and whether they may, and tells the client how the logs call the call. `service`: the method's.
  CallStart Begin(const char* method, grpc::CallbackServerContext& context, const char* type = "unary",
                  const char* service = v1::PlanningService::service_full_name());

 private:
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* StartOn(Executor& executor, const char* method, grpc::CallbackServerContext& context,
                                    const grpc::ByteBuffer& request, grpc::ByteBuffer& response,
                                    typename UnaryCall<Request, Response>::Handler handler) {
    // The call deletes itself (OnDone).
    return (new UnaryCall<Request, Response>(services_, executor, Begin(method, context), request, response,
                                             std::move(handler)))
        ->Start();
  }
  // Starts a call that only looks something up or stores it: it does not wait for searches.
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* StartLookup(const char* method, grpc::CallbackServerContext& context,
                                        const grpc::ByteBuffer& request, grpc::ByteBuffer& response,
                                        typename UnaryCall<Request, Response>::Handler handler) {
    return StartOn<Request, Response>(services_.lookups, method, context, request, response, std::move(handler));
  }
  // As above, for a method of the library or of the operations.
  template <typename Keeper, typename Request, typename Response>
  grpc::ServerUnaryReactor* StartLookup(const char* method, grpc::CallbackServerContext& context,
                                        const grpc::ByteBuffer& request, grpc::ByteBuffer& response, Keeper& keeper,
                                        absl::StatusOr<Response> (Keeper::*handler)(const std::string& tenant,
                                                                                    const Request& request)) {
    return StartLookup<Request, Response>(method, context, request, response,
                                          [&keeper, handler](const Request& message, const CallContext& call) {
                                            return (keeper.*handler)(call.tenant, message);
                                          });
  }
  // As StartLookup, for a method that deletes what requests refer to: answers to those must not outlive it.
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* StartDeletion(const char* method, grpc::CallbackServerContext& context,
                                          const grpc::ByteBuffer& request, grpc::ByteBuffer& response,
                                          absl::StatusOr<Response> (Library::*handler)(const std::string& tenant,
                                                                                       const Request& request)) {
    return StartLookup<Request, Response>(method, context, request, response,
                                          [this, handler](const Request& message, const CallContext& call) {
                                            auto deleted = (services_.engine.library().*handler)(call.tenant, message);
                                            if (deleted.ok()) services_.answers.Forget(call.tenant, message.name());
                                            return deleted;
                                          });
  }

  // The caller's x-request-id where it sends a sensible one, else one of our own.
  std::string RequestId(const grpc::CallbackServerContext& context);

  CallServices services_;
  std::mutex info_mutex_;
  // Guarded by info_mutex_.
  grpc::ByteBuffer server_info_;
  // Tells the calls of this process from those of others in the logs.
  std::string request_id_prefix_;
  std::atomic<uint64_t> calls_{0};
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_PLANNING_SERVICE_H_
