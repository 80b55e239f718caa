// PlanningClient without a server: the service's own code in this process, no channel in between.
//
// The only part of the client that links the server.
#ifndef PLANWRIGHT_CLIENT_LOCAL_LOCAL_PLANNING_CLIENT_H_
#define PLANWRIGHT_CLIENT_LOCAL_LOCAL_PLANNING_CLIENT_H_

#include <string>

#include "client/library/planning_client.h"
#include "server/engine/planning_engine.h"

namespace planwright::client {

// An engine that may use all of this machine, as far as CPU affinity and cgroup limits allow.
server::EngineConfig ConfigOfThisMachine(std::string version);

// Calls run on the calling thread and on the engine's arena. A stop request during CreatePlan is answered with the best
// plan so far where there is one. Errors carry the same details as over the network. Thread-safe.
class LocalPlanningClient final : public PlanningClient {
 public:
  explicit LocalPlanningClient(server::EngineConfig config);

  absl::StatusOr<v1::CreatePlanResponse> CreatePlan(const v1::CreatePlanRequest& request,
                                                    const CallOptions& options) override;
  absl::StatusOr<v1::BatchCreatePlansResponse> BatchCreatePlans(const v1::BatchCreatePlansRequest& request,
                                                                const CallOptions& options) override;
  absl::StatusOr<v1::EvaluatePlanResponse> EvaluatePlan(const v1::EvaluatePlanRequest& request,
                                                        const CallOptions& options) override;
  absl::Status SimulatePlan(const v1::SimulatePlanRequest& request, const CallOptions& options,
                            const SimulationListener& listener) override;
  absl::StatusOr<v1::GetGraphResponse> GetGraph(const v1::GetGraphRequest& request,
                                                const CallOptions& options) override;
  absl::StatusOr<v1::GetClusterResponse> GetCluster(const v1::GetClusterRequest& request,
                                                    const CallOptions& options) override;
  absl::StatusOr<v1::GetServerInfoResponse> GetServerInfo(const v1::GetServerInfoRequest& request,
                                                          const CallOptions& options) override;
  absl::StatusOr<std::string> WriteProgram(const v1::CreatePlanRequest& request, ProgramFormat format,
                                           ProgramForm form) override;

 private:
  server::PlanningEngine engine_;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LOCAL_LOCAL_PLANNING_CLIENT_H_
