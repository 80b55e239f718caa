#include "server/service/create_plan_call.h"

#include <google/protobuf/arena.h>

#include <cstdint>
#include <utility>

#include "core/base/status_macros.h"
#include "server/engine/without_exceptions.h"
#include "server/service/call_messages.h"
#include "server/service/plan_orders.h"
#include "server/service/status_conversion.h"

namespace planwright::server {

CreatePlanCall::CreatePlanCall(const CallServices& services, CallStart start, const grpc::ByteBuffer& request,
                               grpc::ByteBuffer& response)
    : services_(services), start_(std::move(start)), request_(request), response_(response) {
  services_.in_flight.Enter();
}

grpc::ServerUnaryReactor* CreatePlanCall::Start() {
  const absl::Status accepted = SubmitReading(services_, start_, stop_, request_, [this](absl::Status admission) {
    if (admission.ok()) admission = WithoutExceptions([this] { return Order(); });
    if (!admission.ok()) End(admission);
  });
  if (!accepted.ok()) End(accepted);
  return this;
}

void CreatePlanCall::OnDone() {
  InFlight& in_flight = services_.in_flight;
  delete this;
  in_flight.Leave();
}

absl::Status CreatePlanCall::Order() {
  google::protobuf::Arena arena;
  auto& request = *google::protobuf::Arena::CreateMessage<v1::CreatePlanRequest>(&arena);
  RETURN_IF_ERROR(ReadMessage(request_, services_.engine.config().model_limits, request));
  return PlaceOrder(services_, start_, stop_.get_token(), request, static_cast<int64_t>(request_.Length()),
                    /*events=*/nullptr, [this](absl::StatusOr<v1::Plan> plan) {
                      End(WithoutExceptions([&] { return Answer(std::move(plan)); }));
                    });
}

absl::Status CreatePlanCall::Answer(absl::StatusOr<v1::Plan> plan) {
  RETURN_IF_ERROR(plan.status());
  v1::CreatePlanResponse response;
  *response.mutable_plan() = *std::move(plan);
  return WriteMessage(response, response_);
}

void CreatePlanCall::End(const absl::Status& status) {
  start_.record->SetStatus(status);
  start_.record.reset();
  Finish(ToGrpcStatus(status));
}

}  // namespace planwright::server
