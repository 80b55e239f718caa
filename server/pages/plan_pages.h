// The page of a stored plan.
#ifndef PLANWRIGHT_SERVER_PAGES_PLAN_PAGES_H_
#define PLANWRIGHT_SERVER_PAGES_PLAN_PAGES_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planwright/v1/cluster.pb.h"
#include "planwright/v1/graph.pb.h"
#include "planwright/v1/plan.pb.h"
#include "server/engine/planning_engine.h"
#include "server/pages/page_answer.h"
#include "server/store/store.h"

namespace planwright::server {

// UNIMPLEMENTED: this build makes no pages.
absl::Status CheckPagesAreBuilt();

// A stored plan states digests of its graph and its cluster, not these themselves. They are what its tenant has
// registered under those digests, else what the zoo has under the names that the plan was stored with, where that has
// the same digest. The page of a plan without them shows stages, loads and memory, and says what it lacks. Thread-safe.
class PlanPages {
 public:
  struct Limits {
    // For the step on the simulator; a page whose step takes longer has no timeline.
    std::chrono::nanoseconds simulation_time = std::chrono::seconds(10);
    // What graph and simulation of a plan may take; beyond, its page has no timeline.
    int64_t simulation_bytes = int64_t{256} << 20;
  };

  // Both outlive the object.
  PlanPages(PlanningEngine& engine, Store& store, Limits limits) : engine_(engine), store_(store), limits_(limits) {}

  // The page of the tenant's plan "plans/{id}". Blocks on the store; computes on the calling thread. Errors: those of
  // GetPlan; CANCELLED after a stop request.
  absl::StatusOr<PageAnswer> Make(const std::string& tenant, const std::string& id, const std::stop_token& stop) const;

 private:
  struct Parts {
    v1::Plan plan;
    std::string title;
    // nullopt: neither registered nor of the zoo.
    std::optional<v1::Graph> graph;
    std::optional<v1::Cluster> cluster;
  };

  absl::StatusOr<Parts> Collect(const std::string& tenant, const std::string& id) const;
  absl::StatusOr<std::optional<v1::Graph>> FindGraph(const std::string& tenant, const v1::PlanSummary& summary) const;
  absl::StatusOr<std::optional<v1::Cluster>> FindCluster(const std::string& tenant,
                                                         const v1::PlanSummary& summary) const;
  // A step of the plan; an error says why there is none.
  absl::StatusOr<SimulationMessages> Simulate(const std::string& tenant, const v1::Plan& plan, const v1::Graph& graph,
                                              const v1::Cluster& cluster, const std::stop_token& stop) const;

  PlanningEngine& engine_;
  Store& store_;
  const Limits limits_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_PAGES_PLAN_PAGES_H_
