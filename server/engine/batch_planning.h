// BatchCreatePlans, one problem at a time, so that others have their turn in between.
#ifndef PLANWRIGHT_SERVER_ENGINE_BATCH_PLANNING_H_
#define PLANWRIGHT_SERVER_ENGINE_BATCH_PLANNING_H_

#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/engine/planning_engine.h"

namespace planwright::server {

// Not thread-safe, but successive steps may run on different threads.
class BatchPlanning {
 public:
  // Reads what the problems share. `engine` and `request` outlive the object. Of `context`, tenant and deadline count;
  // without a deadline the batch has the engine's max_time_limit. Errors: those of BatchCreatePlans.
  static absl::StatusOr<std::unique_ptr<BatchPlanning>> Start(PlanningEngine& engine,
                                                              const v1::BatchCreatePlansRequest& request,
                                                              const CallContext& context);

  bool is_done() const { return response_.results_size() == request_.requests_size(); }

  // The next problem, and what the call gives it: its share of the time. The task may outlive the object. Errors: those
  // of PlanningEngine::ReadTask; DEADLINE_EXCEEDED, the batch has no time left. REQUIRES: !is_done().
  absl::StatusOr<PlanTask> ReadNext(std::stop_token stop);
  CallContext ContextOfNext(std::stop_token stop, SearchObserver* observer) const;
  // The result of the next problem, which is the one behind it from then on. REQUIRES: !is_done().
  void Add(absl::StatusOr<v1::Plan> plan);

  // Reads, plans alone and adds the next problem. REQUIRES: !is_done().
  void PlanNext(std::stop_token stop, SearchObserver* observer);

  // Gives every problem that has no result yet `error`.
  void EndWith(const absl::Status& error);

  // One result for each problem that has one.
  v1::BatchCreatePlansResponse TakeResponse() { return std::move(response_); }

 private:
  BatchPlanning(PlanningEngine& engine, const v1::BatchCreatePlansRequest& request,
                SolveLimits::Clock::time_point deadline, std::string tenant)
      : engine_(engine), request_(request), deadline_(deadline), tenant_(std::move(tenant)) {}

  absl::Status ReadShared();

  PlanningEngine& engine_;
  const v1::BatchCreatePlansRequest& request_;
  const SolveLimits::Clock::time_point deadline_;
  const std::string tenant_;
  std::shared_ptr<const Cluster> cluster_;
  // nullptr: every problem brings its own.
  std::shared_ptr<const OperatorGraph> graph_;
  v1::BatchCreatePlansResponse response_;
  // What the plans in response_ take.
  int64_t plan_bytes_ = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_BATCH_PLANNING_H_
