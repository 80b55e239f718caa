// Operations: the methods of PlanningServiceImpl for what runs in the background.
#include "server/service/methods/wait_operation_call.h"
#include "server/service/planning_service.h"

namespace planwright::server {

using Context = grpc::CallbackServerContext;
using Buffer = grpc::ByteBuffer;

grpc::ServerUnaryReactor* PlanningServiceImpl::SubmitPlan(Context* context, const Buffer* request, Buffer* response) {
  return StartLookup("SubmitPlan", *context, *request, *response, services_.operations, &Operations::SubmitPlan);
}

grpc::ServerUnaryReactor* PlanningServiceImpl::SweepPlans(Context* context, const Buffer* request, Buffer* response) {
  return StartLookup("SweepPlans", *context, *request, *response, services_.operations, &Operations::SweepPlans);
}

grpc::ServerUnaryReactor* PlanningServiceImpl::GetOperation(Context* context, const Buffer* request, Buffer* response) {
  return StartLookup("GetOperation", *context, *request, *response, services_.operations, &Operations::GetOperation);
}

grpc::ServerUnaryReactor* PlanningServiceImpl::ListOperations(Context* context, const Buffer* request,
                                                              Buffer* response) {
  return StartLookup("ListOperations", *context, *request, *response, services_.operations,
                     &Operations::ListOperations);
}

grpc::ServerUnaryReactor* PlanningServiceImpl::WaitOperation(Context* context, const Buffer* request,
                                                             Buffer* response) {
  // The call deletes itself (OnDone).
  return (new WaitOperationCall(services_, Begin("WaitOperation", *context), *request, *response))->Start();
}

grpc::ServerUnaryReactor* PlanningServiceImpl::CancelOperation(Context* context, const Buffer* request,
                                                               Buffer* response) {
  return StartLookup("CancelOperation", *context, *request, *response, services_.operations,
                     &Operations::CancelOperation);
}

}  // namespace planwright::server
