#include "server/engine/operations/operation_work.h"

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/violations.h"
#include "server/codec/plan.h"
#include "server/engine/operations/operation_codec.h"
#include "server/engine/operations/sweep_rows.h"
#include "server/engine/rpc_status.h"
#include "server/engine/task/without_exceptions.h"
#include "server/engine/task_memory.h"
#include "server/store/database/store_status.h"

namespace planwright::server {
namespace {

// From one try to keep a plan to the next.
constexpr std::chrono::seconds kStorePause{1};

// Saves incumbents.
class IncumbentSaver final : public SearchObserver {
 public:
  explicit IncumbentSaver(OperationJob& job) : job_(job) {}

  bool wants_incumbent_plans() const override { return true; }
  void OnIncumbentAnswer(const v1::Plan& plan) override { job_.Save(plan.SerializeAsString(), SummaryOf(plan)); }

 private:
  OperationJob& job_;
};

// The placement of the plan that the operation's worker before saved; nullopt: there is none that can be read.
std::optional<Placement> SavedPlacement(const Operation& operation, const PlanTask& task) {
  v1::Plan plan;
  if (operation.incumbent.empty() || !plan.ParseFromString(operation.incumbent)) return std::nullopt;
  Violations violations;
  Placement placement = DecodePlacement(plan, *task.graph, *task.cluster, violations);
  return violations.empty() ? std::optional<Placement>(std::move(placement)) : std::nullopt;
}

// The answer to `order`, once it is there.
absl::StatusOr<v1::Plan> Await(PlanFinder& finder, PlanFinder::Order order) {
  const auto answer = std::make_shared<std::promise<absl::StatusOr<v1::Plan>>>();
  order.done = [answer](absl::StatusOr<v1::Plan> plan, PlanSource /*source*/) { answer->set_value(std::move(plan)); };
  finder.Take(std::move(order));
  return answer->get_future().get();
}

// What has been found is not to be sought again because the disk is full for a while: tries until the store takes the
// plan, or the job is to stop, and leaves it to whoever goes on then.
absl::Status Keep(Library& library, OperationJob& job, const PlanTask& task, v1::Plan& plan) {
  const std::string& tenant = job.operation().tenant;
  absl::Status kept = library.KeepPlan(tenant, task, plan);
  while (IsStoreUnavailable(kept) && job.Pause(kStorePause)) kept = library.KeepPlan(tenant, task, plan);
  if (IsStoreUnavailable(kept)) job.Save(plan.SerializeAsString(), SummaryOf(plan));
  return kept;
}

absl::StatusOr<v1::Plan> MakePlan(const OperationTools& tools, OperationJob& job, std::unique_ptr<SearchObserver> log) {
  const Operation& operation = job.operation();
  ASSIGN_OR_RETURN(const v1::CreatePlanRequest request, RequestOf(tools.store, operation));
  IncumbentSaver saver(job);
  PlanFinder::Order order;
  order.context = {.stop = job.stop(), .observer = &saver, .tenant = operation.tenant};
  ASSIGN_OR_RETURN(PlanTask task, tools.engine.ReadTask(request, order.context));
  Library& library = tools.engine.library();
  ASSIGN_OR_RETURN(std::optional<v1::Plan> kept, library.FindKeptPlan(operation.tenant, task));
  if (kept.has_value()) return *std::move(kept);
  task.start = SavedPlacement(operation, task);
  order.task = task;
  order.log = std::move(log);
  order.bytes = EstimateMemory(task);
  order.has_place = true;
  order.searching = &tools.searching;
  order.takes_what_is_found = true;
  ASSIGN_OR_RETURN(v1::Plan answer, Await(tools.finder, std::move(order)));
  RETURN_IF_ERROR(Keep(library, job, task, answer));
  return answer;
}

OperationEnd Failed(const absl::Status& status) {
  return {.state = OperationState::kFailed,
          .result = ToRpcStatus(status).SerializeAsString(),
          .summary = SummaryOf(status)};
}

}  // namespace

OperationEnd RunOperation(const OperationTools& tools, OperationJob& job, std::unique_ptr<SearchObserver> log) {
  const absl::StatusOr<v1::Plan> plan = WithoutExceptions([&] { return MakePlan(tools, job, std::move(log)); });
  const bool may_go_on = plan.status().code() == absl::StatusCode::kCancelled || IsStoreUnavailable(plan.status());
  if (may_go_on) return {.state = OperationState::kCancelled, .result = "", .summary = ""};
  if (!plan.ok()) return Failed(plan.status());
  // A plan of the cache may come from a search that somebody else has cancelled: it is good enough all the same.
  const bool is_cut_off = job.stop().stop_requested() && plan->provenance().stop_reason() == v1::STOP_REASON_CANCELLED;
  if (is_cut_off) job.Save(plan->SerializeAsString(), SummaryOf(*plan));
  return {.state = is_cut_off ? OperationState::kCancelled : OperationState::kSucceeded,
          .result = plan->SerializeAsString(),
          .summary = SummaryOf(*plan)};
}

OperationEnd GiveUpOperation(const Operation& operation) {
  return Failed(absl::InternalError(
      absl::StrCat("given up: ", operation.attempts, " servers took it and none of them ended it")));
}

}  // namespace planwright::server
