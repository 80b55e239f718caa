// Files into requests: what a file holds is detected by its content, never by its name.
//
// Understood are: a Graph, or a whole request ({"graph": ..., "cluster": ..., "problem": ..., "options": ...}), as JSON
// or text proto; a Cluster and a Plan in the same two forms; a cluster in YAML (cluster_yaml.h); the JSON of
// device-placement (device_placement.h).
// Imports only translate; whether graph, cluster and problem make sense is for the service to say.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_IMPORTER_H_
#define PLANWRIGHT_CLIENT_IMPORTER_IMPORTER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

enum class GraphFormat { kAuto, kNativeJson, kTextProto, kDevicePlacement };

struct ImportedRequest {
  // What the file says of graph, cluster, problem and options; the rest is unset.
  v1::CreatePlanRequest request;
  // For people.
  std::vector<std::string> warnings;
};

// `source` names the text in errors and warnings, e.g. a path.
// Errors, here and below: INVALID_ARGUMENT; ErrorDetailsOf has the violations where the text is well-formed.

// A text that holds a graph, perhaps with more.
absl::StatusOr<ImportedRequest> ImportGraph(std::string_view text, std::string_view source, GraphFormat format);

// A cluster, or the cluster of a text that holds a whole request.
absl::StatusOr<v1::Cluster> ImportCluster(std::string_view text, std::string_view source);

// A plan: what `plan --output=json` prints, a response that holds one, or a split of device-placement. `graph` is what
// the plan is for, as far as it is known here (a zoo model is not: nullptr).
absl::StatusOr<v1::Plan> ImportPlan(std::string_view text, std::string_view source, const v1::Graph* graph);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_IMPORTER_H_
