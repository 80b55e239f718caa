// What is stored: the methods of PlanningServiceImpl for plans, graphs and clusters.
#include "server/service/methods/register_graph_call.h"
#include "server/service/planning_service.h"

namespace planwright::server {

using Context = grpc::CallbackServerContext;
using Buffer = grpc::ByteBuffer;

grpc::ServerUnaryReactor* PlanningServiceImpl::GetPlan(Context* context, const Buffer* request, Buffer* response) {
  return StartLookup("GetPlan", *context, *request, *response, services_.engine.library(), &Library::GetPlan);
}

grpc::ServerUnaryReactor* PlanningServiceImpl::ListPlans(Context* context, const Buffer* request, Buffer* response) {
  return StartLookup("ListPlans", *context, *request, *response, services_.engine.library(), &Library::ListPlans);
}

grpc::ServerUnaryReactor* PlanningServiceImpl::DeletePlan(Context* context, const Buffer* request, Buffer* response) {
  return StartLookup("DeletePlan", *context, *request, *response, services_.engine.library(), &Library::DeletePlan);
}

grpc::ServerReadReactor<Buffer>* PlanningServiceImpl::RegisterGraph(Context* context, Buffer* response) {
  // The call deletes itself (OnDone).
  return (new RegisterGraphCall(services_, Begin("RegisterGraph", *context, "client_stream"), *context, *response))
      ->Start();
}

grpc::ServerUnaryReactor* PlanningServiceImpl::GetGraph(Context* context, const Buffer* request, Buffer* response) {
  auto handler = [this](const v1::GetGraphRequest& message, const CallContext& call) {
    return services_.engine.GetGraph(message, call);
  };
  return StartOn<v1::GetGraphRequest, v1::GetGraphResponse>(services_.retrievals, "GetGraph", *context, *request,
                                                            *response, handler);
}

grpc::ServerUnaryReactor* PlanningServiceImpl::ListGraphs(Context* context, const Buffer* request, Buffer* response) {
  return StartLookup("ListGraphs", *context, *request, *response, services_.engine.library(), &Library::ListGraphs);
}

grpc::ServerUnaryReactor* PlanningServiceImpl::DeleteGraph(Context* context, const Buffer* request, Buffer* response) {
  return StartDeletion("DeleteGraph", *context, *request, *response, &Library::DeleteGraph);
}

grpc::ServerUnaryReactor* PlanningServiceImpl::RegisterCluster(Context* context, const Buffer* request,
                                                               Buffer* response) {
  return StartLookup("RegisterCluster", *context, *request, *response, services_.engine.library(),
                     &Library::RegisterCluster);
}

grpc::ServerUnaryReactor* PlanningServiceImpl::GetCluster(Context* context, const Buffer* request, Buffer* response) {
  auto handler = [this](const v1::GetClusterRequest& message, const CallContext& call) {
    return services_.engine.GetCluster(message, call);
  };
  return StartOn<v1::GetClusterRequest, v1::GetClusterResponse>(services_.retrievals, "GetCluster", *context, *request,
                                                                *response, handler);
}

grpc::ServerUnaryReactor* PlanningServiceImpl::ListClusters(Context* context, const Buffer* request, Buffer* response) {
  return StartLookup("ListClusters", *context, *request, *response, services_.engine.library(), &Library::ListClusters);
}

grpc::ServerUnaryReactor* PlanningServiceImpl::DeleteCluster(Context* context, const Buffer* request,
                                                             Buffer* response) {
  return StartDeletion("DeleteCluster", *context, *request, *response, &Library::DeleteCluster);
}

}  // namespace planwright::server
