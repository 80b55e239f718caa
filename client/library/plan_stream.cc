#include "client/library/plan_stream.h"

#include <grpcpp/client_context.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "client/library/wire_status.h"

namespace planwright::client {
namespace {

v1::StreamPlanRequest StreamRequest(const v1::CreatePlanRequest& request, bool include_incumbent_plans) {
  v1::StreamPlanRequest stream;
  if (request.has_graph()) *stream.mutable_graph() = request.graph();
  if (request.has_graph_reference()) stream.set_graph_reference(request.graph_reference());
  if (request.has_cluster()) *stream.mutable_cluster() = request.cluster();
  if (request.has_cluster_reference()) stream.set_cluster_reference(request.cluster_reference());
  if (request.has_problem()) *stream.mutable_problem() = request.problem();
  if (request.has_options()) *stream.mutable_options() = request.options();
  stream.set_include_incumbent_plans(include_incumbent_plans);
  return stream;
}

// What has been read of one stream.
class Reading {
 public:
  explicit Reading(ProgressListener* listener)
      : listener_(listener), wants_plans_(listener != nullptr && listener->wants_incumbent_plans()) {}

  bool wants_plans() const { return wants_plans_; }

  void Take(v1::StreamPlanResponse message) {
    if (listener_ != nullptr) Tell(message);
    if (message.has_plan()) {
      is_complete_ = true;
      best_ = std::move(*message.mutable_plan());
    } else if (message.incumbent().has_plan()) {
      best_ = std::move(*message.mutable_incumbent()->mutable_plan());
    }
  }

  // The answer to a stream that ended with `status`, asked to stop or not.
  absl::StatusOr<v1::CreatePlanResponse> Answer(const absl::Status& status, bool stop_requested) && {
    const bool is_enough = status.ok() ? is_complete_ : stop_requested && best_.has_value();
    if (!is_enough) return status.ok() ? absl::InternalError("the server ended the stream without a plan") : status;
    v1::CreatePlanResponse response;
    *response.mutable_plan() = *std::move(best_);
    return response;
  }

 private:
  void Tell(const v1::StreamPlanResponse& message) {
    if (message.has_phase()) listener_->OnPhase(message.phase());
    if (message.has_bound()) listener_->OnBound(message.bound().value_ms());
    if (!message.has_incumbent()) return;
    listener_->OnIncumbent(message.incumbent().incumbent().objective_ms());
    if (wants_plans_ && message.incumbent().has_plan()) listener_->OnIncumbentPlan(message.incumbent().plan());
  }

  ProgressListener* listener_;
  const bool wants_plans_;
  // Of the latest incumbent, or the answer.
  std::optional<v1::Plan> best_;
  bool is_complete_ = false;
};

}  // namespace

absl::StatusOr<v1::CreatePlanResponse> CreatePlanByStream(v1::PlanningService::Stub& stub,
                                                          const v1::CreatePlanRequest& request,
                                                          const CallOptions& options) {
  Reading reading(options.progress);
  grpc::ClientContext context;
  context.set_deadline(options.deadline);
  const std::stop_callback cancel(options.stop, [&context] { context.TryCancel(); });
  const auto stream =
      stub.StreamPlan(&context, StreamRequest(request, reading.wants_plans() || options.stop.stop_possible()));
  v1::StreamPlanResponse message;
  while (stream->Read(&message)) reading.Take(std::exchange(message, {}));
  return std::move(reading).Answer(ToAbslStatus(stream->Finish()), options.stop.stop_requested());
}

}  // namespace planwright::client
