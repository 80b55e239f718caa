#include "client/importer/clusters/topograph.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/importer/clusters/host_tree.h"
#include "client/importer/reading/json_fields.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxLayers = 16;

void ReadInstance(FieldReader& reader, const json& instance, HostTree& tree, ViolationList& violations,
                  const std::string& path) {
  reader.Require("id");
  TreeHost& host = tree.hosts.emplace_back();
  const auto id = reader.String("id");
  host.name = id.value_or("");
  if (id == "") reader.Report("id", "must not be empty");
  const json* layers = reader.Array("network_layers");
  if (layers != nullptr && layers->size() > kMaxLayers) {
    reader.Report("network_layers", absl::StrCat("must have at most ", kMaxLayers, " layers, has ", layers->size()));
    return;
  }
  for (std::size_t i = 0; layers != nullptr && i < layers->size(); ++i) {
    const json& layer = (*layers)[i];
    if (!layer.is_string()) {
      violations.Add(absl::StrCat(path, ".network_layers[", i, "]"),
                     absl::StrCat("must be a string, is ", Shown(layer)));
    } else {
      host.groups.push_back(layer.get<std::string>());
    }
  }
  const auto labels = instance.is_object() ? instance.find("labels") : instance.end();
  if (!instance.is_object() || labels == instance.end() || !labels->is_object()) return;
  for (const auto& [key, value] : labels->items()) {
    if (value.is_string() && !key.empty()) host.labels.emplace(key, value.get<std::string>());
  }
}

}  // namespace

absl::StatusOr<ImportedCluster> ReadTopograph(std::string_view text, std::string_view source,
                                              const ClusterOptions& options) {
  const json file = json::parse(text);
  ViolationList violations;
  FieldReader root(file, "", violations);
  root.Require("instances");
  HostTree tree;
  const json* instances = root.Array("instances");
  for (std::size_t i = 0; instances != nullptr && i < instances->size(); ++i) {
    const std::string path = absl::StrCat("instances[", i, "]");
    FieldReader reader((*instances)[i], path, violations);
    ReadInstance(reader, (*instances)[i], tree, violations, path);
  }
  if (!violations.empty()) return violations.ToStatus(source);
  std::size_t depth = 0;
  for (const TreeHost& host : tree.hosts) depth = std::max(depth, host.groups.size());
  for (std::size_t level = 1; level <= depth; ++level) tree.levels.push_back(absl::StrCat(level));
  for (TreeHost& host : tree.hosts) host.groups.resize(depth);
  return ClusterOfHosts(std::move(tree), options, source);
}

}  // namespace planwright::client
