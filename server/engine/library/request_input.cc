#include "server/engine/library/request_input.h"

#include <algorithm>
#include <utility>

#include "core/base/status_macros.h"
#include "server/codec/cluster.h"
#include "server/codec/graph.h"

namespace planwright::server {
namespace {

const v1::PlanningProblem* ProblemOf(const v1::CreatePlanRequest& request) { return &request.problem(); }
const v1::PlanningProblem* ProblemOf(const v1::StreamPlanRequest& request) { return &request.problem(); }
const v1::PlanningProblem* ProblemOf(const v1::BatchCreatePlansRequest::Entry& entry) { return &entry.problem(); }
const v1::PlanningProblem* ProblemOf(const v1::EvaluatePlanRequest& request) {
  return request.has_problem() ? &request.problem() : &request.plan().problem();
}
const v1::PlanningProblem* ProblemOf(const v1::SimulatePlanRequest& request) {
  return request.has_problem() ? &request.problem() : &request.plan().problem();
}
// The problem of the first entry that shares its graph and asks for the joint search; nullptr: there is none.
const v1::PlanningProblem* ProblemOf(const v1::BatchCreatePlansRequest& request) {
  const auto is_joint = [](const v1::BatchCreatePlansRequest::Entry& entry) {
    return entry.graph_source_case() == v1::BatchCreatePlansRequest::Entry::GRAPH_SOURCE_NOT_SET &&
           entry.problem().has_joint();
  };
  const auto found = std::find_if(request.requests().begin(), request.requests().end(), is_joint);
  return found == request.requests().end() ? nullptr : &found->problem();
}

// The joint search prices models by their shape; other requests get graphs, and digests, without it.
template <typename Request>
bool WantsShape(const Request& request) {
  const v1::PlanningProblem* problem = ProblemOf(request);
  return problem != nullptr && problem->has_joint();
}

template <typename Request>
absl::StatusOr<OperatorGraph> WholeGraphOf(const Request& request, const InputLookup& names, Violations& violations) {
  switch (request.graph_source_case()) {
    case Request::kGraph:
      return DecodeGraph(request.graph(), violations);
    case Request::kGraphReference:
      return names.FindGraph(request.graph_reference(), "graph_reference", violations);
    case Request::GRAPH_SOURCE_NOT_SET:
      break;
  }
  violations.Add("graph", "must be set, or graph_reference");
  return OperatorGraph{};
}

// A shape that nobody asks for is dropped: with it and without it the question is the same.
template <typename Request>
absl::StatusOr<OperatorGraph> GraphOf(const Request& request, const InputLookup& names, Violations& violations) {
  ASSIGN_OR_RETURN(OperatorGraph graph, WholeGraphOf(request, names, violations));
  if (!WantsShape(request)) graph.transformer.reset();
  return graph;
}

template <typename Request>
absl::StatusOr<Cluster> ClusterOf(const Request& request, const ModelLimits& limits, const InputLookup& names,
                                  Violations& violations) {
  switch (request.cluster_source_case()) {
    case Request::kCluster:
      return DecodeCluster(request.cluster(), limits.max_devices, violations);
    case Request::kClusterReference:
      return names.FindCluster(request.cluster_reference(), "cluster_reference", limits, violations);
    case Request::CLUSTER_SOURCE_NOT_SET:
      break;
  }
  violations.Add("cluster", "must be set, or cluster_reference");
  return Cluster{};
}

template <typename Request>
absl::StatusOr<RequestInput> ReadBoth(const Request& request, const ModelLimits& limits, const InputLookup& names,
                                      Violations& violations) {
  RequestInput input;
  ASSIGN_OR_RETURN(input.graph, GraphOf(request, names, violations));
  ASSIGN_OR_RETURN(input.cluster, ClusterOf(request, limits, names, violations));
  return input;
}

}  // namespace

absl::StatusOr<RequestInput> ReadInput(const v1::CreatePlanRequest& request, const ModelLimits& limits,
                                       const InputLookup& names, Violations& violations) {
  return ReadBoth(request, limits, names, violations);
}

absl::StatusOr<RequestInput> ReadInput(const v1::StreamPlanRequest& request, const ModelLimits& limits,
                                       const InputLookup& names, Violations& violations) {
  return ReadBoth(request, limits, names, violations);
}

absl::StatusOr<RequestInput> ReadInput(const v1::EvaluatePlanRequest& request, const ModelLimits& limits,
                                       const InputLookup& names, Violations& violations) {
  return ReadBoth(request, limits, names, violations);
}

absl::StatusOr<RequestInput> ReadInput(const v1::SimulatePlanRequest& request, const ModelLimits& limits,
                                       const InputLookup& names, Violations& violations) {
  return ReadBoth(request, limits, names, violations);
}

absl::StatusOr<Cluster> ReadCluster(const v1::BatchCreatePlansRequest& request, const ModelLimits& limits,
                                    const InputLookup& names, Violations& violations) {
  return ClusterOf(request, limits, names, violations);
}

absl::StatusOr<OperatorGraph> ReadGraph(const v1::BatchCreatePlansRequest& request, const InputLookup& names,
                                        Violations& violations) {
  return GraphOf(request, names, violations);
}

absl::StatusOr<OperatorGraph> ReadGraph(const v1::BatchCreatePlansRequest::Entry& entry, const InputLookup& names,
                                        Violations& violations) {
  return GraphOf(entry, names, violations);
}

absl::Status CheckDecoded(const OperatorGraph& graph, const Cluster& cluster, const ModelLimits& limits,
                          Violations& violations) {
  if (violations.empty()) return absl::OkStatus();
  // An input without operators or devices is one that was not given: that has been said.
  if (!graph.operators.empty()) ValidateGraph(graph, limits, violations);
  if (!cluster.devices.empty()) ValidateCluster(cluster, limits, violations);
  return violations.ToStatus();
}

}  // namespace planwright::server
