#include "client/importer/importer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/importer/cluster_yaml.h"
#include "client/importer/device_placement.h"
#include "client/importer/json_text.h"
#include "client/importer/native.h"

namespace planwright::client {
namespace {

// How a text is written.
enum class Notation { kJson, kTextProto };

constexpr std::array<std::string_view, 8> kRequestFields = {
    "graph",   "graph_reference", "graphReference", "cluster", "cluster_reference", "clusterReference",
    "problem", "options"};

bool IsRequestField(std::string_view name) {
  return std::find(kRequestFields.begin(), kRequestFields.end(), name) != kRequestFields.end();
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

absl::StatusOr<Notation> NotationOf(std::string_view text, std::string_view source) {
  const std::string_view content = SkipToContent(text);
  if (content.empty()) return Refused(source, "is empty");
  if (content.front() == '{' || content.front() == '[') return Notation::kJson;
  if (!FirstTextProtoField(text).empty()) return Notation::kTextProto;
  return Refused(source, "is neither JSON nor text proto");
}

absl::StatusOr<JsonOutline> ObjectOutlineOf(std::string_view text, std::string_view source) {
  auto outline = OutlineOf(text, source);
  if (outline.ok() && !outline->is_object) return Refused(source, "must hold a JSON object");
  return outline;
}

// Reads the message that the text is written in; `prefix` is put before the paths of errors.
absl::Status ReadNative(std::string_view text, std::string_view source, Notation notation, std::string_view prefix,
                        google::protobuf::Message& message) {
  if (notation == Notation::kTextProto) return ReadTextProto(text, source, message);
  return ReadNativeJson(text, source, prefix, message);
}

// Whether the first level of the text has the fields of a request.
absl::StatusOr<bool> IsRequest(std::string_view text, std::string_view source, Notation notation) {
  if (notation == Notation::kTextProto) return IsRequestField(FirstTextProtoField(text));
  const auto outline = ObjectOutlineOf(text, source);
  if (!outline.ok()) return outline.status();
  return std::any_of(outline->keys.begin(), outline->keys.end(), IsRequestField);
}

absl::StatusOr<ImportedRequest> ImportNativeGraph(std::string_view text, std::string_view source, Notation notation) {
  const auto is_request = IsRequest(text, source, notation);
  if (!is_request.ok()) return is_request.status();
  ImportedRequest imported;
  const absl::Status status = *is_request
                                  ? ReadNative(text, source, notation, "", imported.request)
                                  : ReadNative(text, source, notation, "graph.", *imported.request.mutable_graph());
  if (!status.ok()) return status;
  if (imported.request.graph_source_case() != v1::CreatePlanRequest::GRAPH_SOURCE_NOT_SET) return imported;
  return Refused(source, "holds no graph");
}

absl::StatusOr<ImportedRequest> ImportDevicePlacementGraph(std::string_view text, std::string_view source) {
  const auto outline = ObjectOutlineOf(text, source);
  if (!outline.ok()) return outline.status();
  ImportedRequest imported;
  const absl::Status status = ReadDevicePlacementGraph(text, source, imported.request, imported.warnings);
  if (!status.ok()) return status;
  imported.request.mutable_graph()->set_display_name(std::filesystem::path(source).stem().string());
  return imported;
}

absl::StatusOr<GraphFormat> DetectGraphFormat(std::string_view text, std::string_view source) {
  if (BeginsWithClusterYamlKey(text)) return Refused(source, "holds a cluster, not a graph: give it to --cluster");
  const auto notation = NotationOf(text, source);
  if (!notation.ok()) return notation.status();
  if (*notation == Notation::kTextProto) return GraphFormat::kTextProto;
  const auto outline = ObjectOutlineOf(text, source);
  if (!outline.ok()) return outline.status();
  if (IsDevicePlacementGraph(*outline)) return GraphFormat::kDevicePlacement;
  if (IsDevicePlacementSplit(*outline)) {
    return Refused(source,
                   "holds a split of device-placement, which is a plan: give it to `planwright evaluate --plan`");
  }
  if (outline->Has("stages")) {
    return Refused(source, "holds a plan, not a graph: give it to `planwright evaluate --plan`");
  }
  if (outline->Has("device_classes")) return Refused(source, "holds a cluster, not a graph: give it to --cluster");
  return GraphFormat::kNativeJson;
}

}  // namespace

absl::StatusOr<ImportedRequest> ImportGraph(std::string_view text, std::string_view source, GraphFormat format) {
  if (format == GraphFormat::kAuto) {
    const auto detected = DetectGraphFormat(text, source);
    if (!detected.ok()) return detected.status();
    format = *detected;
  }
  if (format == GraphFormat::kDevicePlacement) return ImportDevicePlacementGraph(text, source);
  const Notation notation = format == GraphFormat::kNativeJson ? Notation::kJson : Notation::kTextProto;
  return ImportNativeGraph(text, source, notation);
}

absl::StatusOr<v1::Cluster> ImportCluster(std::string_view text, std::string_view source) {
  if (LooksLikeClusterYaml(text)) return ReadClusterYaml(text, source);
  const auto notation = NotationOf(text, source);
  if (!notation.ok()) return notation.status();
  if (*notation == Notation::kJson) {
    const auto outline = ObjectOutlineOf(text, source);
    if (!outline.ok()) return outline.status();
    if (outline->Has("operators")) return Refused(source, "holds a graph, not a cluster: give it to --graph");
    if (IsDevicePlacementGraph(*outline)) {
      auto imported = ImportDevicePlacementGraph(text, source);
      if (!imported.ok()) return imported.status();
      return std::move(*imported->request.mutable_cluster());
    }
  }
  const auto is_request = IsRequest(text, source, *notation);
  if (!is_request.ok()) return is_request.status();
  v1::CreatePlanRequest request;
  const absl::Status status = *is_request ? ReadNative(text, source, *notation, "", request)
                                          : ReadNative(text, source, *notation, "cluster.", *request.mutable_cluster());
  if (!status.ok()) return status;
  if (request.has_cluster()) return std::move(*request.mutable_cluster());
  return Refused(source, "holds no cluster");
}

absl::StatusOr<v1::Plan> ImportPlan(std::string_view text, std::string_view source, const v1::Graph* graph) {
  const auto notation = NotationOf(text, source);
  if (!notation.ok()) return notation.status();
  bool is_response = FirstTextProtoField(text) == "plan";
  if (*notation == Notation::kJson) {
    const auto outline = ObjectOutlineOf(text, source);
    if (!outline.ok()) return outline.status();
    if (IsDevicePlacementSplit(*outline)) return ReadDevicePlacementSplit(text, source, graph);
    is_response = outline->Has("plan");
  }
  v1::EvaluatePlanResponse response;
  const absl::Status status = is_response ? ReadNative(text, source, *notation, "", response)
                                          : ReadNative(text, source, *notation, "plan.", *response.mutable_plan());
  if (!status.ok()) return status;
  return std::move(*response.mutable_plan());
}

}  // namespace planwright::client
