#include "server/service/methods/batch_plan_call.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/base/status_macros.h"
#include "server/engine/task/without_exceptions.h"
#include "server/engine/task_memory.h"
#include "server/service/call/call_messages.h"
#include "server/service/methods/plan_request_reading.h"
#include "server/service/record/search_log.h"
#include "server/serving/admission/retry_delay.h"

namespace planwright::server {

grpc::ServerUnaryReactor* BatchPlanCall::Start() {
  const absl::Status accepted = SubmitReading(services_, start_, stop_, request_, [this](absl::Status admission) {
    if (admission.ok()) admission = WithoutExceptions([this] { return Read(); });
    if (!admission.ok()) End(admission);
  });
  if (!accepted.ok()) End(accepted);
  return this;
}

absl::Status BatchPlanCall::Read() {
  RETURN_IF_ERROR(ReadMessage(request_, services_.engine.model_limits(), unpacked_, message_));
  reading_ = NamesStored() ? &services_.lookups : &services_.long_reads;
  Executor::QueuedJob job = Reading([this](absl::Status status) {
    if (status.ok()) {
      status = WithoutExceptions([this] {
        ASSIGN_OR_RETURN(batch_,
                         BatchPlanning::Start(
                             services_.engine, message_,
                             {.deadline = start_.deadline, .stop = stop_.get_token(), .tenant = start_.caller.tenant}));
        return absl::OkStatus();
      });
    }
    if (!status.ok()) return End(status);
    Next();
  });
  return reading_->Submit(std::move(job));
}

bool BatchPlanCall::NamesStored() const {
  return NamesRegistered(message_) ||
         std::any_of(message_.requests().begin(), message_.requests().end(),
                     [](const auto& entry) { return absl::StartsWith(entry.graph_reference(), "graphs/"); });
}

Executor::QueuedJob BatchPlanCall::Reading(std::function<void(const absl::Status&)> run) {
  return {.deadline = start_.deadline,
          .stop = stop_,
          .run = std::move(run),
          .bytes = static_cast<int64_t>(request_.Length()),
          .tenant = start_.caller.tenant,
          .priority = Priority::kBackground};
}

void BatchPlanCall::Next() {
  if (batch_->is_done()) return Answer();
  absl::StatusOr<PlanTask> task = WithoutExceptions([this] { return batch_->ReadNext(stop_.get_token()); });
  if (task.ok()) return services_.finder.Take(OrderOf(*std::move(task)));
  batch_->Add(task.status());
  reading_->Requeue(Reading([this](const absl::Status& admission) { GoOn(admission); }));
}

void BatchPlanCall::GoOn(const absl::Status& admission) {
  if (admission.ok()) return Next();
  if (stop_.stop_requested() || !has_some_) return End(admission);
  batch_->EndWith(admission);
  Answer();
}

void BatchPlanCall::Answer() {
  End(WithoutExceptions([this] { return SetAnswer(batch_->TakeResponse()); }));
}

PlanFinder::Order BatchPlanCall::OrderOf(PlanTask task) {
  PlanFinder::Order order;
  order.task = std::move(task);
  order.context = batch_->ContextOfNext(stop_.get_token(), /*observer=*/nullptr);
  order.log = std::make_unique<SearchLog>(start_.record->search_origin(), services_.metrics, services_.log,
                                          services_.slow_search);
  order.bytes = EstimateMemory(order.task) + static_cast<int64_t>(request_.Length());
  order.priority = Priority::kBackground;
  order.has_place = has_place_;
  // Nobody else's search may take the time of the problems behind this one.
  const Executor::Clock::time_point now = Executor::Clock::now();
  order.patience = start_.deadline.has_value() ? now + (*start_.deadline - now) / order.context.searches_left
                                               : Executor::Clock::time_point::max();
  order.done = [this](absl::StatusOr<v1::Plan> plan, PlanSource source) {
    reading_->Requeue(Reading([this, plan = std::move(plan), source](const absl::Status&) { Take(plan, source); }));
  };
  return order;
}

void BatchPlanCall::Take(absl::StatusOr<v1::Plan> plan, PlanSource source) {
  if (stop_.stop_requested()) return End(absl::CancelledError("cancelled"));
  const absl::Status stopped = Stopped(plan.status());
  const bool has_some = std::exchange(has_some_, true);
  if (!stopped.ok() && !has_some) return End(stopped);
  has_place_ = has_place_ || source == PlanSource::kSearched;
  if (stopped.ok()) {
    batch_->Add(std::move(plan));
  } else {
    // Problems have been planned: they are the answer, although the others cannot be planned any more.
    batch_->EndWith(stopped);
  }
  Next();
}

absl::Status BatchPlanCall::Stopped(const absl::Status& error) const {
  // It was not us.
  if (absl::IsCancelled(error)) return absl::UnavailableError("the server is shutting down");
  // The queue is full, or shut.
  return RetryDelayOf(error).has_value() ? error : absl::OkStatus();
}

}  // namespace planwright::server
