#include "server/service/batch_plan_call.h"

#include <utility>

#include "core/base/status_macros.h"
#include "server/engine/without_exceptions.h"
#include "server/service/call_messages.h"
#include "server/service/status_conversion.h"

namespace planwright::server {

BatchPlanCall::BatchPlanCall(const CallServices& services, CallStart start, const grpc::ByteBuffer& request,
                             grpc::ByteBuffer& response)
    : services_(services), start_(std::move(start)), bytes_(request), response_(response) {
  services_.in_flight.Enter();
}

grpc::ServerUnaryReactor* BatchPlanCall::Start() {
  if (!start_.permitted.ok()) {
    End(start_.permitted);
    return this;
  }
  const absl::Status accepted = services_.executor.Submit(Job());
  if (!accepted.ok()) End(accepted);
  return this;
}

void BatchPlanCall::OnDone() {
  InFlight& in_flight = services_.in_flight;
  delete this;
  in_flight.Leave();
}

Executor::Job BatchPlanCall::Job() {
  return {.deadline = start_.deadline,
          .stop = stop_,
          .run = [this](const absl::Status& admission) { Run(admission); },
          .bytes = static_cast<int64_t>(bytes_.Length()),
          .tenant = start_.caller.tenant,
          .priority = Priority::kBackground};
}

void BatchPlanCall::Run(const absl::Status& admission) {
  if (!admission.ok() && batch_ == nullptr) {
    End(admission);
    return;
  }
  // Problems have been planned: they are the answer, although the others cannot be planned any more.
  const absl::Status status = WithoutExceptions([&] {
    if (admission.ok()) return Step();
    batch_->EndWith(admission);
    return absl::OkStatus();
  });
  if (!status.ok()) {
    End(status);
  } else if (!batch_->is_done()) {
    services_.executor.Requeue(Job());
  } else {
    End(WithoutExceptions([this] { return WriteMessage(batch_->TakeResponse(), response_); }));
  }
}

absl::Status BatchPlanCall::Step() {
  if (batch_ == nullptr) RETURN_IF_ERROR(Read());
  SearchLog search_log(start_.record->request_id(), services_.metrics, services_.log, services_.slow_search);
  const std::stop_callback on_stop(stop_.get_token(), [&search_log] { search_log.OnStopRequested(); });
  batch_->PlanNext(stop_.get_token(), &search_log);
  if (stop_.stop_requested()) batch_->EndWith(absl::UnavailableError("the server is shutting down"));
  return absl::OkStatus();
}

absl::Status BatchPlanCall::Read() {
  RETURN_IF_ERROR(ReadMessage(bytes_, services_.engine.model_limits(), request_));
  ASSIGN_OR_RETURN(batch_, BatchPlanning::Start(services_.engine, request_,
                                                {.deadline = start_.deadline, .tenant = start_.caller.tenant}));
  return absl::OkStatus();
}

void BatchPlanCall::End(const absl::Status& status) {
  start_.record->SetStatus(status);
  start_.record.reset();
  Finish(ToGrpcStatus(status));
}

}  // namespace planwright::server
