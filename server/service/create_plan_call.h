// One CreatePlan from its arrival to its answer.
#ifndef PLANWRIGHT_SERVER_SERVICE_CREATE_PLAN_CALL_H_
#define PLANWRIGHT_SERVER_SERVICE_CREATE_PLAN_CALL_H_

#include <grpcpp/support/server_callback.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/engine/plan_desk.h"
#include "server/service/unary_reactor.h"

namespace planwright::server {

// Owns itself from Start until gRPC has sent the answer (OnDone). A serving thread reads it; while it waits for a
// search it holds no thread (plan_desk.h).
class CreatePlanCall final : public UnaryReactor {
 public:
  using UnaryReactor::UnaryReactor;

  // Queues the call, or answers it at once when it is not permitted or too many wait.
  grpc::ServerUnaryReactor* Start();

 private:
  // How long an answer may be given to those who send the same bytes.
  enum class Life { kNone, kShort, kLong };

  static Life LifeOf(const v1::CreatePlanRequest& request);
  // Ends the call with the answer that is known for its bytes; false: there is none.
  bool AnswerKnown();
  // Reads the request and asks for its plan.
  absl::Status Order();
  absl::Status Answer(absl::StatusOr<v1::Plan> plan, Life life);

  // Of the request's bytes.
  std::string answer_key_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_CREATE_PLAN_CALL_H_
