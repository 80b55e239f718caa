#include "server/service/methods/evaluate_plan_call.h"

#include <memory>
#include <utility>

#include "core/base/status_macros.h"
#include "server/engine/task/without_exceptions.h"
#include "server/service/call/call_messages.h"

namespace planwright::server {

grpc::ServerUnaryReactor* EvaluatePlanCall::Start() {
  using Given = absl::StatusOr<std::shared_ptr<const RequestWithPlan<v1::EvaluatePlanRequest>>>;
  const absl::Status accepted =
      SubmitWithPlan<v1::EvaluatePlanRequest>(services_, start_, stop_, request_, [this](const Given& request) {
        End(request.ok() ? WithoutExceptions([&] { return Answer(**request); }) : request.status());
      });
  if (!accepted.ok()) End(accepted);
  return this;
}

absl::Status EvaluatePlanCall::Answer(const RequestWithPlan<v1::EvaluatePlanRequest>& request) {
  ASSIGN_OR_RETURN(const v1::EvaluatePlanResponse response,
                   services_.engine.EvaluatePlan(request.message, request.given,
                                                 {.deadline = start_.deadline, .stop = stop_.get_token()}));
  return SetAnswer(response);
}

}  // namespace planwright::server
