// planwright.v1.PlanningService on gRPC's callback API.
#ifndef PLANWRIGHT_SERVER_SERVICE_PLANNING_SERVICE_H_
#define PLANWRIGHT_SERVER_SERVICE_PLANNING_SERVICE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "planwright/v1/planning_service.grpc.pb.h"
#include "server/service/call_services.h"
#include "server/service/call_start.h"

namespace planwright::server {

// Every method takes bytes (see call_messages.h). Thread-safe.
class PlanningServiceImpl final
    : public v1::PlanningService::WithRawCallbackMethod_CreatePlan<
          v1::PlanningService::WithRawCallbackMethod_StreamPlan<v1::PlanningService::WithRawCallbackMethod_EvaluatePlan<
              v1::PlanningService::WithRawCallbackMethod_GetGraph<v1::PlanningService::WithRawCallbackMethod_GetCluster<
                  v1::PlanningService::WithRawCallbackMethod_BatchCreatePlans<
                      v1::PlanningService::WithRawCallbackMethod_GetServerInfo<v1::PlanningService::Service>>>>>>> {
 public:
  explicit PlanningServiceImpl(const CallServices& services);

  grpc::ServerUnaryReactor* CreatePlan(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamPlan(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* BatchCreatePlans(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* EvaluatePlan(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetGraph(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetCluster(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  // Answered from memory, also when the server is full.
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;

 private:
  // Says who calls and whether they may.
  CallStart Begin(const char* method, const grpc::CallbackServerContext& context, const char* type = "unary");
  // The caller's x-request-id where it sends a sensible one, else one of our own.
  std::string RequestId(const grpc::CallbackServerContext& context);

  CallServices services_;
  grpc::ByteBuffer server_info_;
  // Tells the calls of this process from those of others in the logs.
  std::string request_id_prefix_;
  std::atomic<uint64_t> calls_{0};
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_PLANNING_SERVICE_H_
