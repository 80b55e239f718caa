// One EvaluatePlan from its arrival to its answer.
#ifndef PLANWRIGHT_SERVER_SERVICE_METHODS_EVALUATE_PLAN_CALL_H_
#define PLANWRIGHT_SERVER_SERVICE_METHODS_EVALUATE_PLAN_CALL_H_

#include <grpcpp/support/server_callback.h>

#include "absl/status/status.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/service/call/unary_reactor.h"
#include "server/service/methods/requests_with_plans.h"

namespace planwright::server {

// Owns itself from Start until gRPC has sent the answer (OnDone).
class EvaluatePlanCall final : public UnaryReactor {
 public:
  using UnaryReactor::UnaryReactor;

  // Queues the call, or answers it at once when it is not permitted or too many wait.
  grpc::ServerUnaryReactor* Start();

 private:
  absl::Status Answer(const RequestWithPlan<v1::EvaluatePlanRequest>& request);
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_METHODS_EVALUATE_PLAN_CALL_H_
