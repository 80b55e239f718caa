#include "server/service/methods/wait_operation_call.h"

#include <algorithm>
#include <utility>

#include "core/base/status_macros.h"
#include "core/base/violations.h"
#include "server/codec/field_path.h"
#include "server/codec/scalars.h"
#include "server/engine/task/without_exceptions.h"
#include "server/service/call/call_messages.h"
#include "server/service/record/status_conversion.h"

namespace planwright::server {
namespace {

// From one look at the store to the next.
constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{1000};
// What is kept of the call's deadline for the answer.
constexpr std::chrono::milliseconds kMargin{200};

}  // namespace

WaitOperationCall::WaitOperationCall(const CallServices& services, CallStart start, const grpc::ByteBuffer& request,
                                     grpc::ByteBuffer& response)
    : services_(services), start_(std::move(start)), bytes_(request), response_(response), pause_(kFirstPause) {
  services_.in_flight.Enter();
  services_.connections.Delivered(start_.record->peer(), static_cast<int64_t>(bytes_.Length()));
}

grpc::ServerUnaryReactor* WaitOperationCall::Start() {
  if (start_.permitted.ok()) {
    Submit();
  } else {
    End(start_.permitted);
  }
  return this;
}

void WaitOperationCall::OnCancel() {
  const std::lock_guard lock(mutex_);
  stop_.request_stop();
  // Rings at once; the call then ends.
  alarm_.Cancel();
}

void WaitOperationCall::OnDone() {
  {
    // The alarm may ring, and the call end, before the worker that has set it has let go.
    const std::lock_guard lock(mutex_);
  }
  UnansweredCalls& in_flight = services_.in_flight;
  delete this;
  in_flight.Leave();
}

void WaitOperationCall::Submit() {
  const absl::Status accepted =
      services_.lookups.Submit({.deadline = start_.deadline,
                                .stop = stop_,
                                .run = [this](const absl::Status& admission) { Run(admission); },
                                .bytes = static_cast<int64_t>(bytes_.Length()),
                                .tenant = start_.caller.tenant});
  if (!accepted.ok()) End(accepted);
}

void WaitOperationCall::Run(const absl::Status& admission) {
  if (!admission.ok()) return End(admission);
  const absl::StatusOr<bool> is_answered = WithoutExceptions([this] { return Look(); });
  if (!is_answered.ok() || *is_answered) return End(is_answered.status());
  Sleep();
}

absl::StatusOr<bool> WaitOperationCall::Look() {
  if (!is_read_) RETURN_IF_ERROR(Read());
  const std::string& tenant = start_.caller.tenant;
  ASSIGN_OR_RETURN(const bool has_ended, services_.operations.HasEnded(tenant, request_.name()));
  if (!has_ended && Clock::now() < until_) return false;
  v1::GetOperationRequest get;
  get.set_name(request_.name());
  v1::WaitOperationResponse response;
  ASSIGN_OR_RETURN(v1::GetOperationResponse got, services_.operations.GetOperation(tenant, get));
  *response.mutable_operation() = std::move(*got.mutable_operation());
  ASSIGN_OR_RETURN(unsent_, WriteAnswer(services_, start_, response, response_));
  return true;
}

absl::Status WaitOperationCall::Read() {
  RETURN_IF_ERROR(ReadMessage(bytes_, services_.engine.model_limits(), unpacked_, request_));
  is_read_ = true;
  const Clock::time_point now = Clock::now();
  until_ = now + std::chrono::duration_cast<Clock::duration>(services_.engine.config().time_limits.max_time_limit);
  if (start_.deadline.has_value()) until_ = std::min(until_, *start_.deadline - kMargin);
  if (!request_.has_timeout()) return absl::OkStatus();
  Violations violations;
  const std::chrono::nanoseconds timeout = DecodeDuration(request_.timeout(), FieldPath("timeout"), violations);
  if (now + timeout < until_) until_ = now + timeout;
  return violations.ToStatus();
}

void WaitOperationCall::Sleep() {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - Clock::now());
  const std::chrono::milliseconds pause = std::clamp(left, std::chrono::milliseconds(1), pause_);
  pause_ = std::min(2 * pause_, kLongestPause);
  const std::lock_guard lock(mutex_);
  // A cancellation that came before finds no alarm that it could ring.
  const std::chrono::milliseconds wait = stop_.stop_requested() ? std::chrono::milliseconds(0) : pause;
  // A thread of gRPC's only queues the next look.
  alarm_.Set(std::chrono::system_clock::now() + wait, [this](bool /*rang*/) { Submit(); });
}

void WaitOperationCall::End(const absl::Status& status) {
  start_.record->SetStatus(status);
  start_.record.reset();
  Finish(ToGrpcStatus(status));
}

}  // namespace planwright::server
