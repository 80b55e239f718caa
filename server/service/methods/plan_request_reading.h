// What CreatePlan and StreamPlan have in common: a request is read on a serving thread, and its plan is ordered.
#ifndef PLANWRIGHT_SERVER_SERVICE_METHODS_PLAN_REQUEST_READING_H_
#define PLANWRIGHT_SERVER_SERVICE_METHODS_PLAN_REQUEST_READING_H_

#include <google/protobuf/arena.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "core/base/status_macros.h"
#include "core/base/thread_cpu_time.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/engine/library/library.h"
#include "server/engine/library/resource_name.h"
#include "server/engine/plan_finder.h"
#include "server/engine/task/without_exceptions.h"
#include "server/engine/task_memory.h"
#include "server/service/call/call_messages.h"
#include "server/service/call/call_services.h"
#include "server/service/call/call_start.h"
#include "server/service/record/search_log.h"

namespace planwright::server {

// Parsing more than this, which nothing interrupts, would keep a serving thread for tens of milliseconds.
constexpr int64_t kQuickMessageBytes = int64_t{4} << 20;

// Has `read` called on a serving thread, or on one for long reads where the message is large. An error: it is not
// called, because the call is not permitted or too many wait.
inline absl::Status SubmitReading(const CallServices& services, const CallStart& start, const std::stop_source& stop,
                                  const grpc::ByteBuffer& request, std::function<void(absl::Status)> read) {
  RETURN_IF_ERROR(start.permitted);
  if (start.record->trace() != nullptr) {
    // The call may be gone when it has been read.
    read = [trace = start.record->trace(), read = std::move(read)](absl::Status status) {
      trace->Mark(CallTrace::Moment::kReadBegin);
      read(std::move(status));
      trace->Mark(CallTrace::Moment::kReadEnd);
    };
  }
  const auto bytes = static_cast<int64_t>(request.Length());
  Executor& where = bytes <= kQuickMessageBytes ? services.serving : services.long_reads;
  return where.Submit({.deadline = start.deadline,
                       .stop = stop,
                       .run = std::move(read),
                       .bytes = bytes,
                       .tenant = start.caller.tenant});
}

// Whether a reference names what is registered rather than what is built in.
inline bool IsRegistered(const std::string& reference) {
  return reference.starts_with(kGraphs) || reference.starts_with(kClusters);
}

// The request in `bytes`, which are given back. It holds what it takes for as long as it lives. Errors: those of
// ReadMessage.
template <typename Request>
absl::StatusOr<std::shared_ptr<const Request>> ReadRequest(const CallServices& services,
                                                           const grpc::ByteBuffer& bytes) {
  struct Read {
    explicit Read(MemoryAccount& account) : unpacked(account) {}

    // Ends after the message.
    MemoryAccount::Hold unpacked;
    google::protobuf::Arena arena;
    Request& message = *google::protobuf::Arena::CreateMessage<Request>(&arena);
  };
  const auto read = std::make_shared<Read>(services.unpacked);
  RETURN_IF_ERROR(ReadMessage(bytes, services.engine.model_limits(), read->unpacked, read->message));
  DropBytes(bytes);
  return std::shared_ptr<const Request>(read, &read->message);
}

// Whether the request names what is stored.
template <typename Request>
bool NamesRegistered(const Request& request) {
  return IsRegistered(request.graph_reference()) || IsRegistered(request.cluster_reference());
}

inline bool IsToBeKept(const v1::CreatePlanRequest& request) { return request.store() || !request.plan_id().empty(); }
inline bool IsToBeKept(const v1::StreamPlanRequest& /*request*/) { return false; }

// `done` for a plan that is stored before, on a thread that may wait for the store. `services` lives until `done`.
inline std::function<void(absl::StatusOr<v1::Plan>)> KeepFirst(const CallServices& services, const std::string& tenant,
                                                               const PlanTask& task,
                                                               std::function<void(absl::StatusOr<v1::Plan>)> done) {
  return [&services, tenant, task, done = std::move(done)](absl::StatusOr<v1::Plan> plan) {
    if (!plan.ok()) return done(std::move(plan));
    auto keep = [&services, tenant, task, done, plan = *std::move(plan)](const absl::Status&) {
      v1::Plan kept = plan;
      const absl::Status status =
          WithoutExceptions([&] { return services.engine.library().KeepPlan(tenant, task, kept); });
      done(status.ok() ? absl::StatusOr<v1::Plan>(std::move(kept)) : status);
    };
    services.lookups.Requeue({.run = std::move(keep), .tenant = tenant});
  };
}

// Orders the plan of `request`. `events`: told of the search; may be null. `done`: called once, unless an error is
// returned. Errors: those of PlanningEngine::ReadTask; DEADLINE_EXCEEDED also where reading goes beyond `read_until`.
//
// A plan that is to be kept is stored before `done` hears of it, or found where it is stored already.
template <typename Request>
absl::Status PlaceOrder(const CallServices& services, const CallStart& start, std::stop_token stop,
                        const Request& request, SearchObserver* events,
                        std::function<void(absl::StatusOr<v1::Plan>)> done,
                        std::optional<Executor::Clock::time_point> read_until = std::nullopt) {
  PlanFinder::Order order;
  order.context = {
      .deadline = start.deadline, .stop = std::move(stop), .observer = events, .tenant = start.caller.tenant};
  CallContext reading = order.context;
  if (read_until.has_value()) reading.deadline = read_until;
  ASSIGN_OR_RETURN(order.task, services.engine.ReadTask(request, reading));
  Library& library = services.engine.library();
  ASSIGN_OR_RETURN(std::optional<v1::Plan> kept, library.FindKeptPlan(start.caller.tenant, order.task));
  if (kept.has_value()) {
    done(*std::move(kept));
    return absl::OkStatus();
  }
  if (order.task.is_to_be_kept) done = KeepFirst(services, start.caller.tenant, order.task, std::move(done));
  order.log = std::make_unique<SearchLog>(start.record->search_origin(), services.metrics, services.log,
                                          services.slow_search, start.record->trace());
  order.bytes = EstimateMemory(order.task);
  RpcRecord& record = *start.record;
  record.SetPlanKey(order.task.key);
  order.done = [&record, done = std::move(done)](absl::StatusOr<v1::Plan> plan, PlanSource source) {
    if (plan.ok()) record.SetPlanSource(NameOf(source));
    done(std::move(plan));
  };
  services.finder.Take(std::move(order));
  return absl::OkStatus();
}

// What reading a request may take on a serving thread. Most take a millisecond; one that takes longer is begun again
// where it is in nobody's way.
constexpr std::chrono::milliseconds kQuickReading{4};
// What it may take where long requests of the tenant wait already: this one may well be another, and sixty of them
// would keep the processors from everybody's searches for half a second.
constexpr std::chrono::milliseconds kQuickReadingBehindLongOnes{1};

// PlaceOrder for a request that is read quickly; nullopt: it takes longer. Time in which others had the processor does
// not count, so that a busy machine does not make a small request a large one.
template <typename Request>
std::optional<absl::Status> PlaceQuickOrder(const CallServices& services, const CallStart& start,
                                            const std::stop_source& stop, const Request& request,
                                            SearchObserver* events,
                                            const std::function<void(absl::StatusOr<v1::Plan>)>& done) {
  const bool is_behind = services.long_reads.HasWaiting(start.caller.tenant);
  const std::chrono::milliseconds quick = is_behind ? kQuickReadingBehindLongOnes : kQuickReading;
  const std::chrono::nanoseconds begin = ThreadCpuTime();
  do {
    const Executor::Clock::time_point until = Executor::Clock::now() + quick;
    if (start.deadline.has_value() && *start.deadline <= until) break;
    absl::Status placed = PlaceOrder(services, start, stop.get_token(), request, events, done, until);
    if (!absl::IsDeadlineExceeded(placed)) return placed;
  } while (ThreadCpuTime() - begin < quick / 2);
  return std::nullopt;
}

// PlaceOrder on a thread that may wait for the store, where that is asked for, or may take long, where reading does.
// `done`: called once, unless an error is returned. `services` and `start` live until then.
template <typename Request>
absl::Status PlaceOrderWhereItBelongs(const CallServices& services, const CallStart& start,
                                      const std::stop_source& stop, std::shared_ptr<const Request> request,
                                      int64_t bytes, SearchObserver* events,
                                      std::function<void(absl::StatusOr<v1::Plan>)> done) {
  Executor* where = &services.lookups;
  if (!NamesRegistered(*request) && !IsToBeKept(*request)) {
    // This is a thread for long reads already (SubmitReading).
    if (bytes > kQuickMessageBytes) {
      return PlaceOrder(services, start, stop.get_token(), *request, events, std::move(done));
    }
    std::optional<absl::Status> placed = PlaceQuickOrder(services, start, stop, *request, events, done);
    if (placed.has_value()) return *std::move(placed);
    where = &services.long_reads;
  }
  auto run = [&services, &start, stop, request, events, done](absl::Status placed) {
    if (placed.ok()) {
      placed = WithoutExceptions([&] { return PlaceOrder(services, start, stop.get_token(), *request, events, done); });
    }
    if (!placed.ok()) done(placed);
  };
  return where->Submit(
      {.deadline = start.deadline, .stop = stop, .run = std::move(run), .bytes = bytes, .tenant = start.caller.tenant});
}

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_METHODS_PLAN_REQUEST_READING_H_
