#include "server/service/call/unary_reactor.h"

#include <cstdint>
#include <utility>

#include "core/base/status_macros.h"
#include "server/service/call/call_messages.h"
#include "server/service/record/status_conversion.h"

namespace planwright::server {

UnaryReactor::UnaryReactor(const CallServices& services, CallStart start, const grpc::ByteBuffer& request,
                           grpc::ByteBuffer& response)
    : services_(services), start_(std::move(start)), request_(request), response_(response) {
  services_.in_flight.Enter();
  services_.connections.Delivered(start_.record->peer(), static_cast<int64_t>(request_.Length()));
}

void UnaryReactor::OnDone() {
  UnansweredCalls& in_flight = services_.in_flight;
  delete this;
  in_flight.Leave();
}

absl::Status UnaryReactor::SetAnswer(const google::protobuf::Message& answer) {
  ASSIGN_OR_RETURN(unsent_, WriteAnswer(services_, start_, answer, response_));
  return absl::OkStatus();
}

absl::Status UnaryReactor::SetAnswer(const grpc::ByteBuffer& answer) {
  ASSIGN_OR_RETURN(unsent_, HoldAnswer(services_, start_, static_cast<int64_t>(answer.Length())));
  response_ = answer;
  return absl::OkStatus();
}

void UnaryReactor::End(const absl::Status& status) {
  start_.record->SetStatus(status);
  start_.record.reset();
  Finish(ToGrpcStatus(status));
}

}  // namespace planwright::server
