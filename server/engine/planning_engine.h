// The service without gRPC: requests in, responses out. planwrightd and the CLI's in-process mode share it.
#ifndef PLANWRIGHT_SERVER_ENGINE_PLANNING_ENGINE_H_
#define PLANWRIGHT_SERVER_ENGINE_PLANNING_ENGINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/validator.h"
#include "core/planner/planner.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/engine/library/input_lookup.h"
#include "server/engine/library/library.h"
#include "server/engine/plans/plan_cache.h"
#include "server/engine/plans/plan_reuse.h"
#include "server/engine/plans/stored_plans.h"
#include "server/engine/simulation_messages.h"
#include "server/engine/task/current_limits.h"
#include "server/engine/task/plan_task.h"
#include "server/engine/task/search_deadline.h"
#include "server/engine/task/search_observer.h"
#include "server/serving/callers/caller.h"
#include "server/store/store.h"

namespace planwright::server {

struct EngineConfig {
  std::string version;
  ModelLimits model_limits;
  TimeLimits time_limits;
  // Threads of the arena that all searches share. >= 1.
  int cpus = 1;
  // Memory that the whole process may take (memory_shares.h).
  int64_t memory_budget_bytes = int64_t{8} << 30;
  // >= 1.
  int max_running = 1;
  // Searches that may run besides, of tenants of which none does. >= 0.
  int spare_running = 0;
  // Operations at the same time, besides. >= 0.
  int max_operations = 0;
  // Reported by GetServerInfo only.
  int max_waiting = 0;
  int64_t max_message_bytes = int64_t{64} << 20;
  // Problems of one BatchCreatePlans.
  int64_t max_batch_size = 1000;
  // What the plans may take that are kept for those who ask again; 0: none are kept.
  int64_t cache_bytes = 0;
  // What a tenant may store, and how long that is kept.
  Quota quota;
  Store::Retention retention;
};

// One call, as the transport sees it.
struct CallContext {
  // nullopt: the caller waits for as long as it takes.
  std::optional<SolveLimits::Clock::time_point> deadline = std::nullopt;
  // Requested when nobody waits for the answer any more.
  // GCC warns where only fields before or behind one without an initializer are given.
  std::stop_token stop = {};  // NOLINT(readability-redundant-member-init)
  // nullptr: nobody listens. Outlives the call.
  SearchObserver* observer = nullptr;
  // Searches that the time until `deadline` is for, this one included. >= 1.
  int64_t searches_left = 1;
  // The tenant whose call it is.
  std::string tenant = kDefaultTenant;
};

// The plan that `task` is answered with. `from_cache`: it was not searched for by the call itself.
// REQUIRES: `cached` is in the words of the task (PlanningEngine::InWordsOf).
v1::Plan AnswerOf(const PlanTask& task, const CachedPlan& cached, bool from_cache);

// What a request that brings a plan says of it: graph and cluster, and the problem, else that of the plan.
struct GivenPlan {
  OperatorGraph graph;
  Cluster cluster;
  PlanningProblem problem;
};

// Thread-safe. Calls compute on the calling thread and on the arena.
class PlanningEngine {
 public:
  // `store`: nullptr, nothing is kept; outlives the engine.
  explicit PlanningEngine(EngineConfig config, Store* store = nullptr);

  // Errors: see the contract (planning_service.proto), and those of MakePlan.
  absl::StatusOr<v1::CreatePlanResponse> CreatePlan(const v1::CreatePlanRequest& request, const CallContext& context);
  // As CreatePlan; the answer is the last message of the stream. The events before it go to context.observer, which
  // decides whether it wants incumbent plans.
  absl::StatusOr<v1::StreamPlanResponse> StreamPlan(const v1::StreamPlanRequest& request, const CallContext& context);
  // Stops between its steps when the call is cancelled or its deadline passes.
  absl::StatusOr<v1::EvaluatePlanResponse> EvaluatePlan(const v1::EvaluatePlanRequest& request,
                                                        const CallContext& context = CallContext());
  // Stops between its steps as well.
  absl::StatusOr<SimulationMessages> SimulatePlan(const v1::SimulatePlanRequest& request,
                                                  const CallContext& context = CallContext());
  // The calls above in two steps, the first of which may wait for the store: `given` is what the request was read to.
  absl::StatusOr<GivenPlan> ReadGivenPlan(const v1::EvaluatePlanRequest& request, const CallContext& context);
  absl::StatusOr<GivenPlan> ReadGivenPlan(const v1::SimulatePlanRequest& request, const CallContext& context);
  absl::StatusOr<v1::EvaluatePlanResponse> EvaluatePlan(const v1::EvaluatePlanRequest& request, const GivenPlan& given,
                                                        const CallContext& context) const;
  absl::StatusOr<SimulationMessages> SimulatePlan(const v1::SimulatePlanRequest& request, const GivenPlan& given,
                                                  const CallContext& context) const;
  // The plan of a task that has been read, without the others who ask for the same. Errors: those of MakePlan.
  absl::StatusOr<v1::Plan> PlanAlone(const PlanTask& task, const CallContext& context);
  absl::StatusOr<v1::GetGraphResponse> GetGraph(const v1::GetGraphRequest& request,
                                                const CallContext& context = CallContext());
  absl::StatusOr<v1::GetClusterResponse> GetCluster(const v1::GetClusterRequest& request,
                                                    const CallContext& context = CallContext());
  v1::GetServerInfoResponse GetServerInfo() const;

  // The parts of CreatePlan and StreamPlan, for those who let several calls share one search (plan_finder.h).
  //
  // What a request asks for. Errors: INVALID_ARGUMENT, NOT_FOUND.
  absl::StatusOr<PlanTask> ReadTask(const v1::CreatePlanRequest& request, const CallContext& context);
  absl::StatusOr<PlanTask> ReadTask(const v1::StreamPlanRequest& request, const CallContext& context);
  // Reads one problem of a batch, on the cluster of all; `graph`: that of the batch, or nullptr.
  absl::StatusOr<PlanTask> ReadTask(const v1::BatchCreatePlansRequest::Entry& entry,
                                    std::shared_ptr<const OperatorGraph> graph, std::shared_ptr<const Cluster> cluster,
                                    const CallContext& context);
  // A plan that is known already and good enough; nullptr: a search is needed. Does not look into the store.
  std::shared_ptr<const CachedPlan> FindPlan(const PlanTask& task, const CallContext& context);
  // Likewise the plan that the store has for the task, which is known from then on. Blocks on the store.
  std::shared_ptr<const CachedPlan> FetchPlan(const PlanTask& task, const CallContext& context);
  // Whether it is worth asking the store: there is one, it answers, and plans are kept at all.
  bool MayFetch() const { return config_.cache_bytes > 0 && stored_.MayAsk(); }
  // A plan of the task's shared form for the task itself: its devices renamed, verified again unless it was made for
  // the same names. nullptr: it is wrong, or there is no time to find out.
  std::shared_ptr<const CachedPlan> InWordsOf(const PlanTask& task, std::shared_ptr<const CachedPlan> known,
                                              const CallContext& context) const;
  // Searches, starting from the plan that is known if there is one, and keeps the result in memory. Errors: those of
  // MakePlan.
  absl::StatusOr<std::shared_ptr<const CachedPlan>> Search(const PlanTask& task, const CallContext& context);
  // Keeps what was found for the task in the store, in the task's shared form, unless a better plan is known. Blocks on
  // the store.
  void StoreShared(const PlanTask& task, const CachedPlan& found);
  // What the tables of a search for the task may take: as much as they are estimated to need, at most the tables' share
  // of the budget divided by LargeSearches() and the operations. Whoever runs searches sees to it that those that run
  // may not take more than the share together. It does not depend on what else runs, so that the plan does not either.
  int64_t TableBytes(const PlanTask& task) const;
  // Searches of calls that may take as much as there is for one of them, at the same time: all, or a few of many.
  static int LargeSearches(const EngineConfig& config);
  // What a call with this task would be given by a search now.
  SearchEffort EffortFor(const PlanTask& task, const CallContext& context) const;

  // What tenants keep.
  Library& library() { return library_; }
  // What requests of the tenant may name.
  InputLookup NamesFor(const std::string& tenant) { return {&library_, tenant}; }

  PlanCache::Stats cache_stats() const { return cache_.stats(); }
  // Cached plans that were taken out of the store, and those among them that had to be dropped.
  int64_t stored_plans_found() const { return stored_.found(); }
  int64_t stored_plans_dropped() const { return stored_.dropped(); }

  // The integer program of the problem as text (see WriteIntegerProgram); not an RPC. options.algorithm is ignored.
  absl::StatusOr<std::string> WriteProgram(const v1::CreatePlanRequest& request, ProgramFormat format,
                                           ProgramForm form);

  // As it was at the start; model_limits() are those that hold now.
  const EngineConfig& config() const { return config_; }
  ModelLimits model_limits() const { return limits_.Get(); }
  // Holds for later requests.
  void SetModelLimits(const ModelLimits& limits) { limits_.Set(limits); }

 private:
  // For each request type with the fields of CreatePlanRequest.
  template <typename Request>
  absl::StatusOr<PlanTask> ReadAnyTask(const Request& request, const CallContext& context);
  // `violations`: what is wrong with graph and cluster.
  absl::StatusOr<PlanTask> MakeTask(std::shared_ptr<const OperatorGraph> graph, std::shared_ptr<const Cluster> cluster,
                                    const v1::PlanningProblem& problem, const v1::SolverOptions& options,
                                    Violations& violations) const;
  // PlanKey with what the task says of everything else.
  std::string KeyOf(const PlanTask& task, std::string_view cluster_digest, const v1::PlanningProblem& problem) const;
  // `known` with the devices of the task. Errors: INVALID_ARGUMENT, it is no plan for the task; DEADLINE_EXCEEDED or
  // CANCELLED, nobody knows.
  absl::StatusOr<std::shared_ptr<const CachedPlan>> Verified(const PlanTask& task, const CachedPlan& known,
                                                             const CallContext& context) const;
  // Takes the plan of the task out of the store into memory, if there is one and it is right.
  void FetchStored(const PlanTask& task, const CallContext& context);
  // The placement of the plan that is kept for the task; nullopt: there is none.
  std::optional<Placement> KnownPlacement(const PlanTask& task);

  EngineConfig config_;
  CurrentLimits limits_;
  Library library_;
  // Part of every key.
  std::string program_version_;
  TaskArena arena_;
  PlanCache cache_;
  StoredPlans stored_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_PLANNING_ENGINE_H_
