#include "client/importer/importer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/importer/clusters/hwloc_xml.h"
#include "client/importer/clusters/kubernetes_nodes.h"
#include "client/importer/clusters/nccl_tests.h"
#include "client/importer/clusters/nccl_xml.h"
#include "client/importer/clusters/nvidia_topology.h"
#include "client/importer/clusters/slurm_topology.h"
#include "client/importer/clusters/topograph.h"
#include "client/importer/clusters/yaml/cluster_yaml.h"
#include "client/importer/graphs/device_placement.h"
#include "client/importer/graphs/model_config.h"
#include "client/importer/graphs/onnx_child.h"
#include "client/importer/graphs/pipedream.h"
#include "client/importer/graphs/piper.h"
#include "client/importer/graphs/torch/exported_program.h"
#include "client/importer/reading/file_kind.h"
#include "client/importer/reading/json_text.h"
#include "client/importer/reading/native.h"

namespace planwright::client {
namespace {

// How a text is written.
enum class Notation { kJson, kTextProto };

// What a text is about. A request holds a graph, a cluster or both.
enum class Content { kUnknown, kRequest, kGraph, kCluster, kPlan };

// How a text begins.
struct Opening {
  Notation notation = Notation::kJson;
  // JSON: the fields of its first level. Text proto: the first field, which tells as much.
  JsonOutline outline;

  bool Has(std::string_view field) const { return outline.Has(field); }
  bool HasSource() const;
  // Plans have a problem too.
  bool IsRequest() const { return HasSource() || Has("problem") || Has("options"); }
};

constexpr std::array<std::string_view, 6> kSourceFields = {"graph",   "graph_reference",   "graphReference",
                                                           "cluster", "cluster_reference", "clusterReference"};

bool Opening::HasSource() const {
  return std::any_of(kSourceFields.begin(), kSourceFields.end(), [this](std::string_view name) { return Has(name); });
}

absl::Status Refused(std::string_view source, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": ", std::string(reason)));
}

bool IsIdentifier(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

// The text from its first significant character on: white space and comments of text proto are skipped.
std::string_view SkipToContent(std::string_view text) {
  while (!text.empty()) {
    if (text.front() == '#') {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (std::isspace(static_cast<unsigned char>(text.front())) != 0) {
      text.remove_prefix(1);
    } else {
      break;
    }
  }
  return text;
}

// The name of the first field of a text proto; empty when the text does not begin like one.
std::string_view FirstTextProtoField(std::string_view text) {
  text = SkipToContent(text);
  const auto length = std::find_if_not(text.begin(), text.end(), IsIdentifier) - text.begin();
  const std::string_view name = text.substr(0, static_cast<std::size_t>(length));
  const std::string_view rest = SkipToContent(text.substr(name.size()));
  const bool is_field = !rest.empty() && (rest.front() == ':' || rest.front() == '{' || rest.front() == '<');
  return is_field ? name : std::string_view();
}

// Errors: INVALID_ARGUMENT, neither JSON (an object) nor text proto. `wanted` is what it should be about: "graph".
absl::StatusOr<Opening> OpeningOf(std::string_view text, std::string_view source, std::string_view wanted) {
  const std::string_view content = SkipToContent(text);
  if (content.empty()) return Refused(source, "is empty");
  Opening opening;
  if (content.front() == '{' || content.front() == '[') {
    auto outline = OutlineOf(text, source);
    if (!outline.ok()) return outline.status();
    if (!outline->is_object) return Refused(source, "must hold a JSON object");
    opening.outline = *std::move(outline);
    return opening;
  }
  const std::string_view field = FirstTextProtoField(text);
  if (field.empty()) return absl::InvalidArgumentError(UnknownFileError(source, wanted));
  opening.notation = Notation::kTextProto;
  opening.outline.keys.emplace(field);
  return opening;
}

Content ContentOf(const Opening& opening) {
  if (opening.HasSource()) return Content::kRequest;
  if (opening.Has("stages") || opening.Has("plan") || IsDevicePlacementSplit(opening.outline)) return Content::kPlan;
  if (opening.Has("operators") || opening.Has("tensors") || IsDevicePlacementGraph(opening.outline)) {
    return Content::kGraph;
  }
  if (opening.Has("device_classes") || opening.Has("deviceClasses")) return Content::kCluster;
  return Content::kUnknown;
}

// "holds a plan, not a graph: give it to `planwright evaluate --plan`".
absl::Status Misplaced(std::string_view source, Content found, const char* wanted) {
  struct Home {
    const char* name;
    const char* place;
  };
  constexpr std::array<Home, 5> kHomes = {{{"something", "nobody"},
                                           {"request", "--graph"},
                                           {"graph", "--graph"},
                                           {"cluster", "--cluster"},
                                           {"plan", "`planwright evaluate --plan`"}}};
  const Home& home = kHomes.at(static_cast<std::size_t>(found));
  return Refused(source, absl::StrCat("holds a ", home.name, ", not a ", wanted, ": give it to ", home.place));
}

// Reads the message that the text is written in; `prefix` is put before the paths of errors.
absl::Status ReadNative(std::string_view text, std::string_view source, Notation notation, std::string_view prefix,
                        google::protobuf::Message& message) {
  if (notation == Notation::kTextProto) return ReadTextProto(text, source, message);
  return ReadNativeJson(text, source, prefix, message);
}

absl::StatusOr<ImportedRequest> ImportNativeGraph(std::string_view text, std::string_view source,
                                                  const Opening& opening) {
  ImportedRequest imported;
  const absl::Status status =
      opening.IsRequest() ? ReadNative(text, source, opening.notation, "", imported.request)
                          : ReadNative(text, source, opening.notation, "graph.", *imported.request.mutable_graph());
  if (!status.ok()) return status;
  if (imported.request.graph_source_case() != v1::CreatePlanRequest::GRAPH_SOURCE_NOT_SET) return imported;
  return Refused(source, "holds no graph");
}

absl::StatusOr<ImportedRequest> ImportDevicePlacementGraph(std::string_view text, std::string_view source) {
  ImportedRequest imported;
  const absl::Status status = ReadDevicePlacementGraph(text, source, imported.request, imported.warnings);
  if (!status.ok()) return status;
  imported.request.mutable_graph()->set_display_name(std::filesystem::path(source).stem().string());
  return imported;
}

// The format of `opening`, which must be about a graph.
absl::StatusOr<GraphFormat> DetectGraphFormat(const Opening& opening, std::string_view source) {
  const Content content = ContentOf(opening);
  if (content == Content::kPlan || content == Content::kCluster) return Misplaced(source, content, "graph");
  if (opening.notation == Notation::kTextProto) return GraphFormat::kTextProto;
  return IsDevicePlacementGraph(opening.outline) ? GraphFormat::kDevicePlacement : GraphFormat::kNativeJson;
}

// The format of a file of a known kind; kAuto: the kind is one of ours, or not known.
absl::StatusOr<GraphFormat> FormatOfKind(const RecognisedFile& file, std::string_view source) {
  switch (file.kind) {
    case FileKind::kUnknown:
      return GraphFormat::kAuto;
    case FileKind::kPipeDreamGraph:
      return GraphFormat::kPipeDream;
    case FileKind::kPiperGraph:
      return GraphFormat::kPiper;
    case FileKind::kModelConfig:
      return GraphFormat::kModelConfig;
    case FileKind::kOnnxModel:
      return GraphFormat::kOnnx;
    case FileKind::kExportedProgram:
      return GraphFormat::kTorchExport;
    default:
      return absl::InvalidArgumentError(ForeignFileError(source, file.description, "graph"));
  }
}

absl::StatusOr<ImportedRequest> ImportForeignGraph(std::string_view text, std::string_view source,
                                                   const GraphOptions& options) {
  ImportedRequest imported;
  absl::Status status;
  if (options.format == GraphFormat::kPipeDream) {
    status =
        ReadPipeDreamGraph(text, source, options.ms_per_unit, *imported.request.mutable_graph(), imported.warnings);
  } else if (options.format == GraphFormat::kPiper) {
    status = ReadPiperGraph(text, source, options.ms_per_unit, imported.request, imported.warnings);
  } else if (options.format == GraphFormat::kOnnx) {
    status = ReadOnnxModel(text, source, options.dimensions, *imported.request.mutable_graph(), imported.warnings);
    // What such files are written for; --workload=training has the backward passes too.
    imported.request.mutable_problem()->set_workload(v1::WORKLOAD_INFERENCE);
  } else if (options.format == GraphFormat::kTorchExport) {
    status =
        ReadExportedProgram(text, source, options.dimensions, *imported.request.mutable_graph(), imported.warnings);
    imported.request.mutable_problem()->set_workload(v1::WORKLOAD_INFERENCE);
  } else {
    auto name = ReadModelConfig(text, source, options.workpiece, imported.warnings);
    if (!name.ok()) return name.status();
    imported.request.set_graph_reference(*std::move(name));
    return imported;
  }
  if (!status.ok()) return status;
  imported.request.mutable_graph()->set_display_name(std::filesystem::path(source).stem().string());
  return imported;
}

// What is said beside a file that says it itself would be silently ignored.
absl::Status CheckOptions(const GraphOptions& options, std::string_view source) {
  const bool has_unit = options.format != GraphFormat::kPipeDream && options.format != GraphFormat::kPiper;
  if (has_unit && options.ms_per_unit.has_value()) {
    return Refused(source, "states its units itself: leave out --time_unit, which is for PipeDream and Piper");
  }
  const bool has_symbols = options.format == GraphFormat::kOnnx || options.format == GraphFormat::kTorchExport;
  if (!has_symbols && !options.dimensions.empty()) {
    return Refused(source, "states its sizes itself: leave out --dim, which is for models of ONNX and torch.export");
  }
  const bool is_said = options.workpiece.sequence.has_value() || options.workpiece.micro_batch.has_value();
  if (options.format == GraphFormat::kModelConfig || !is_said) return absl::OkStatus();
  return Refused(source, "states its sizes itself: leave out --sequence and --micro_batch, which are for config.json");
}

// Imports a graph whose format is known.
absl::StatusOr<ImportedRequest> ImportGraphOf(std::string_view text, std::string_view source,
                                              const GraphOptions& options, const Opening& opening) {
  const absl::Status checked = CheckOptions(options, source);
  if (!checked.ok()) return checked;
  switch (options.format) {
    case GraphFormat::kDevicePlacement:
      return ImportDevicePlacementGraph(text, source);
    case GraphFormat::kPipeDream:
    case GraphFormat::kPiper:
    case GraphFormat::kModelConfig:
    case GraphFormat::kOnnx:
    case GraphFormat::kTorchExport:
      return ImportForeignGraph(text, source, options);
    default:
      return ImportNativeGraph(text, source, opening);
  }
}

}  // namespace

absl::StatusOr<ImportedRequest> ImportGraph(std::string_view text, std::string_view source, const GraphOptions& asked) {
  GraphOptions options = asked;
  const bool is_auto = options.format == GraphFormat::kAuto;
  if (is_auto && BeginsWithClusterYamlKey(text)) return Misplaced(source, Content::kCluster, "graph");
  if (is_auto) {
    const auto format = FormatOfKind(RecogniseFile(text), source);
    if (!format.ok()) return format.status();
    options.format = *format;
  }
  const bool has_own_form = options.format == GraphFormat::kPipeDream || options.format == GraphFormat::kOnnx ||
                            options.format == GraphFormat::kTorchExport;
  if (has_own_form) return ImportGraphOf(text, source, options, {});
  auto opening = OpeningOf(text, source, "graph");
  if (!opening.ok()) return opening.status();
  if (options.format == GraphFormat::kAuto && opening->notation == Notation::kJson) {
    const auto format = FormatOfKind(RecogniseJson(opening->outline), source);
    if (!format.ok()) return format.status();
    options.format = *format;
  }
  if (options.format == GraphFormat::kAuto) {
    const auto detected = DetectGraphFormat(*opening, source);
    if (!detected.ok()) return detected.status();
    options.format = *detected;
  }
  if (options.format != GraphFormat::kTextProto && opening->notation == Notation::kTextProto) {
    return OutlineOf(text, source).status();
  }
  opening->notation = options.format == GraphFormat::kTextProto ? Notation::kTextProto : Notation::kJson;
  return ImportGraphOf(text, source, options, *opening);
}

namespace {

// kAuto: one of ours, or unknown. Errors: INVALID_ARGUMENT, a kind that is no cluster.
absl::StatusOr<ClusterFormat> ClusterFormatOfKind(const RecognisedFile& file, std::string_view source) {
  switch (file.kind) {
    case FileKind::kUnknown:
      return ClusterFormat::kAuto;
    case FileKind::kNvidiaTopology:
      return ClusterFormat::kNvidiaTopology;
    case FileKind::kNcclXml:
      return ClusterFormat::kNcclXml;
    case FileKind::kHwlocXml:
      return ClusterFormat::kHwlocXml;
    case FileKind::kKubernetesNodes:
      return ClusterFormat::kKubernetes;
    case FileKind::kSlurmTopology:
      return ClusterFormat::kSlurm;
    case FileKind::kSlurmTopologyYaml:
      return ClusterFormat::kSlurmYaml;
    case FileKind::kTopographJson:
      return ClusterFormat::kTopograph;
    case FileKind::kNcclTests:
      return ClusterFormat::kNcclTests;
    case FileKind::kPiperGraph:
      // It holds devices as well.
      return ClusterFormat::kNative;
    default:
      return absl::InvalidArgumentError(ForeignFileError(source, file.description, "cluster"));
  }
}

absl::StatusOr<v1::Cluster> ReadNativeCluster(std::string_view text, std::string_view source, const Opening& opening) {
  if (IsDevicePlacementGraph(opening.outline)) {
    const bool is_piper = RecogniseJson(opening.outline).kind == FileKind::kPiperGraph;
    auto imported = is_piper ? ImportForeignGraph(text, source, {.format = GraphFormat::kPiper})
                             : ImportDevicePlacementGraph(text, source);
    if (!imported.ok()) return imported.status();
    return std::move(*imported->request.mutable_cluster());
  }
  const Content content = ContentOf(opening);
  if (content == Content::kPlan || content == Content::kGraph) return Misplaced(source, content, "cluster");
  v1::CreatePlanRequest request;
  const absl::Status status = opening.IsRequest()
                                  ? ReadNative(text, source, opening.notation, "", request)
                                  : ReadNative(text, source, opening.notation, "cluster.", *request.mutable_cluster());
  if (!status.ok()) return status;
  if (request.has_cluster()) return std::move(*request.mutable_cluster());
  return Refused(source, "holds no cluster");
}

// What would be silently ignored beside a file that says all of it.
absl::Status CheckNoOptions(const ClusterOptions& options, std::string_view source) {
  const bool has_any = !options.device_class.empty() || options.devices_per_host.has_value() ||
                       !options.gpu_query.empty() || !options.links.empty() || !options.levels.empty() ||
                       options.repeat != 1 || options.between.has_value();
  if (!has_any) return absl::OkStatus();
  return Refused(source,
                 "describes the whole cluster: leave out --class, --devices_per_host, --gpu_query, --link, "
                 "--level, --repeat and --between");
}

absl::StatusOr<ImportedCluster> WithoutWarnings(absl::StatusOr<v1::Cluster> cluster) {
  if (!cluster.ok()) return cluster.status();
  return ImportedCluster{*std::move(cluster), {}};
}

// Imports a cluster in a format in which only the file says the whole cluster.
absl::StatusOr<ImportedCluster> ImportOwnCluster(std::string_view text, std::string_view source, ClusterFormat format,
                                                 const ClusterOptions& options) {
  const absl::Status checked = CheckNoOptions(options, source);
  if (!checked.ok()) return checked;
  if (format == ClusterFormat::kYaml) return WithoutWarnings(ReadClusterYaml(text, source));
  const auto opening = OpeningOf(text, source, "cluster");
  if (!opening.ok()) return opening.status();
  return WithoutWarnings(ReadNativeCluster(text, source, *opening));
}

absl::StatusOr<ClusterFormat> DetectClusterFormat(std::string_view text, std::string_view source) {
  auto format = ClusterFormatOfKind(RecogniseFile(text), source);
  if (!format.ok() || *format != ClusterFormat::kAuto) return format;
  if (LooksLikeClusterYaml(text)) return ClusterFormat::kYaml;
  const auto opening = OpeningOf(text, source, "cluster");
  if (!opening.ok()) return opening.status();
  if (opening->notation == Notation::kTextProto) return ClusterFormat::kNative;
  format = ClusterFormatOfKind(RecogniseJson(opening->outline), source);
  return format.ok() && *format == ClusterFormat::kAuto ? ClusterFormat::kNative : format;
}

}  // namespace

absl::StatusOr<ImportedCluster> ImportCluster(std::string_view text, std::string_view source, ClusterFormat format,
                                              const ClusterOptions& options) {
  if (format == ClusterFormat::kAuto) {
    const auto detected = DetectClusterFormat(text, source);
    if (!detected.ok()) return detected.status();
    format = *detected;
  }
  switch (format) {
    case ClusterFormat::kNvidiaTopology:
      return ReadNvidiaTopology(text, source, options);
    case ClusterFormat::kNcclXml:
      return ReadNcclXml(text, source, options);
    case ClusterFormat::kHwlocXml:
      return ReadHwlocXml(text, source, options);
    case ClusterFormat::kKubernetes:
      return ReadKubernetesNodes(text, source, options);
    case ClusterFormat::kSlurm:
      return ReadSlurmTopology(text, source, options);
    case ClusterFormat::kSlurmYaml:
      return ReadSlurmTopologyYaml(text, source, options);
    case ClusterFormat::kTopograph: {
      const auto outline = OutlineOf(text, source);
      return outline.ok() ? ReadTopograph(text, source, options) : outline.status();
    }
    case ClusterFormat::kNcclTests:
      return ReadNcclTests(text, source, options);
    default:
      return ImportOwnCluster(text, source, format, options);
  }
}

absl::StatusOr<v1::Plan> ImportPlan(std::string_view text, std::string_view source, const v1::Graph* graph) {
  if (BeginsWithClusterYamlKey(text)) return Misplaced(source, Content::kCluster, "plan");
  const RecognisedFile file = RecogniseFile(text);
  if (file.kind != FileKind::kUnknown) {
    return absl::InvalidArgumentError(ForeignFileError(source, file.description, "plan"));
  }
  const auto opening = OpeningOf(text, source, "plan");
  if (!opening.ok()) return opening.status();
  if (IsDevicePlacementSplit(opening->outline)) return ReadDevicePlacementSplit(text, source, graph);
  const Content content = ContentOf(*opening);
  if (content != Content::kPlan && content != Content::kUnknown) return Misplaced(source, content, "plan");
  v1::EvaluatePlanResponse response;
  const absl::Status status = opening->Has("plan")
                                  ? ReadNative(text, source, opening->notation, "", response)
                                  : ReadNative(text, source, opening->notation, "plan.", *response.mutable_plan());
  if (!status.ok()) return status;
  return std::move(*response.mutable_plan());
}

}  // namespace planwright::client
