// One CreatePlan from its arrival to its answer.
#ifndef PLANWRIGHT_SERVER_SERVICE_METHODS_CREATE_PLAN_CALL_H_
#define PLANWRIGHT_SERVER_SERVICE_METHODS_CREATE_PLAN_CALL_H_

#include <grpcpp/support/server_callback.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/engine/plan_finder.h"
#include "server/service/call/answer_cache.h"
#include "server/service/call/unary_reactor.h"

namespace planwright::server {

// Owns itself from Start until gRPC has sent the answer (OnDone). A serving thread reads it; while it waits for a
// search it holds no thread (plan_finder.h).
class CreatePlanCall final : public UnaryReactor {
 public:
  using UnaryReactor::UnaryReactor;

  // Queues the call, or answers it at once when it is not permitted or too many wait.
  grpc::ServerUnaryReactor* Start();

 private:
  // Ends the call with the answer that is known for its bytes; false: there is none.
  bool AnswerKnown();
  // Reads the request and asks for its plan.
  absl::Status Order();
  absl::Status Answer(absl::StatusOr<v1::Plan> plan);

  // When the request came.
  const AnswerCache::Clock::time_point asked_ = AnswerCache::Clock::now();
  // The key of the request's bytes in the cache of answers.
  std::string answer_key_;
  // Set when the request has been read: what it names of what is registered; nullopt: its answer is not one for all who
  // send the same bytes.
  std::optional<AnswerCache::References> references_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_METHODS_CREATE_PLAN_CALL_H_
