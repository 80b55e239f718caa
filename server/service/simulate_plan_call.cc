#include "server/service/simulate_plan_call.h"

#include <google/protobuf/arena.h>

#include <cstdint>
#include <utility>

#include "core/base/status_macros.h"
#include "server/engine/without_exceptions.h"
#include "server/service/call_messages.h"
#include "server/service/status_conversion.h"

namespace planwright::server {

SimulatePlanCall::SimulatePlanCall(const CallServices& services, CallStart start, const grpc::ByteBuffer& request)
    : services_(services), start_(std::move(start)), request_(request) {
  services_.in_flight.Enter();
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* SimulatePlanCall::Start() {
  const absl::Status accepted = start_.permitted.ok() ? services_.executor.Submit(Job()) : start_.permitted;
  if (!accepted.ok()) End(accepted);
  return this;
}

void SimulatePlanCall::OnWriteDone(bool ok) {
  if (ok) {
    services_.serving.Requeue(Job());
  } else {
    End(absl::CancelledError("the client has gone"));
  }
}

void SimulatePlanCall::OnDone() {
  InFlight& in_flight = services_.in_flight;
  delete this;
  in_flight.Leave();
}

Executor::Job SimulatePlanCall::Job() {
  return {.deadline = start_.deadline,
          .stop = stop_,
          .run = [this](const absl::Status& admission) { Run(admission); },
          .bytes = static_cast<int64_t>(request_.Length())};
}

void SimulatePlanCall::Run(const absl::Status& admission) {
  const absl::Status status = admission.ok() ? WithoutExceptions([this] { return PrepareNext(); }) : admission;
  if (!status.ok() || is_done_) {
    End(status);
  } else {
    // The next worker may run the call before this one has returned.
    StartWrite(&writing_);
  }
}

absl::Status SimulatePlanCall::PrepareNext() {
  if (!messages_.has_value()) {
    google::protobuf::Arena arena;
    auto& request = *google::protobuf::Arena::CreateMessage<v1::SimulatePlanRequest>(&arena);
    RETURN_IF_ERROR(ReadMessage(request_, services_.engine.model_limits(), request));
    ASSIGN_OR_RETURN(messages_, services_.engine.SimulatePlan(request, {.deadline = start_.deadline,
                                                                        .stop = stop_.get_token(),
                                                                        .tenant = start_.caller.tenant}));
  }
  const std::optional<v1::SimulatePlanResponse> next = messages_->Next();
  is_done_ = !next.has_value();
  writing_.Clear();
  return is_done_ ? absl::OkStatus() : WriteMessage(*next, writing_);
}

void SimulatePlanCall::End(const absl::Status& status) {
  start_.record->SetStatus(status);
  start_.record.reset();
  Finish(ToGrpcStatus(status));
}

}  // namespace planwright::server
