#include "server/engine/batch_planning.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/engine/library/request_input.h"
#include "server/engine/rpc_status.h"
#include "server/engine/task/interruptible.h"

namespace planwright::server {
namespace {

using Clock = SolveLimits::Clock;

// The most bytes that the message and the details of one error take.
constexpr std::size_t kMaxErrorBytes = 64 << 10;

}  // namespace

absl::StatusOr<std::unique_ptr<BatchPlanning>> BatchPlanning::Start(PlanningEngine& engine,
                                                                    const v1::BatchCreatePlansRequest& request,
                                                                    const CallContext& context) {
  const Clock::time_point latest = Clock::now() + engine.config().time_limits.max_time_limit;
  // The constructor is private: std::make_unique cannot call it.
  std::unique_ptr<BatchPlanning> batch(
      new BatchPlanning(engine, request, std::min(context.deadline.value_or(latest), latest), context.tenant));
  SolveLimits limits;
  limits.deadline = batch->deadline_;
  limits.stop = context.stop;
  RETURN_IF_ERROR(Interruptible(limits, [&batch] { return batch->ReadShared(); }));
  return batch;
}

absl::Status BatchPlanning::ReadShared() {
  const ModelLimits limits = engine_.model_limits();
  const int64_t most = engine_.config().max_batch_size;
  const InputLookup names = engine_.NamesFor(tenant_);
  Violations violations;
  if (request_.requests().empty()) violations.Add("requests", "must not be empty");
  if (request_.requests_size() > most) {
    violations.Add("requests", absl::StrCat("must have at most ", most, " elements, has ", request_.requests_size()));
  }
  ASSIGN_OR_RETURN(Cluster cluster, ReadCluster(request_, limits, names, violations));
  cluster_ = std::make_shared<const Cluster>(std::move(cluster));
  if (request_.graph_source_case() != v1::BatchCreatePlansRequest::GRAPH_SOURCE_NOT_SET) {
    ASSIGN_OR_RETURN(OperatorGraph graph, ReadGraph(request_, names, violations));
    graph_ = std::make_shared<const OperatorGraph>(std::move(graph));
  }
  // What the problems do not share is judged with each of them.
  const bool was_understood = violations.empty();
  if (was_understood) ValidateCluster(*cluster_, limits, violations);
  if (was_understood && graph_ != nullptr) ValidateGraph(*graph_, limits, violations);
  return violations.ToStatus();
}

absl::StatusOr<PlanTask> BatchPlanning::ReadNext(std::stop_token stop) {
  if (Clock::now() >= deadline_) return absl::DeadlineExceededError("the time of the batch was over before its turn");
  return engine_.ReadTask(request_.requests(response_.results_size()), graph_, cluster_,
                          {.deadline = deadline_, .stop = std::move(stop), .tenant = tenant_});
}

CallContext BatchPlanning::ContextOfNext(std::stop_token stop, SearchObserver* observer) const {
  return {.deadline = deadline_,
          .stop = std::move(stop),
          .observer = observer,
          .searches_left = request_.requests_size() - response_.results_size(),
          .tenant = tenant_};
}

void BatchPlanning::PlanNext(std::stop_token stop, SearchObserver* observer) {
  const absl::StatusOr<PlanTask> task = ReadNext(stop);
  if (!task.ok()) return Add(task.status());
  Add(engine_.PlanAlone(*task, ContextOfNext(std::move(stop), observer)));
}

void BatchPlanning::EndWith(const absl::Status& error) {
  while (!is_done()) Add(error);
}

void BatchPlanning::Add(absl::StatusOr<v1::Plan> plan) {
  const int64_t most = engine_.config().max_message_bytes;
  v1::BatchCreatePlansResponse::Result& result = *response_.add_results();
  if (plan.ok() && plan_bytes_ + static_cast<int64_t>(plan->ByteSizeLong()) > most) {
    plan = absl::ResourceExhaustedError(
        absl::StrCat("the answer would exceed ", most, " bytes with this plan; send fewer problems in a batch"));
  }
  if (!plan.ok()) {
    *result.mutable_error() = ToRpcStatus(plan.status(), kMaxErrorBytes);
    return;
  }
  plan_bytes_ += static_cast<int64_t>(plan->ByteSizeLong());
  *result.mutable_plan() = *std::move(plan);
}

}  // namespace planwright::server
