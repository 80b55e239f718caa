#include "client/library/plan_stream.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
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
  stream.set_skip_cache(request.skip_cache());
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
    if (message.has_bound() && message.bound().value_ms() > bound_.value_ms()) bound_ = message.bound();
    if (message.has_plan()) {
      is_complete_ = true;
      best_ = std::move(*message.mutable_plan());
    } else if (message.incumbent().has_plan()) {
      best_ = std::move(*message.mutable_incumbent()->mutable_plan());
    }
  }

  // The answer to a stream that ended with `status`, asked to stop or not.
  absl::StatusOr<v1::CreatePlanResponse> Answer(const absl::Status& status, bool stop_requested) && {
    const bool is_enough = status.ok() ? is_complete_ : stop_requested;
    if (!is_enough || !best_.has_value()) {
      return status.ok() ? absl::InternalError("the server ended the stream without a plan") : status;
    }
    v1::CreatePlanResponse response;
    *response.mutable_plan() = *std::move(best_);
    if (!is_complete_) AddWhatCameLater(*response.mutable_plan());
    return response;
  }

 private:
  // The bounds that were streamed after the incumbent, and how long the search has taken.
  void AddWhatCameLater(v1::Plan& plan) const {
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start_;
    plan.mutable_provenance()->set_wall_time_ms(elapsed.count());
    // Those of fewest devices speak of something else.
    if (plan.problem().objective() == v1::OBJECTIVE_MIN_DEVICES || bound_.value_ms() <= plan.lower_bound_ms()) return;
    v1::Bound& bound = *plan.add_bounds();
    bound = bound_;
    bound.set_value_ms(std::min(bound_.value_ms(), plan.objective_ms()));
    plan.set_lower_bound_ms(bound.value_ms());
    plan.set_relative_gap((plan.objective_ms() - bound.value_ms()) / plan.objective_ms());
    plan.mutable_provenance()->set_proven_optimal(bound.value_ms() == plan.objective_ms());
  }

  void Tell(const v1::StreamPlanResponse& message) {
    if (message.has_phase()) listener_->OnPhase(message.phase());
    if (message.has_bound()) listener_->OnBound(message.bound().value_ms());
    if (!message.has_incumbent()) return;
    listener_->OnIncumbent(message.incumbent().incumbent().objective_ms());
    if (wants_plans_ && message.incumbent().has_plan()) listener_->OnIncumbentPlan(message.incumbent().plan());
  }

  ProgressListener* listener_;
  const bool wants_plans_;
  // The plan of the latest incumbent, or of the answer.
  std::optional<v1::Plan> best_;
  // The best that was streamed.
  v1::Bound bound_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
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
