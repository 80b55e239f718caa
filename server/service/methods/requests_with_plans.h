// What EvaluatePlan and SimulatePlan have in common: a request that brings a plan is read on a serving thread, and
// admitted to the threads that compute by what it takes.
#ifndef PLANWRIGHT_SERVER_SERVICE_METHODS_REQUESTS_WITH_PLANS_H_
#define PLANWRIGHT_SERVER_SERVICE_METHODS_REQUESTS_WITH_PLANS_H_

#include <google/protobuf/arena.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "server/engine/planning_engine.h"
#include "server/engine/task/without_exceptions.h"
#include "server/engine/task_memory.h"
#include "server/service/call/call_messages.h"
#include "server/service/call/call_services.h"
#include "server/service/call/call_start.h"
#include "server/service/methods/plan_request_reading.h"

namespace planwright::server {

template <typename Request>
struct RequestWithPlan {
  explicit RequestWithPlan(MemoryAccount& account) : unpacked(account) {}

  // What the message takes, until what it was read to is counted. Ends after the message.
  MemoryAccount::Hold unpacked;
  google::protobuf::Arena arena;
  // In the arena.
  Request& message = *google::protobuf::Arena::CreateMessage<Request>(&arena);
  GivenPlan given;
};

// Whoever waits for a request that is read: called once, with an error on any thread, else on one of
// CallServices::executor.
template <typename Request>
using OnGiven = std::function<void(absl::StatusOr<std::shared_ptr<const RequestWithPlan<Request>>>)>;

// The second half of SubmitWithPlan, on a thread that may wait for the store where the request needs it.
template <typename Request>
absl::Status ReadWithPlan(const CallServices& services, const CallStart& start, const std::stop_source& stop,
                          const std::shared_ptr<RequestWithPlan<Request>>& request, const OnGiven<Request>& run) {
  ASSIGN_OR_RETURN(request->given, services.engine.ReadGivenPlan(request->message, {.deadline = start.deadline,
                                                                                    .stop = stop.get_token(),
                                                                                    .tenant = start.caller.tenant}));
  const auto message_bytes = static_cast<int64_t>(request->message.SpaceUsedLong());
  // The job counts it from here on.
  request->unpacked.Clear();
  return services.executor.Submit({.deadline = start.deadline,
                                   .stop = stop,
                                   .run =
                                       [request, run, &start](const absl::Status& admission) {
                                         if (!admission.ok()) return run(admission);
                                         start.record->SetRunning();
                                         run(request);
                                       },
                                   .bytes = EstimateMemory(request->given) + message_bytes,
                                   .tenant = start.caller.tenant});
}

// Reads the request in `bytes` and has `run` called with it. An error: it is not called, because the call is not
// permitted or too many wait. `services` and `start` live until `run` is called.
template <typename Request>
absl::Status SubmitWithPlan(const CallServices& services, const CallStart& start, const std::stop_source& stop,
                            const grpc::ByteBuffer& bytes, OnGiven<Request> run) {
  return SubmitReading(services, start, stop, bytes, [&services, &start, stop, &bytes, run](absl::Status status) {
    auto request = std::make_shared<RequestWithPlan<Request>>(services.unpacked);
    const auto read = [&services, &start, stop, request, run](absl::Status admission) {
      if (admission.ok()) {
        admission = WithoutExceptions([&] { return ReadWithPlan(services, start, stop, request, run); });
      }
      if (!admission.ok()) run(admission);
    };
    if (status.ok()) {
      status = WithoutExceptions(
          [&] { return ReadMessage(bytes, services.engine.model_limits(), request->unpacked, request->message); });
    }
    if (!status.ok() || !NamesRegistered(request->message)) return read(status);
    status = services.lookups.Submit({.deadline = start.deadline,
                                      .stop = stop,
                                      .run = read,
                                      .bytes = static_cast<int64_t>(bytes.Length()),
                                      .tenant = start.caller.tenant});
    if (!status.ok()) run(status);
  });
}

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_METHODS_REQUESTS_WITH_PLANS_H_
