// Files into requests: what a file holds is detected by its content, never by its name.
//
// Understood are: a Graph, or a whole request ({"graph": ..., "cluster": ..., "problem": ..., "options": ...}), as JSON
// or text proto; a Cluster and a Plan in the same two forms; what graphs/ and clusters/ read.
// Imports only translate; whether graph, cluster and problem make sense is for the service to say.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_IMPORTER_H_
#define PLANWRIGHT_CLIENT_IMPORTER_IMPORTER_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/importer/clusters/cluster_options.h"
#include "client/importer/clusters/machine.h"
#include "client/importer/graphs/model_config.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

enum class GraphFormat {
  kAuto,
  kNativeJson,
  kTextProto,
  kDevicePlacement,
  kPipeDream,
  kPiper,
  kModelConfig,
  kOnnx,
  kTorchExport
};

struct GraphOptions {
  GraphFormat format = GraphFormat::kAuto;
  // For formats that state no unit of their times; unset: the usual one, with a warning.
  std::optional<double> ms_per_unit = std::nullopt;
  // What symbols of the sizes of models of ONNX and torch.export stand for.
  std::map<std::string, int64_t> dimensions = {};
  // For models of which only the shape is known.
  Workpiece workpiece = {};
};

struct ImportedRequest {
  // What the file says of graph, cluster, problem and options; the rest is unset. Times of files that do not say where
  // they were measured are those of kUnnamedClass (graphs/class_times.h).
  v1::CreatePlanRequest request;
  // For people.
  std::vector<std::string> warnings;
};

// `source` names the text in errors and warnings, e.g. a path.
// Errors, here and below: INVALID_ARGUMENT; ErrorDetailsOf has the violations where the text is well-formed.

// A text that holds a graph, perhaps with more.
absl::StatusOr<ImportedRequest> ImportGraph(std::string_view text, std::string_view source, const GraphOptions& asked);

// kAuto: by content. The others read a text as what they say.
enum class ClusterFormat {
  kAuto,
  kNative,
  kYaml,
  kNvidiaTopology,
  kNcclXml,
  kHwlocXml,
  kKubernetes,
  kSlurm,
  kSlurmYaml,
  kTopograph,
  kNcclTests
};

// A cluster, or the cluster of a text that holds a whole request. `options` are for formats that lack what they say.
absl::StatusOr<ImportedCluster> ImportCluster(std::string_view text, std::string_view source,
                                              ClusterFormat format = ClusterFormat::kAuto,
                                              const ClusterOptions& options = {});

// A plan: what `plan --output=json` prints, a response that holds one, or a split of device-placement. `graph` is what
// the plan is for, as far as it is known here (a zoo model is not: nullptr).
absl::StatusOr<v1::Plan> ImportPlan(std::string_view text, std::string_view source, const v1::Graph* graph);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_IMPORTER_H_
