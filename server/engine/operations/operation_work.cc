#include "server/engine/operations/operation_work.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/violations.h"
#include "server/codec/plan.h"
#include "server/engine/operations/operation_codec.h"
#include "server/engine/operations/sweep_rows.h"
#include "server/engine/plan_finder.h"
#include "server/engine/rpc_status.h"
#include "server/engine/task/without_exceptions.h"
#include "server/store/database/store_status.h"

namespace planwright::server {
namespace {

// Saves incumbents and hands the rest on.
class IncumbentSaver final : public SearchObserver {
 public:
  IncumbentSaver(OperationJob& job, SearchObserver& log) : job_(job), log_(log) {}

  bool wants_incumbent_plans() const override { return true; }
  void OnIncumbentAnswer(const v1::Plan& plan) override { job_.Save(plan.SerializeAsString(), SummaryOf(plan)); }
  void OnSearchStart(const SearchStart& start) override { log_.OnSearchStart(start); }
  void OnSearchEnd(const absl::StatusOr<Plan>& result, std::chrono::nanoseconds elapsed) override {
    log_.OnSearchEnd(result, elapsed);
  }

 private:
  OperationJob& job_;
  SearchObserver& log_;
};

// The placement of the plan that the operation's worker before saved; nullopt: there is none that can be read.
std::optional<Placement> SavedPlacement(const Operation& operation, const PlanTask& task) {
  v1::Plan plan;
  if (operation.incumbent.empty() || !plan.ParseFromString(operation.incumbent)) return std::nullopt;
  Violations violations;
  Placement placement = DecodePlacement(plan, *task.graph, *task.cluster, violations);
  return violations.empty() ? std::optional<Placement>(std::move(placement)) : std::nullopt;
}

// Waits for `time`, or until `stop`.
void Pause(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  never.wait_for(lock, stop, time, [] { return false; });
}

// The claim to search for the task; nullptr: it is not to be had. Waits while somebody else has it, until there is a
// plan, which is `found` then.
std::shared_ptr<ClaimKeeper::Claim> AwaitClaim(PlanningEngine& engine, ClaimKeeper* claims, const PlanTask& task,
                                               const CallContext& context, std::shared_ptr<const CachedPlan>& found) {
  constexpr std::chrono::milliseconds kPause{250};
  if (claims == nullptr || task.skip_cache) return nullptr;
  const std::string key = PlanFinder::ClaimKey(task, context.tenant);
  while (true) {
    const auto time = std::chrono::floor<std::chrono::milliseconds>(engine.EffortFor(task, context).time);
    ClaimKeeper::Outcome outcome = claims->Try(key, time);
    // Whoever had it may have stored its plan in between.
    found = engine.FetchPlan(task, context);
    const bool is_other = outcome.expected_by_other.has_value();
    if (found != nullptr || !is_other || context.stop.stop_requested()) return std::move(outcome.claim);
    Pause(kPause, context.stop);
  }
}

absl::StatusOr<v1::Plan> MakePlan(PlanningEngine& engine, Store& store, ClaimKeeper* claims, OperationJob& job,
                                  SearchObserver& log) {
  const Operation& operation = job.operation();
  ASSIGN_OR_RETURN(const v1::CreatePlanRequest request, RequestOf(store, operation));
  IncumbentSaver saver(job, log);
  const CallContext context{.stop = job.stop(), .observer = &saver, .tenant = operation.tenant};
  ASSIGN_OR_RETURN(PlanTask task, engine.ReadTask(request, context));
  ASSIGN_OR_RETURN(std::optional<v1::Plan> kept, engine.library().FindKeptPlan(operation.tenant, task));
  if (kept.has_value()) return *std::move(kept);
  task.start = SavedPlacement(operation, task);
  std::shared_ptr<const CachedPlan> plan = engine.FindPlan(task, context);
  std::shared_ptr<ClaimKeeper::Claim> claim;
  if (plan == nullptr) claim = AwaitClaim(engine, claims, task, context, plan);
  const bool is_cached = plan != nullptr;
  if (!is_cached) {
    ASSIGN_OR_RETURN(plan, engine.Search(task, context));
    engine.StoreShared(task, *plan);
  }
  v1::Plan answer = AnswerOf(task, *plan, is_cached);
  RETURN_IF_ERROR(engine.library().KeepPlan(operation.tenant, task, answer));
  return answer;
}

OperationEnd Failed(const absl::Status& status) {
  return {.state = OperationState::kFailed,
          .result = ToRpcStatus(status).SerializeAsString(),
          .summary = SummaryOf(status)};
}

}  // namespace

OperationEnd RunOperation(PlanningEngine& engine, Store& store, ClaimKeeper* claims, OperationJob& job,
                          SearchObserver& log) {
  const std::stop_callback on_stop(job.stop(), [&log] { log.OnStopRequested(); });
  const absl::StatusOr<v1::Plan> plan = WithoutExceptions([&] { return MakePlan(engine, store, claims, job, log); });
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
