// The graph and the cluster of a request, whether they are in it or named by it.
#ifndef PLANWRIGHT_SERVER_ENGINE_REQUEST_INPUT_H_
#define PLANWRIGHT_SERVER_ENGINE_REQUEST_INPUT_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/validator.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::server {

struct RequestInput {
  OperatorGraph graph;
  Cluster cluster;
};

// Adds violations for a source that is not set, a reference that does not start with "zoo:", and all that the codec
// finds. Errors: NOT_FOUND, no such model or cluster in the zoo.
absl::StatusOr<RequestInput> ReadInput(const v1::CreatePlanRequest& request, const ModelLimits& limits,
                                       Violations& violations);
absl::StatusOr<RequestInput> ReadInput(const v1::StreamPlanRequest& request, const ModelLimits& limits,
                                       Violations& violations);
absl::StatusOr<RequestInput> ReadInput(const v1::EvaluatePlanRequest& request, const ModelLimits& limits,
                                       Violations& violations);

// One half each.
absl::StatusOr<Cluster> ReadCluster(const v1::BatchCreatePlansRequest& request, const ModelLimits& limits,
                                    Violations& violations);
absl::StatusOr<OperatorGraph> ReadGraph(const v1::BatchCreatePlansRequest& request, Violations& violations);
absl::StatusOr<OperatorGraph> ReadGraph(const v1::BatchCreatePlansRequest::Entry& entry, Violations& violations);

// OK where there are no violations; else INVALID_ARGUMENT with them and with all that the validator finds in the rest.
absl::Status CheckDecoded(const OperatorGraph& graph, const Cluster& cluster, const ModelLimits& limits,
                          Violations& violations);

// The graph or the cluster that `reference` names. INVALID_ARGUMENT (at the field "name"), NOT_FOUND.
absl::StatusOr<OperatorGraph> NamedGraph(std::string_view reference);
absl::StatusOr<Cluster> NamedCluster(std::string_view reference);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_REQUEST_INPUT_H_
