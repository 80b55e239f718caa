// What CreatePlan and StreamPlan have in common: a request is read on a serving thread, and its plan is ordered.
#ifndef PLANWRIGHT_SERVER_SERVICE_PLAN_ORDERS_H_
#define PLANWRIGHT_SERVER_SERVICE_PLAN_ORDERS_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "planwright/v1/plan.pb.h"
#include "server/engine/library.h"
#include "server/engine/plan_desk.h"
#include "server/service/call_services.h"
#include "server/service/call_start.h"
#include "server/service/search_log.h"

namespace planwright::server {

// Has `read` called on a serving thread. An error: it is not called, because the call is not permitted or too many
// wait.
inline absl::Status SubmitReading(const CallServices& services, const CallStart& start, const std::stop_source& stop,
                                  const grpc::ByteBuffer& request, std::function<void(absl::Status)> read) {
  RETURN_IF_ERROR(start.permitted);
  return services.serving.Submit({.deadline = start.deadline,
                                  .stop = stop,
                                  .run = std::move(read),
                                  .bytes = static_cast<int64_t>(request.Length())});
}

// `done` for a plan that is stored before.
inline std::function<void(absl::StatusOr<v1::Plan>)> KeepFirst(Library& library, const std::string& tenant,
                                                               const PlanTask& task,
                                                               std::function<void(absl::StatusOr<v1::Plan>)> done) {
  return [&library, tenant, task, done = std::move(done)](absl::StatusOr<v1::Plan> plan) {
    if (plan.ok()) {
      const absl::Status kept = library.KeepPlan(tenant, task, *plan);
      if (!kept.ok()) plan = kept;
    }
    done(std::move(plan));
  };
}

// Orders the plan of `request`. `events`: told of the search; may be null. `done`: called once, unless an error is
// returned. Errors: those of PlanningEngine::ReadTask.
//
// A plan that is to be kept is stored before `done` hears of it, or found where it is stored already.
template <typename Request>
absl::Status PlaceOrder(const CallServices& services, const CallStart& start, std::stop_token stop,
                        const Request& request, int64_t bytes, SearchObserver* events,
                        std::function<void(absl::StatusOr<v1::Plan>)> done) {
  PlanDesk::Order order;
  order.context = {
      .deadline = start.deadline, .stop = std::move(stop), .observer = events, .tenant = start.caller.tenant};
  ASSIGN_OR_RETURN(order.task, services.engine.ReadTask(request, order.context));
  Library& library = services.engine.library();
  ASSIGN_OR_RETURN(std::optional<v1::Plan> kept, library.FindKeptPlan(start.caller.tenant, order.task));
  if (kept.has_value()) {
    done(*std::move(kept));
    return absl::OkStatus();
  }
  if (order.task.is_to_be_kept) done = KeepFirst(library, start.caller.tenant, order.task, std::move(done));
  order.log =
      std::make_unique<SearchLog>(start.record->request_id(), services.metrics, services.log, services.slow_search);
  order.bytes = bytes;
  RpcRecord& record = *start.record;
  record.SetPlanKey(order.task.key);
  order.done = [&record, done = std::move(done)](absl::StatusOr<v1::Plan> plan, PlanSource source) {
    if (plan.ok()) record.SetPlanSource(NameOf(source));
    done(std::move(plan));
  };
  services.desk.Take(std::move(order));
  return absl::OkStatus();
}

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_PLAN_ORDERS_H_
