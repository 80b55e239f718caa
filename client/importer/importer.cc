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

// Errors: INVALID_ARGUMENT, neither JSON (an object) nor text proto.
absl::StatusOr<Opening> OpeningOf(std::string_view text, std::string_view source) {
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
  if (field.empty()) return Refused(source, "is neither JSON nor text proto");
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

}  // namespace

absl::StatusOr<ImportedRequest> ImportGraph(std::string_view text, std::string_view source, GraphFormat format) {
  if (format == GraphFormat::kAuto && BeginsWithClusterYamlKey(text)) {
    return Misplaced(source, Content::kCluster, "graph");
  }
  auto opening = OpeningOf(text, source);
  if (!opening.ok()) return opening.status();
  if (format == GraphFormat::kAuto) {
    const auto detected = DetectGraphFormat(*opening, source);
    if (!detected.ok()) return detected.status();
    format = *detected;
  }
  if (format != GraphFormat::kTextProto && opening->notation == Notation::kTextProto) {
    return OutlineOf(text, source).status();
  }
  if (format == GraphFormat::kDevicePlacement) return ImportDevicePlacementGraph(text, source);
  opening->notation = format == GraphFormat::kNativeJson ? Notation::kJson : Notation::kTextProto;
  return ImportNativeGraph(text, source, *opening);
}

absl::StatusOr<v1::Cluster> ImportCluster(std::string_view text, std::string_view source) {
  if (LooksLikeClusterYaml(text)) return ReadClusterYaml(text, source);
  const auto opening = OpeningOf(text, source);
  if (!opening.ok()) return opening.status();
  if (IsDevicePlacementGraph(opening->outline)) {
    auto imported = ImportDevicePlacementGraph(text, source);
    if (!imported.ok()) return imported.status();
    return std::move(*imported->request.mutable_cluster());
  }
  const Content content = ContentOf(*opening);
  if (content == Content::kPlan || content == Content::kGraph) return Misplaced(source, content, "cluster");
  v1::CreatePlanRequest request;
  const absl::Status status = opening->IsRequest()
                                  ? ReadNative(text, source, opening->notation, "", request)
                                  : ReadNative(text, source, opening->notation, "cluster.", *request.mutable_cluster());
  if (!status.ok()) return status;
  if (request.has_cluster()) return std::move(*request.mutable_cluster());
  return Refused(source, "holds no cluster");
}

absl::StatusOr<v1::Plan> ImportPlan(std::string_view text, std::string_view source, const v1::Graph* graph) {
  if (BeginsWithClusterYamlKey(text)) return Misplaced(source, Content::kCluster, "plan");
  const auto opening = OpeningOf(text, source);
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
