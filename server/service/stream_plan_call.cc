#include "server/service/stream_plan_call.h"

#include <google/protobuf/arena.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/status_macros.h"
#include "server/codec/plan.h"
#include "server/service/call_messages.h"
#include "server/service/search_log.h"
#include "server/service/status_conversion.h"

namespace planwright::server {
namespace {

// Turns what the search tells into messages of the stream, beside the log.
class EventSender final : public SearchLog {
 public:
  EventSender(StreamPlanCall& call, bool include_incumbent_plans, const std::string& request_id,
              const CallServices& services)
      : SearchLog(request_id, services.metrics, services.log),
        call_(call),
        include_incumbent_plans_(include_incumbent_plans) {}

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
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamPlanCall::Start() {
  if (!start_.permitted.ok()) {
    End(start_.permitted);
    return this;
  }
  const absl::Status accepted =
      services_.executor.Submit({.deadline = start_.deadline,
                                 .stop = stop_,
                                 .run = [this](const absl::Status& admission) { Run(admission); },
                                 .bytes = static_cast<int64_t>(request_.Length())});
  if (!accepted.ok()) End(accepted);
  return this;
}

void StreamPlanCall::Send(const v1::StreamPlanResponse& event) {
  grpc::ByteBuffer message;
  if (WriteMessage(event, message).ok()) Take(outbox_.Add(event.event_case(), message));
}

void StreamPlanCall::OnWriteDone(bool ok) {
  if (!ok) stop_.request_stop();
  Take(outbox_.WriteDone(ok));
}

void StreamPlanCall::OnDone() {
  InFlight& in_flight = services_.in_flight;
  delete this;
  in_flight.Leave();
}

void StreamPlanCall::Run(const absl::Status& admission) {
  End(admission.ok() ? WithoutExceptions([this] { return Handle(); }) : admission);
}

absl::Status StreamPlanCall::Handle() {
  google::protobuf::Arena arena;
  auto& request = *google::protobuf::Arena::CreateMessage<v1::StreamPlanRequest>(&arena);
  RETURN_IF_ERROR(ReadMessage(request_, services_.engine.config().model_limits, request));
  EventSender events(*this, request.include_incumbent_plans(), start_.record->request_id(), services_);
  const std::stop_callback on_stop(stop_.get_token(), [&events] { events.OnStopRequested(); });
  ASSIGN_OR_RETURN(const v1::StreamPlanResponse answer,
                   services_.engine.StreamPlan(request, {.deadline = start_.deadline,
                                                         .stop = stop_.get_token(),
                                                         .observer = &events,
                                                         .tenant = start_.caller.tenant}));
  grpc::ByteBuffer message;
  RETURN_IF_ERROR(WriteMessage(answer, message));
  Take(outbox_.Add(answer.event_case(), message));
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
    StartWrite(&writing_);
  } else if (step.finish) {
    Finish(ToGrpcStatus(status_));
  }
}

}  // namespace planwright::server
