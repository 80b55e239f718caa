// The service without gRPC: requests in, responses out. planwrightd and the CLI's in-process mode share it.
#ifndef PLANWRIGHT_SERVER_ENGINE_PLANNING_ENGINE_H_
#define PLANWRIGHT_SERVER_ENGINE_PLANNING_ENGINE_H_

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/validator.h"
#include "core/planner/planner.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/engine/search_deadline.h"
#include "server/engine/search_observer.h"
#include "server/serving/caller.h"

namespace planwright::server {

struct EngineConfig {
  std::string version;
  ModelLimits model_limits;
  TimeLimits time_limits;
  // Threads of the arena that all searches share. >= 1.
  int cpus = 1;
  // Memory of the tables of all searches; each may take its share of max_running. The share does not depend on how many
  // run, so that the plan does not either.
  int64_t memory_budget_bytes = int64_t{8} << 30;
  // >= 1.
  int max_running = 1;
  // Reported by GetServerInfo only.
  int max_waiting = 0;
  int64_t max_message_bytes = int64_t{64} << 20;
  // Problems of one BatchCreatePlans.
  int64_t max_batch_size = 1000;
};

// One call, as the transport sees it.
struct CallContext {
  // nullopt: the caller waits for as long as it takes.
  std::optional<SolveLimits::Clock::time_point> deadline;
  // Requested when nobody waits for the answer any more.
  std::stop_token stop;
  // nullptr: nobody listens. Outlives the call.
  SearchObserver* observer = nullptr;
  // Searches that the time until `deadline` is for, this one included. >= 1.
  int64_t searches_left = 1;
  // Whose the call is.
  std::string tenant = kDefaultTenant;
};

// Thread-safe. Calls compute on the calling thread and on the arena.
class PlanningEngine {
 public:
  explicit PlanningEngine(EngineConfig config);

  // Errors: see the contract (planning_service.proto), and those of MakePlan.
  absl::StatusOr<v1::CreatePlanResponse> CreatePlan(const v1::CreatePlanRequest& request, const CallContext& context);
  // As CreatePlan; the answer is the last message of the stream. The events before it go to context.observer, which
  // decides whether it wants incumbent plans.
  absl::StatusOr<v1::StreamPlanResponse> StreamPlan(const v1::StreamPlanRequest& request, const CallContext& context);
  // Stops between its steps when the call is cancelled or its deadline passes.
  absl::StatusOr<v1::EvaluatePlanResponse> EvaluatePlan(const v1::EvaluatePlanRequest& request,
                                                        const CallContext& context = CallContext()) const;
  // One problem of a batch, on the cluster of all: as CreatePlan, but the graph may be that of the batch.
  absl::StatusOr<v1::Plan> PlanEntry(const v1::BatchCreatePlansRequest::Entry& entry,
                                     const std::optional<OperatorGraph>& graph, const Cluster& cluster,
                                     const CallContext& context);
  absl::StatusOr<v1::GetGraphResponse> GetGraph(const v1::GetGraphRequest& request) const;
  absl::StatusOr<v1::GetClusterResponse> GetCluster(const v1::GetClusterRequest& request) const;
  v1::GetServerInfoResponse GetServerInfo() const;
  // The integer program of the problem as text (see WriteIntegerProgram); not an RPC. options.algorithm is ignored.
  absl::StatusOr<std::string> WriteProgram(const v1::CreatePlanRequest& request, ProgramFormat format,
                                           ProgramForm form) const;

  const EngineConfig& config() const { return config_; }

 private:
  // For each request type with the fields of CreatePlanRequest.
  template <typename Request>
  absl::StatusOr<v1::Plan> MakeWirePlan(const Request& request, const CallContext& context);
  // `violations`: what is wrong with graph and cluster.
  absl::StatusOr<v1::Plan> PlanInput(const OperatorGraph& graph, const Cluster& cluster,
                                     const v1::PlanningProblem& wire_problem, const v1::SolverOptions& wire_options,
                                     const CallContext& context, Violations& violations);

  EngineConfig config_;
  TaskArena arena_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_PLANNING_ENGINE_H_
