#include "client/library/remote_planning_client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <utility>

#include "client/library/plan_stream.h"
#include "client/library/wire_status.h"

namespace planwright::client {
namespace {

constexpr int kMaxMessageBytes = 64 << 20;

// Only UNAVAILABLE is safe and useful to retry blindly; every call here is idempotent.
constexpr char kServiceConfig[] = R"({
  "loadBalancingConfig": [{"round_robin": {}}],
  "methodConfig": [{
    "name": [{"service": "planwright.v1.PlanningService"}],
    "retryPolicy": {
      "maxAttempts": 4,
      "initialBackoff": "0.1s",
      "maxBackoff": "2s",
      "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }]
})";

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetServiceConfigJSON(kServiceConfig);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

template <typename Response, typename Request>
absl::StatusOr<Response> Call(v1::PlanningService::Stub& stub,
                              grpc::Status (v1::PlanningService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                                Response*),
                              const Request& request, const CallOptions& options) {
  grpc::ClientContext context;
  context.set_deadline(options.deadline);
  const std::stop_callback cancel(options.stop, [&context] { context.TryCancel(); });
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (!status.ok()) return ToAbslStatus(status);
  return response;
}

}  // namespace

RemotePlanningClient::RemotePlanningClient(const std::string& target)
    : stub_(v1::PlanningService::NewStub(MakeChannel(target))) {}

absl::StatusOr<v1::CreatePlanResponse> RemotePlanningClient::CreatePlan(const v1::CreatePlanRequest& request,
                                                                        const CallOptions& options) {
  if (options.progress != nullptr || options.stop.stop_possible()) {
    auto streamed = CreatePlanByStream(*stub_, request, options);
    if (streamed.status().code() != absl::StatusCode::kUnimplemented) return streamed;
  }
  return Call(*stub_, &v1::PlanningService::Stub::CreatePlan, request, options);
}

absl::StatusOr<v1::BatchCreatePlansResponse> RemotePlanningClient::BatchCreatePlans(
    const v1::BatchCreatePlansRequest& request, const CallOptions& options) {
  return Call(*stub_, &v1::PlanningService::Stub::BatchCreatePlans, request, options);
}

absl::StatusOr<v1::EvaluatePlanResponse> RemotePlanningClient::EvaluatePlan(const v1::EvaluatePlanRequest& request,
                                                                            const CallOptions& options) {
  return Call(*stub_, &v1::PlanningService::Stub::EvaluatePlan, request, options);
}

absl::Status RemotePlanningClient::SimulatePlan(const v1::SimulatePlanRequest& request, const CallOptions& options,
                                                const SimulationListener& listener) {
  grpc::ClientContext context;
  context.set_deadline(options.deadline);
  const std::stop_callback cancel(options.stop, [&context] { context.TryCancel(); });
  const auto stream = stub_->SimulatePlan(&context, request);
  v1::SimulatePlanResponse message;
  while (stream->Read(&message)) listener(std::exchange(message, {}));
  return ToAbslStatus(stream->Finish());
}

absl::StatusOr<v1::GetGraphResponse> RemotePlanningClient::GetGraph(const v1::GetGraphRequest& request,
                                                                    const CallOptions& options) {
  return Call(*stub_, &v1::PlanningService::Stub::GetGraph, request, options);
}

absl::StatusOr<v1::GetClusterResponse> RemotePlanningClient::GetCluster(const v1::GetClusterRequest& request,
                                                                        const CallOptions& options) {
  return Call(*stub_, &v1::PlanningService::Stub::GetCluster, request, options);
}

absl::StatusOr<v1::GetServerInfoResponse> RemotePlanningClient::GetServerInfo(const v1::GetServerInfoRequest& request,
                                                                              const CallOptions& options) {
  return Call(*stub_, &v1::PlanningService::Stub::GetServerInfo, request, options);
}

}  // namespace planwright::client
