#include "client/importer/clusters/kubernetes_nodes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/importer/clusters/host_tree.h"
#include "client/importer/reading/json_fields.h"
#include "client/importer/reading/json_text.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

using nlohmann::json;

constexpr int64_t kMaxGpusOfNode = 1024;
constexpr int64_t kMaxMemoryMib = int64_t{1} << 30;
constexpr std::array<const char*, 2> kResources = {"nvidia.com/gpu", "amd.com/gpu"};
constexpr char kProduct[] = "nvidia.com/gpu.product";
constexpr char kMemory[] = "nvidia.com/gpu.memory";

// The JSON documents that follow each other in `text`, by the braces that enclose them.
std::vector<std::string_view> DocumentsOf(std::string_view text) {
  std::vector<std::string_view> documents;
  std::size_t begin = std::string_view::npos;
  int depth = 0;
  bool is_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_text) {
      if (c == '\\') ++i;
      if (c == '"') is_text = false;
    } else if (c == '"') {
      is_text = true;
    } else if (c == '{' && depth++ == 0) {
      begin = i;
    } else if (c == '}' && --depth == 0) {
      documents.push_back(text.substr(begin, i + 1 - begin));
    }
  }
  // What is left is for the parser to refuse.
  if (documents.size() <= 1 || depth != 0) return {text};
  return documents;
}

// nullptr: there is none, or it is no object.
const json* ObjectAt(const json& value, const char* name) {
  if (!value.is_object()) return nullptr;
  const auto field = value.find(name);
  return field == value.end() || !field->is_object() ? nullptr : &*field;
}

std::optional<std::string> TextAt(const json* object, const char* name) {
  if (object == nullptr) return std::nullopt;
  const auto field = object->find(name);
  return field == object->end() || !field->is_string() ? std::nullopt : std::optional(field->get<std::string>());
}

std::optional<int64_t> CountIn(const std::optional<std::string>& text, int64_t most) {
  if (!text.has_value()) return std::nullopt;
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), count);
  const bool is_count = error == std::errc() && end == text->data() + text->size() && count >= 0 && count <= most;
  return is_count ? std::optional(count) : std::nullopt;
}

class NodeReader {
 public:
  explicit NodeReader(ViolationList& violations) : violations_(violations) {}

  void ReadDocument(const json& document, const std::string& path) {
    if (!document.is_object()) return violations_.Add(path, "must be a list of nodes, or a node");
    const auto items = document.find("items");
    if (items == document.end()) return ReadNode(document, path);
    if (!items->is_array())
      return violations_.Add(absl::StrCat(path, "items"), absl::StrCat("must be a list, is ", Shown(*items)));
    for (std::size_t i = 0; i < items->size(); ++i) ReadNode((*items)[i], absl::StrCat(path, "items[", i, "]"));
  }

  // Labels that several hosts have are levels.
  HostTree TakeTree() {
    std::map<std::string, std::size_t> uses;
    for (const TreeHost& host : tree_.hosts) {
      for (const auto& [key, value] : host.labels) ++uses[key];
    }
    for (const auto& [key, count] : uses) {
      if (count > 1 && IsPlace(key)) tree_.levels.push_back(key);
    }
    for (TreeHost& host : tree_.hosts) {
      for (const std::string& level : tree_.levels) {
        const auto label = host.labels.find(level);
        host.groups.push_back(label == host.labels.end() ? "" : label->second);
      }
      std::erase_if(host.labels, [](const auto& label) { return !IsPlace(label.first); });
    }
    return std::move(tree_);
  }

  // Hosts that were left out, and why.
  std::string LeftOut() const {
    std::string text;
    if (without_gpus_ > 0) absl::StrAppend(&text, "left out: ", without_gpus_, " without accelerators");
    if (cordoned_ > 0) {
      absl::StrAppend(&text, text.empty() ? "left out: " : ", ", cordoned_, " that take no pods");
    }
    return text;
  }

 private:
  // What says where a node is, not what it is.
  static bool IsPlace(const std::string& key) {
    constexpr std::array<std::string_view, 8> kPlaces = {"topology", "network", "rack", "zone",
                                                         "region",   "clique",  "tier", "block"};
    return std::any_of(kPlaces.begin(), kPlaces.end(),
                       [&](std::string_view place) { return key.find(place) != std::string::npos; }) ||
           key.find("domain") != std::string::npos;
  }

  void ReadNode(const json& node, const std::string& path) {
    const json* metadata = ObjectAt(node, "metadata");
    const auto name = TextAt(metadata, "name");
    if (!name.has_value() || name->empty()) return violations_.Add(absl::StrCat(path, ".metadata.name"), "is missing");
    const auto kind = node.find("kind");
    if (kind != node.end() && *kind != "Node") {
      return violations_.Add(absl::StrCat(path, ".kind"), absl::StrCat("must be Node, is ", Shown(*kind)));
    }
    const json* spec = ObjectAt(node, "spec");
    if (spec != nullptr && spec->value("unschedulable", json(false)) == json(true)) {
      ++cordoned_;
      return;
    }
    const auto gpus = GpusOf(node, path);
    if (!gpus.has_value()) return;
    if (*gpus == 0) {
      ++without_gpus_;
      return;
    }
    TreeHost& host = tree_.hosts.emplace_back();
    host.name = *name;
    host.devices = static_cast<std::size_t>(*gpus);
    ReadLabels(*metadata, path, host);
  }

  // nullopt: wrong, which is reported.
  std::optional<int64_t> GpusOf(const json& node, const std::string& path) {
    const json* status = ObjectAt(node, "status");
    if (status == nullptr) return 0;
    for (const char* list : {"allocatable", "capacity"}) {
      for (const char* resource : kResources) {
        const auto text = TextAt(ObjectAt(*status, list), resource);
        if (!text.has_value()) continue;
        const auto count = CountIn(text, kMaxGpusOfNode);
        if (count.has_value()) return count;
        violations_.Add(absl::StrCat(path, ".status.", list, "[\"", resource, "\"]"),
                        absl::StrCat("must be a whole number up to ", kMaxGpusOfNode, ", is ", Shown(*text)));
        return std::nullopt;
      }
    }
    return 0;
  }

  void ReadLabels(const json& metadata, const std::string& path, TreeHost& host) {
    const json* labels = ObjectAt(metadata, "labels");
    if (labels == nullptr) return;
    host.product = TextAt(labels, kProduct).value_or("");
    const auto memory = TextAt(labels, kMemory);
    const auto mib = CountIn(memory, kMaxMemoryMib);
    if (memory.has_value() && !mib.has_value()) {
      violations_.Add(absl::StrCat(path, ".metadata.labels[\"", kMemory, "\"]"),
                      absl::StrCat("must be a whole number of MiB, is ", Shown(*memory)));
    }
    host.memory_bytes = mib.value_or(0) << 20;
    for (const auto& [key, value] : labels->items()) {
      if (value.is_string() && !key.empty() && !value.get<std::string>().empty()) {
        host.labels.emplace(key, value.get<std::string>());
      }
    }
  }

  ViolationList& violations_;
  HostTree tree_;
  std::size_t without_gpus_ = 0;
  std::size_t cordoned_ = 0;
};

}  // namespace

absl::StatusOr<ImportedCluster> ReadKubernetesNodes(std::string_view text, std::string_view source,
                                                    const ClusterOptions& options) {
  ViolationList violations;
  NodeReader reader(violations);
  const std::vector<std::string_view> documents = DocumentsOf(text);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const auto outline = OutlineOf(documents[i], source);
    if (!outline.ok()) return outline.status();
    reader.ReadDocument(json::parse(documents[i]), documents.size() == 1 ? "" : absl::StrCat("list ", i + 1, ": "));
  }
  if (!violations.empty()) return violations.ToStatus(source);
  auto imported = ClusterOfHosts(reader.TakeTree(), options, source);
  if (imported.ok() && !reader.LeftOut().empty()) {
    imported->warnings.push_back(absl::StrCat(std::string(source), ": ", reader.LeftOut()));
  }
  return imported;
}

}  // namespace planwright::client
