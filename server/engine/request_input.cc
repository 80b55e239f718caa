#include "server/engine/request_input.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "core/zoo/zoo.h"
#include "server/codec/cluster.h"
#include "server/codec/graph.h"

namespace planwright::server {
namespace {

// What follows "zoo:"; nullopt and a violation where that is not how it starts.
std::optional<std::string_view> ZooName(std::string_view reference, std::string_view field, Violations& violations) {
  constexpr std::string_view kPrefix = "zoo:";
  if (reference.starts_with(kPrefix)) return reference.substr(kPrefix.size());
  violations.Add(std::string(field), absl::StrCat("must start with \"zoo:\", is \"", ToAbsl(reference), "\""));
  return std::nullopt;
}

// `made`, its INVALID_ARGUMENT as a violation of `field`.
template <typename Value>
absl::StatusOr<Value> ZooResult(absl::StatusOr<Value> made, std::string_view field, Violations& violations) {
  if (made.status().code() != absl::StatusCode::kInvalidArgument) return made;
  violations.Add(std::string(field), std::string(ToStd(made.status().message())));
  return Value{};
}

absl::StatusOr<OperatorGraph> NamedGraphAt(std::string_view reference, std::string_view field, Violations& violations) {
  const auto name = ZooName(reference, field, violations);
  if (!name.has_value()) return OperatorGraph{};
  return ZooResult(MakeZooModel(*name), field, violations);
}

absl::StatusOr<Cluster> NamedClusterAt(std::string_view reference, std::string_view field, Violations& violations) {
  const auto name = ZooName(reference, field, violations);
  if (!name.has_value()) return Cluster{};
  return ZooResult(MakeZooCluster(*name), field, violations);
}

template <typename Request>
absl::StatusOr<OperatorGraph> GraphOf(const Request& request, Violations& violations) {
  switch (request.graph_source_case()) {
    case Request::kGraph:
      return DecodeGraph(request.graph(), violations);
    case Request::kGraphReference:
      return NamedGraphAt(request.graph_reference(), "graph_reference", violations);
    case Request::GRAPH_SOURCE_NOT_SET:
      break;
  }
  violations.Add("graph", "must be set, or graph_reference");
  return OperatorGraph{};
}

template <typename Request>
absl::StatusOr<Cluster> ClusterOf(const Request& request, const ModelLimits& limits, Violations& violations) {
  switch (request.cluster_source_case()) {
    case Request::kCluster:
      return DecodeCluster(request.cluster(), limits.max_devices, violations);
    case Request::kClusterReference:
      return NamedClusterAt(request.cluster_reference(), "cluster_reference", violations);
    case Request::CLUSTER_SOURCE_NOT_SET:
      break;
  }
  violations.Add("cluster", "must be set, or cluster_reference");
  return Cluster{};
}

template <typename Request>
absl::StatusOr<RequestInput> ReadBoth(const Request& request, const ModelLimits& limits, Violations& violations) {
  RequestInput input;
  ASSIGN_OR_RETURN(input.graph, GraphOf(request, violations));
  ASSIGN_OR_RETURN(input.cluster, ClusterOf(request, limits, violations));
  return input;
}

}  // namespace

absl::StatusOr<RequestInput> ReadInput(const v1::CreatePlanRequest& request, const ModelLimits& limits,
                                       Violations& violations) {
  return ReadBoth(request, limits, violations);
}

absl::StatusOr<RequestInput> ReadInput(const v1::StreamPlanRequest& request, const ModelLimits& limits,
                                       Violations& violations) {
  return ReadBoth(request, limits, violations);
}

absl::StatusOr<RequestInput> ReadInput(const v1::EvaluatePlanRequest& request, const ModelLimits& limits,
                                       Violations& violations) {
  return ReadBoth(request, limits, violations);
}

absl::StatusOr<Cluster> ReadCluster(const v1::BatchCreatePlansRequest& request, const ModelLimits& limits,
                                    Violations& violations) {
  return ClusterOf(request, limits, violations);
}

absl::StatusOr<OperatorGraph> ReadGraph(const v1::BatchCreatePlansRequest& request, Violations& violations) {
  return GraphOf(request, violations);
}

absl::StatusOr<OperatorGraph> ReadGraph(const v1::BatchCreatePlansRequest::Entry& entry, Violations& violations) {
  return GraphOf(entry, violations);
}

absl::StatusOr<OperatorGraph> NamedGraph(std::string_view reference) {
  Violations violations;
  ASSIGN_OR_RETURN(OperatorGraph graph, NamedGraphAt(reference, "name", violations));
  RETURN_IF_ERROR(violations.ToStatus());
  return graph;
}

absl::StatusOr<Cluster> NamedCluster(std::string_view reference) {
  Violations violations;
  ASSIGN_OR_RETURN(Cluster cluster, NamedClusterAt(reference, "name", violations));
  RETURN_IF_ERROR(violations.ToStatus());
  return cluster;
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
