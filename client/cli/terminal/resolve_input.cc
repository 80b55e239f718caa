#include "client/cli/terminal/resolve_input.h"

#include <utility>

namespace planwright::client {

absl::Status ResolveGraph(PlanningClient& client, const CallOptions& call, v1::CreatePlanRequest& request) {
  if (request.graph_source_case() != v1::CreatePlanRequest::kGraphReference) return absl::OkStatus();
  v1::GetGraphRequest lookup;
  lookup.set_name(request.graph_reference());
  auto response = client.GetGraph(lookup, call);
  if (!response.ok()) return response.status();
  *request.mutable_graph() = std::move(*response->mutable_graph());
  return absl::OkStatus();
}

absl::Status ResolveCluster(PlanningClient& client, const CallOptions& call, v1::CreatePlanRequest& request) {
  if (request.cluster_source_case() != v1::CreatePlanRequest::kClusterReference) return absl::OkStatus();
  v1::GetClusterRequest lookup;
  lookup.set_name(request.cluster_reference());
  auto response = client.GetCluster(lookup, call);
  if (!response.ok()) return response.status();
  *request.mutable_cluster() = std::move(*response->mutable_cluster());
  return absl::OkStatus();
}

}  // namespace planwright::client
