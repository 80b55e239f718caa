// One BatchCreatePlans from its arrival to its answer.
#ifndef PLANWRIGHT_SERVER_SERVICE_METHODS_BATCH_PLAN_CALL_H_
#define PLANWRIGHT_SERVER_SERVICE_METHODS_BATCH_PLAN_CALL_H_

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/engine/batch_planning.h"
#include "server/engine/plan_finder.h"
#include "server/service/call/unary_reactor.h"

namespace planwright::server {

// Owns itself from Start until gRPC has sent the answer (OnDone). Orders the plan of one problem at a time, as
// CreatePlan would, in the background, so a batch delays nobody longer than one of its problems does. The first search
// has to be admitted; those behind it have its place.
class BatchPlanCall final : public UnaryReactor {
 public:
  using UnaryReactor::UnaryReactor;

  // Queues the call, or answers it at once when it is not permitted or too many wait.
  grpc::ServerUnaryReactor* Start();

 private:
  // Reads the message, and goes on where its problems can be read.
  absl::Status Read();
  // Whether a problem names what is stored.
  bool NamesStored() const;
  // A job for `reading_`.
  Executor::QueuedJob Reading(std::function<void(const absl::Status&)> run);
  // Orders the plan of the next problem, or goes on behind it where it cannot be read; without one, answers. Reads one
  // problem at most, so that others have their turn, and a caller that has gone, a deadline and a shutdown theirs.
  void Next();
  // Next, where the turn came; otherwise the end.
  void GoOn(const absl::Status& admission);
  // Answers with the results that there are.
  void Answer();
  PlanFinder::Order OrderOf(PlanTask task);
  // The end of an order, and on to the next.
  void Take(absl::StatusOr<v1::Plan> plan, PlanSource source);
  // What ends the batch rather than a problem of it; OK: nothing.
  absl::Status Stopped(const absl::Status& error) const;

  v1::BatchCreatePlansRequest message_;
  // What the message takes.
  MemoryAccount::Hold unpacked_{services_.batches};
  // Where problems are read; nullptr until it is known.
  Executor* reading_ = nullptr;
  // Empty until the problems' common parts are read.
  std::unique_ptr<BatchPlanning> batch_;
  // A search of ours was admitted.
  bool has_place_ = false;
  // A problem has its result.
  bool has_some_ = false;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_METHODS_BATCH_PLAN_CALL_H_
