// Plans as a page, with what else the page shows: graph, cluster, and a step on the simulator.
#ifndef PLANWRIGHT_CLIENT_CLI_RESULTS_PLAN_PAGE_H_
#define PLANWRIGHT_CLIENT_CLI_RESULTS_PLAN_PAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/library/planning_client.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// INVALID_ARGUMENT: this build makes no pages.
absl::Status CheckPages();

struct TitledPlan {
  std::string title;
  // Never nullptr.
  const v1::Plan* plan = nullptr;
};

// The page of one plan, or of two, for the graph and the cluster of `input`, which are asked for where they are named.
// A plan that the simulator does not run has a page without a timeline. REQUIRES: CheckPages() is OK. Errors: those of
// GetGraph and GetCluster.
absl::StatusOr<std::string> PlanPage(PlanningClient& client, const CallOptions& call, v1::CreatePlanRequest input,
                                     const std::vector<TitledPlan>& plans);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_RESULTS_PLAN_PAGE_H_
