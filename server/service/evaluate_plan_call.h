// One EvaluatePlan from its arrival to its answer.
#ifndef PLANWRIGHT_SERVER_SERVICE_EVALUATE_PLAN_CALL_H_
#define PLANWRIGHT_SERVER_SERVICE_EVALUATE_PLAN_CALL_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <stop_token>

#include "absl/status/status.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/service/call_services.h"
#include "server/service/call_start.h"
#include "server/service/given_requests.h"

namespace planwright::server {

// Owns itself from Start until gRPC has sent the answer (OnDone).
class EvaluatePlanCall final : public grpc::ServerUnaryReactor {
 public:
  // `request` and `response` live until OnDone.
  EvaluatePlanCall(const CallServices& services, CallStart start, const grpc::ByteBuffer& request,
                   grpc::ByteBuffer& response);

  // Queues the call, or answers it at once when it is not permitted or too many wait.
  grpc::ServerUnaryReactor* Start();

  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override;

 private:
  absl::Status Answer(const GivenRequest<v1::EvaluatePlanRequest>& request);
  // Once; the call may be gone when it returns.
  void End(const absl::Status& status);

  CallServices services_;
  CallStart start_;
  const grpc::ByteBuffer& request_;
  grpc::ByteBuffer& response_;
  std::stop_source stop_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_EVALUATE_PLAN_CALL_H_
