#include "server/service/planning_service.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/service/batch_plan_call.h"
#include "server/service/call_messages.h"
#include "server/service/stream_plan_call.h"
#include "server/service/unary_call.h"

namespace planwright::server {
namespace {

// gRPC's deadline as steady time; nullopt: none, or so far away that it might as well be none.
std::optional<Executor::Clock::time_point> DeadlineOf(const grpc::CallbackServerContext& context) {
  constexpr std::chrono::hours kForever{24 * 365};
  const std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
  if (context.deadline() > now + kForever) return std::nullopt;
  return Executor::Clock::now() + (context.deadline() - now);
}

bool IsSensibleRequestId(std::string_view id) {
  constexpr std::size_t kMaxBytes = 64;
  return !id.empty() && id.size() <= kMaxBytes && std::all_of(id.begin(), id.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_';
  });
}

}  // namespace

PlanningServiceImpl::PlanningServiceImpl(const CallServices& services)
    : services_(services), request_id_prefix_(absl::StrCat(absl::Hex(std::random_device()(), absl::kZeroPad8), "-")) {
  const v1::GetServerInfoResponse info = services_.engine.GetServerInfo();
  // Always can be encoded.
  WriteMessage(info, server_info_).IgnoreError();
}

grpc::ServerUnaryReactor* PlanningServiceImpl::CreatePlan(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  using Call = UnaryCall<v1::CreatePlanRequest, v1::CreatePlanResponse>;
  auto handler = [this](const v1::CreatePlanRequest& message, const CallContext& call) {
    return services_.engine.CreatePlan(message, call);
  };
  // The call deletes itself (OnDone).
  return (new Call(services_, StartRecord("CreatePlan", *context), DeadlineOf(*context), *request, *response, handler))
      ->Start();
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* PlanningServiceImpl::StreamPlan(grpc::CallbackServerContext* context,
                                                                            const grpc::ByteBuffer* request) {
  // The call deletes itself (OnDone).
  return (new StreamPlanCall(services_, StartRecord("StreamPlan", *context, "server_stream"), DeadlineOf(*context),
                             *request))
      ->Start();
}

grpc::ServerUnaryReactor* PlanningServiceImpl::BatchCreatePlans(grpc::CallbackServerContext* context,
                                                                const grpc::ByteBuffer* request,
                                                                grpc::ByteBuffer* response) {
  // The call deletes itself (OnDone).
  return (new BatchPlanCall(services_, StartRecord("BatchCreatePlans", *context), DeadlineOf(*context), *request,
                            *response))
      ->Start();
}

grpc::ServerUnaryReactor* PlanningServiceImpl::EvaluatePlan(grpc::CallbackServerContext* context,
                                                            const grpc::ByteBuffer* request,
                                                            grpc::ByteBuffer* response) {
  using Call = UnaryCall<v1::EvaluatePlanRequest, v1::EvaluatePlanResponse>;
  auto handler = [this](const v1::EvaluatePlanRequest& message, const CallContext& call) {
    return services_.engine.EvaluatePlan(message, call);
  };
  return (new Call(services_, StartRecord("EvaluatePlan", *context), DeadlineOf(*context), *request, *response,
                   handler))
      ->Start();
}

grpc::ServerUnaryReactor* PlanningServiceImpl::GetGraph(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  using Call = UnaryCall<v1::GetGraphRequest, v1::GetGraphResponse>;
  auto handler = [this](const v1::GetGraphRequest& message, const CallContext&) {
    return services_.engine.GetGraph(message);
  };
  return (new Call(services_, StartRecord("GetGraph", *context), DeadlineOf(*context), *request, *response, handler))
      ->Start();
}

grpc::ServerUnaryReactor* PlanningServiceImpl::GetCluster(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  using Call = UnaryCall<v1::GetClusterRequest, v1::GetClusterResponse>;
  auto handler = [this](const v1::GetClusterRequest& message, const CallContext&) {
    return services_.engine.GetCluster(message);
  };
  return (new Call(services_, StartRecord("GetCluster", *context), DeadlineOf(*context), *request, *response, handler))
      ->Start();
}

grpc::ServerUnaryReactor* PlanningServiceImpl::GetServerInfo(grpc::CallbackServerContext* context,
                                                             const grpc::ByteBuffer* /*request*/,
                                                             grpc::ByteBuffer* response) {
  StartRecord("GetServerInfo", *context)->SetStatus(absl::OkStatus());
  *response = server_info_;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

std::unique_ptr<RpcRecord> PlanningServiceImpl::StartRecord(const char* method,
                                                            const grpc::CallbackServerContext& context,
                                                            const char* type) {
  return std::make_unique<RpcRecord>(RpcMethod{v1::PlanningService::service_full_name(), method, type},
                                     RequestId(context), context.peer(), services_.metrics, services_.log);
}

std::string PlanningServiceImpl::RequestId(const grpc::CallbackServerContext& context) {
  const auto sent = context.client_metadata().find("x-request-id");
  if (sent != context.client_metadata().end()) {
    const std::string_view id(sent->second.data(), sent->second.size());
    if (IsSensibleRequestId(id)) return std::string(id);
  }
  return absl::StrCat(request_id_prefix_, ++calls_);
}

}  // namespace planwright::server
