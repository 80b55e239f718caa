// What unary calls have in common: their life, their cancellation and their end.
#ifndef PLANWRIGHT_SERVER_SERVICE_CALL_UNARY_REACTOR_H_
#define PLANWRIGHT_SERVER_SERVICE_CALL_UNARY_REACTOR_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <stop_token>

#include "absl/status/status.h"
#include "server/service/call/call_services.h"
#include "server/service/call/call_start.h"
#include "server/serving/admission/unsent_answers.h"

namespace planwright::server {

// Owns itself until gRPC has sent the answer (OnDone).
class UnaryReactor : public grpc::ServerUnaryReactor {
 public:
  // `request` and `response` live until OnDone.
  UnaryReactor(const CallServices& services, CallStart start, const grpc::ByteBuffer& request,
               grpc::ByteBuffer& response);

  void OnCancel() final { stop_.request_stop(); }
  void OnDone() final;

 protected:
  // Makes `answer` that of the call. Errors: those of WriteAnswer.
  absl::Status SetAnswer(const google::protobuf::Message& answer);
  // As above, for bytes that are kept elsewhere.
  absl::Status SetAnswer(const grpc::ByteBuffer& answer);
  // Is called once; the call may be gone when it returns.
  void End(const absl::Status& status);

  CallServices services_;
  CallStart start_;
  const grpc::ByteBuffer& request_;
  grpc::ByteBuffer& response_;
  std::stop_source stop_ = start_.stop;
  // The answer, until gRPC has sent it.
  UnsentAnswers::Hold unsent_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_CALL_UNARY_REACTOR_H_
