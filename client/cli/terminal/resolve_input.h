// Inputs that are named, as the messages themselves.
#ifndef PLANWRIGHT_CLIENT_CLI_TERMINAL_RESOLVE_INPUT_H_
#define PLANWRIGHT_CLIENT_CLI_TERMINAL_RESOLVE_INPUT_H_

#include <memory>

#include "absl/status/status.h"
#include "client/library/planning_client.h"
#include "client/report/text_report.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// Replaces the graph reference of `request`, or the cluster reference, by what the service says it is; nothing is done
// where the source is given or not set. Errors: those of GetGraph and GetCluster.
absl::Status ResolveGraph(PlanningClient& client, const CallOptions& call, v1::CreatePlanRequest& request);
absl::Status ResolveCluster(PlanningClient& client, const CallOptions& call, v1::CreatePlanRequest& request);

// The CPUs of the cluster of `request`, which is asked for where it is named; none where the service does not say.
template <typename Request>
CpuNames CpusOf(PlanningClient& client, const CallOptions& call, const Request& request) {
  if (request.has_cluster()) return CpusOf(request.cluster());
  v1::GetClusterRequest lookup;
  lookup.set_name(request.cluster_reference());
  const auto response = client.GetCluster(lookup, call);
  return response.ok() ? CpusOf(response->cluster()) : CpuNames();
}

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TERMINAL_RESOLVE_INPUT_H_
