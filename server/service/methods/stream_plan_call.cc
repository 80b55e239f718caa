#include "server/service/methods/stream_plan_call.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/status_macros.h"
#include "server/codec/plan.h"
#include "server/engine/task/without_exceptions.h"
#include "server/service/call/call_messages.h"
#include "server/service/methods/plan_request_reading.h"
#include "server/service/record/status_conversion.h"

namespace planwright::server {
namespace {

// Turns what the search tells into messages of the stream.
class EventSender final : public SearchObserver {
 public:
  EventSender(StreamPlanCall& call, bool include_incumbent_plans)
      : call_(call), include_incumbent_plans_(include_incumbent_plans) {}

  void OnPhase(std::string_view phase) override {
    v1::StreamPlanResponse event;
    event.set_phase(std::string(phase));
    call_.Send(event);
  }
  void OnBound(const Bound& bound) override {
    v1::StreamPlanResponse event;
    EncodeBound(bound, *event.mutable_bound());
    call_.Send(event);
  }
  // With plans, the message waits for the verified one.
  void OnIncumbent(const Incumbent& incumbent) override {
    if (include_incumbent_plans_) return;
    v1::StreamPlanResponse event;
    EncodeIncumbent(incumbent, *event.mutable_incumbent()->mutable_incumbent());
    call_.Send(event);
  }
  bool wants_incumbent_plans() const override { return include_incumbent_plans_; }
  void OnIncumbentAnswer(const v1::Plan& plan) override {
    // The search may be shared with somebody who asked for plans.
    if (!include_incumbent_plans_) return;
    v1::StreamPlanResponse event;
    *event.mutable_incumbent()->mutable_incumbent() = *plan.provenance().incumbents().rbegin();
    *event.mutable_incumbent()->mutable_plan() = plan;
    call_.Send(event);
  }

 private:
  StreamPlanCall& call_;
  const bool include_incumbent_plans_;
};

}  // namespace

StreamPlanCall::StreamPlanCall(const CallServices& services, CallStart start, const grpc::ByteBuffer& request)
    : services_(services), start_(std::move(start)), request_(request) {
  services_.in_flight.Enter();
  services_.connections.Delivered(start_.record->peer(), static_cast<int64_t>(request_.Length()));
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamPlanCall::Start() {
  const absl::Status accepted = SubmitReading(services_, start_, stop_, request_, [this](absl::Status admission) {
    if (admission.ok()) admission = WithoutExceptions([this] { return Order(); });
    if (!admission.ok()) End(admission);
  });
  if (!accepted.ok()) End(accepted);
  return this;
}

void StreamPlanCall::Send(const v1::StreamPlanResponse& event) {
  OutgoingMessage message;
  absl::StatusOr<UnsentAnswers::Hold> hold = WriteAnswer(services_, start_, event, message.bytes);
  // Later events say more: without room for this one, it is as if they had overtaken it.
  if (!hold.ok()) return;
  message.hold = *std::move(hold);
  Take(outbox_.Add(event.event_case(), std::move(message)));
}

void StreamPlanCall::OnWriteDone(bool ok) {
  // It is sent: only what waits is held.
  writing_ = {};
  if (!ok) stop_.request_stop();
  Take(outbox_.WriteDone(ok));
}

void StreamPlanCall::OnDone() {
  UnansweredCalls& in_flight = services_.in_flight;
  delete this;
  in_flight.Leave();
}

absl::Status StreamPlanCall::Order() {
  const auto bytes = static_cast<int64_t>(request_.Length());
  ASSIGN_OR_RETURN(const auto request, ReadRequest<v1::StreamPlanRequest>(services_, request_));
  events_ = std::make_unique<EventSender>(*this, request->include_incumbent_plans());
  return PlaceOrderWhereItBelongs(
      services_, start_, stop_, request, bytes, events_.get(),
      [this](absl::StatusOr<v1::Plan> plan) { End(WithoutExceptions([&] { return Answer(std::move(plan)); })); });
}

absl::Status StreamPlanCall::Answer(absl::StatusOr<v1::Plan> plan) {
  RETURN_IF_ERROR(plan.status());
  v1::StreamPlanResponse answer;
  *answer.mutable_plan() = *std::move(plan);
  OutgoingMessage message;
  ASSIGN_OR_RETURN(message.hold, WriteAnswer(services_, start_, answer, message.bytes));
  Take(outbox_.Add(answer.event_case(), std::move(message)));
  return absl::OkStatus();
}

void StreamPlanCall::End(const absl::Status& status) {
  start_.record->SetStatus(status);
  start_.record.reset();
  status_ = status;
  Take(outbox_.Close());
}

void StreamPlanCall::Take(Outbox::Step step) {
  if (step.message.has_value()) {
    writing_ = *std::move(step.message);
    services_.unsent.Progress(writing_.hold);
    StartWrite(&writing_.bytes);
  } else if (step.finish) {
    Finish(ToGrpcStatus(status_));
  }
}

}  // namespace planwright::server
