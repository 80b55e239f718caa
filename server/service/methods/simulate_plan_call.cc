#include "server/service/methods/simulate_plan_call.h"

#include <memory>
#include <utility>

#include "core/base/known.h"
#include "core/base/status_macros.h"
#include "server/engine/task/without_exceptions.h"
#include "server/service/call/call_messages.h"
#include "server/service/record/status_conversion.h"

namespace planwright::server {

SimulatePlanCall::SimulatePlanCall(const CallServices& services, CallStart start, const grpc::ByteBuffer& request)
    : services_(services), start_(std::move(start)), request_(request) {
  services_.in_flight.Enter();
  services_.connections.Delivered(start_.record->peer(), static_cast<int64_t>(request_.Length()));
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* SimulatePlanCall::Start() {
  using Given = absl::StatusOr<std::shared_ptr<const RequestWithPlan<v1::SimulatePlanRequest>>>;
  const absl::Status accepted =
      SubmitWithPlan<v1::SimulatePlanRequest>(services_, start_, stop_, request_, [this](const Given& request) {
        SendNext(request.ok() ? WithoutExceptions([&] { return Simulate(**request); }) : request.status());
      });
  if (!accepted.ok()) End(accepted);
  return this;
}

void SimulatePlanCall::OnWriteDone(bool ok) {
  if (!ok) return End(absl::CancelledError("the client has gone"));
  services_.unsent.Progress(unsent_);
  services_.serving.Requeue({.deadline = start_.deadline,
                             .stop = stop_,
                             .run = [this](const absl::Status& admission) { SendNext(admission); },
                             .tenant = start_.caller.tenant});
}

void SimulatePlanCall::OnDone() {
  UnansweredCalls& in_flight = services_.in_flight;
  delete this;
  in_flight.Leave();
}

absl::Status SimulatePlanCall::Simulate(const RequestWithPlan<v1::SimulatePlanRequest>& request) {
  ASSIGN_OR_RETURN(messages_, services_.engine.SimulatePlan(request.message, request.given,
                                                            {.deadline = start_.deadline, .stop = stop_.get_token()}));
  ASSIGN_OR_RETURN(unsent_, HoldAnswer(services_, start_, messages_->bytes()));
  return absl::OkStatus();
}

void SimulatePlanCall::SendNext(absl::Status status) {
  if (status.ok()) status = WithoutExceptions([this] { return PrepareNext(); });
  if (!status.ok() || is_done_) return End(status);
  // The next worker may run the call before this one has returned.
  StartWrite(&writing_);
}

absl::Status SimulatePlanCall::PrepareNext() {
  const std::optional<v1::SimulatePlanResponse> next = Known(messages_).Next();
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
