#include "client/importer/graphs/torch/exported_program.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/importer/graphs/torch/exported_graph.h"
#include "client/importer/reading/json_fields.h"
#include "client/importer/reading/json_text.h"
#include "client/importer/reading/zip_archive.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostJsonBytes = int64_t{128} << 20;
constexpr int64_t kSchemaMajor = 8;
constexpr std::string_view kModels = "models/";
constexpr std::string_view kJson = ".json";
// The file's name in releases of PyTorch before 2.8.
constexpr std::string_view kOlderModel = "serialized_exported_program.json";

absl::Status Refused(std::string_view source, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": ", std::string(reason)));
}

// Whether the file stands in "models/" of the archive's root folder, or is the model of an older release.
bool IsModel(std::string_view name) {
  const std::size_t root = name.find('/');
  const std::string_view inside = root == std::string_view::npos ? name : name.substr(root + 1);
  const auto is_in_models = [](std::string_view path) {
    return path.starts_with(kModels) && path.ends_with(kJson) &&
           path.find('/', kModels.size()) == std::string_view::npos;
  };
  return name == kOlderModel || inside == kOlderModel || is_in_models(name) || is_in_models(inside);
}

// The text of the archive's only model.
absl::StatusOr<std::string> ModelText(std::string_view bytes) {
  const auto archive = ZipArchive::Open(bytes);
  if (!archive.ok()) return archive.status();
  std::vector<std::string> models;
  for (const std::string& name : archive->Names()) {
    if (IsModel(name)) models.push_back(name);
  }
  if (models.empty()) return absl::InvalidArgumentError("holds no model of torch.export (models/NAME.json)");
  if (models.size() > 1) {
    constexpr std::size_t kMostShown = 5;
    if (models.size() > kMostShown) models.resize(kMostShown);
    return absl::InvalidArgumentError(
        absl::StrCat("must hold one model, holds several: ", absl::StrJoin(models, ", ")));
  }
  return archive->Read(models.front(), kMostJsonBytes);
}

// False: it is of another schema.
bool CheckSchema(const Json& program, ViolationList& violations) {
  FieldReader fields(program, "", violations);
  fields.Require("schema_version");
  fields.Require("graph_module");
  if (!fields.Has("schema_version") || !fields.Has("graph_module")) return false;
  FieldReader version(program["schema_version"], "schema_version", violations);
  version.Require("major");
  const auto major = version.Integer("major", 0, std::numeric_limits<int32_t>::max());
  if (major == kSchemaMajor) return true;
  if (major.has_value()) {
    violations.Add("schema_version.major", absl::StrCat("must be ", kSchemaMajor, ", is ", *major,
                                                        ": export the model by PyTorch 2.6 or newer, or as ONNX"));
  }
  return false;
}

}  // namespace

absl::Status ReadExportedProgram(std::string_view bytes, std::string_view source,
                                 const std::map<std::string, int64_t>& dimensions, v1::Graph& graph,
                                 std::vector<std::string>& warnings) {
  const auto text = ModelText(bytes);
  if (!text.ok()) return Refused(source, {text.status().message().data(), text.status().message().size()});
  const auto outline = OutlineOf(*text, source);
  if (!outline.ok()) return outline.status();
  const Json program = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  ViolationList violations;
  std::vector<std::string> said;
  if (CheckSchema(program, violations)) {
    ReadExportedGraph(program["graph_module"], dimensions, graph, said, violations);
  }
  if (!violations.empty()) return violations.ToStatus(source);
  for (const std::string& warning : said) warnings.push_back(absl::StrCat(std::string(source), ": ", warning));
  return absl::OkStatus();
}

}  // namespace planwright::client
