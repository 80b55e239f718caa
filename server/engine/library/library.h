// What tenants keep: plans, graphs and clusters, as messages.
#ifndef PLANWRIGHT_SERVER_ENGINE_LIBRARY_LIBRARY_H_
#define PLANWRIGHT_SERVER_ENGINE_LIBRARY_LIBRARY_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/engine/task/current_limits.h"
#include "server/engine/task/plan_task.h"
#include "server/store/store.h"

namespace planwright::server {

// Thread-safe; every call blocks on the store. Errors of each: those of its RPC, and FAILED_PRECONDITION
// (IsStoreMissing) where there is no store.
class Library {
 public:
  // `store`: nullptr, there is none. It and `limits` outlive the library.
  Library(Store* store, const Quota& quota, const CurrentLimits& limits)
      : store_(store), quota_(quota), limits_(limits) {}

  // "sqlite", "postgresql" or "none".
  std::string_view store_kind() const { return store_ != nullptr ? store_->kind() : "none"; }

  absl::StatusOr<v1::GetPlanResponse> GetPlan(const std::string& tenant, const v1::GetPlanRequest& request);
  absl::StatusOr<v1::ListPlansResponse> ListPlans(const std::string& tenant, const v1::ListPlansRequest& request);
  absl::StatusOr<v1::DeletePlanResponse> DeletePlan(const std::string& tenant, const v1::DeletePlanRequest& request);

  // `graph` is given up on the way, so that a large one is not held in all of its forms at once.
  absl::StatusOr<v1::RegisterGraphResponse> RegisterGraph(const std::string& tenant, v1::Graph graph,
                                                          std::string_view expected_digest);
  absl::StatusOr<v1::ListGraphsResponse> ListGraphs(const std::string& tenant, const v1::ListGraphsRequest& request);
  absl::StatusOr<v1::DeleteGraphResponse> DeleteGraph(const std::string& tenant, const v1::DeleteGraphRequest& request);

  absl::StatusOr<v1::RegisterClusterResponse> RegisterCluster(const std::string& tenant,
                                                              const v1::RegisterClusterRequest& request);
  absl::StatusOr<v1::ListClustersResponse> ListClusters(const std::string& tenant,
                                                        const v1::ListClustersRequest& request);
  absl::StatusOr<v1::DeleteClusterResponse> DeleteCluster(const std::string& tenant,
                                                          const v1::DeleteClusterRequest& request);

  // What is registered as `name` ("graphs/{sha256}", "clusters/{sha256}"). NOT_FOUND.
  absl::StatusOr<v1::Graph> FindGraph(const std::string& tenant, std::string_view name);
  absl::StatusOr<v1::Cluster> FindCluster(const std::string& tenant, std::string_view name);

  // The plan that the task's would be stored as, where it is there already; nullopt: it is to be made, also where its
  // numbers follow older rules (Plan.cost_model_version); newer ones, of a program that shares the store, stay, with a
  // warning. To be called before a search. ALREADY_EXISTS: that is a plan for another problem. INVALID_ARGUMENT: no
  // such plan_id.
  absl::StatusOr<std::optional<v1::Plan>> FindKeptPlan(const std::string& tenant, const PlanTask& task);
  // Stores `plan` where the task asks for that, and names it; a plan of older rules gives way. Where somebody else
  // stored the same plan_id meanwhile, as FindKeptPlan.
  absl::Status KeepPlan(const std::string& tenant, const PlanTask& task, v1::Plan& plan);

 private:
  absl::StatusOr<Store*> NeedStore() const;
  template <typename Response>
  absl::StatusOr<Response> Delete(const std::string& tenant, DocumentKind kind, std::string_view collection,
                                  const std::string& name);
  template <typename Response, typename Summary, typename Request>
  absl::StatusOr<Response> List(const std::string& tenant, DocumentKind kind, std::string_view collection,
                                const Request& request, Summary* (Response::*add)());
  template <typename Message>
  absl::StatusOr<Message> Find(const std::string& tenant, DocumentKind kind, std::string_view collection,
                               std::string_view name, StoreTime* create_time = nullptr);
  // Stores what is named by its digest, whose `summary` is complete but for its times; sets these.
  template <typename Summary>
  absl::Status Register(const std::string& tenant, DocumentKind kind, const std::string& digest, std::string&& content,
                        Summary& summary);
  // The digest of a graph that obeys the rules. Errors: INVALID_ARGUMENT, it does not, or the digest is another one
  // than `expected`, unless that is empty.
  absl::StatusOr<std::string> CheckedDigest(const v1::Graph& graph, std::string_view expected) const;

  Store* const store_;
  const Quota quota_;
  const CurrentLimits& limits_;
};

// The error of a server that keeps nothing, and whether it is that.
absl::Status StoreMissing();
bool IsStoreMissing(const absl::Status& status);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_LIBRARY_LIBRARY_H_
