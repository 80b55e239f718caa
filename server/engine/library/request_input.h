// The graph and the cluster of a request, whether they are in it or named by it.
#ifndef PLANWRIGHT_SERVER_ENGINE_LIBRARY_REQUEST_INPUT_H_
#define PLANWRIGHT_SERVER_ENGINE_LIBRARY_REQUEST_INPUT_H_

#include "absl/status/statusor.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/validator.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/engine/library/input_lookup.h"

namespace planwright::server {

struct RequestInput {
  OperatorGraph graph;
  Cluster cluster;
};

// Adds violations for a source that is not set, a reference that is no name, and all that the codec finds. Errors:
// those of InputLookup.
absl::StatusOr<RequestInput> ReadInput(const v1::CreatePlanRequest& request, const ModelLimits& limits,
                                       const InputLookup& names, Violations& violations);
absl::StatusOr<RequestInput> ReadInput(const v1::StreamPlanRequest& request, const ModelLimits& limits,
                                       const InputLookup& names, Violations& violations);
absl::StatusOr<RequestInput> ReadInput(const v1::EvaluatePlanRequest& request, const ModelLimits& limits,
                                       const InputLookup& names, Violations& violations);
absl::StatusOr<RequestInput> ReadInput(const v1::SimulatePlanRequest& request, const ModelLimits& limits,
                                       const InputLookup& names, Violations& violations);

// Each reads one half.
absl::StatusOr<Cluster> ReadCluster(const v1::BatchCreatePlansRequest& request, const ModelLimits& limits,
                                    const InputLookup& names, Violations& violations);
absl::StatusOr<OperatorGraph> ReadGraph(const v1::BatchCreatePlansRequest& request, const InputLookup& names,
                                        Violations& violations);
absl::StatusOr<OperatorGraph> ReadGraph(const v1::BatchCreatePlansRequest::Entry& entry, const InputLookup& names,
                                        Violations& violations);

// OK where there are no violations; else INVALID_ARGUMENT with them and with all that the validator finds in the rest.
absl::Status CheckDecoded(const OperatorGraph& graph, const Cluster& cluster, const ModelLimits& limits,
                          Violations& violations);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_LIBRARY_REQUEST_INPUT_H_
