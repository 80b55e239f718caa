#include "client/webhook/review/pools.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/importer/clusters/yaml/cluster_yaml_classes.h"
#include "client/importer/clusters/yaml/cluster_yaml_fields.h"
#include "client/importer/clusters/yaml/cluster_yaml_tree.h"
#include "client/library/error_details.h"
#include "core/text/amount.h"

namespace planwright::webhook {
namespace {

using client::YamlFields;
using client::YamlNode;
using Names = std::vector<std::string>;

constexpr int64_t kMaxNodes = 1'000'000;
constexpr int64_t kMaxDevicesOfNode = 1024;
constexpr std::size_t kMaxPools = 256;
constexpr std::size_t kMaxLevels = 8;

// Reads the file; what is wrong goes to the list.
class PoolsReader {
 public:
  PoolsReader(const YamlNode& tree, client::ViolationList& violations)
      : root_(tree, "", kRootKeys, violations), violations_(violations) {}

  Pools Read() {
    Pools pools;
    if (!root_.is_map()) return pools;
    pools.updated = ReadTime();
    const YamlNode* classes = root_.Find("classes");
    classes_ = classes == nullptr ? client::KnownDeviceClasses() : client::ReadDeviceClasses(*classes, violations_);
    const std::vector<YamlNode>& entries = List(root_, "pools", kMaxPools);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      pools.pools.push_back(ReadPool(entries[i], absl::StrCat("pools[", i, "]")));
    }
    return pools;
  }

 private:
  static const Names kRootKeys;
  static const Names kPoolKeys;
  static const Names kLevelKeys;
  static const Names kLinkKeys;

  std::optional<absl::Time> ReadTime() {
    const auto text = root_.Text("updated");
    if (!text.has_value()) return std::nullopt;
    absl::Time time;
    std::string error;
    if (absl::ParseTime(absl::RFC3339_full, *text, &time, &error)) return time;
    root_.Report("updated", R"(must be a time such as "2026-11-23T09:00:00Z")");
    return std::nullopt;
  }

  // The entries of a list; empty where it is missing, wrong or too long.
  static const std::vector<YamlNode>& List(YamlFields& fields, std::string_view key, std::size_t max_size) {
    static const std::vector<YamlNode> none;
    const YamlNode* node = fields.Find(key);
    if (node == nullptr) return none;
    if (node->kind == YamlNode::Kind::kList && node->children.size() <= max_size) return node->children;
    // An empty list in a ConfigMap that was cleared.
    if (node->kind == YamlNode::Kind::kNull) return none;
    fields.Report(key, absl::StrCat("must be a list of at most ", max_size, " entries"));
    return none;
  }

  static std::string Text(YamlFields& fields, std::string_view key) {
    return fields.Require(key) == nullptr ? "" : fields.Text(key).value_or("");
  }

  static int64_t Count(YamlFields& fields, std::string_view key, int64_t low, int64_t high) {
    return fields.Require(key) == nullptr ? 0 : fields.WholeNumber(key, low, high).value_or(0);
  }

  Pool ReadPool(const YamlNode& node, const std::string& path) {
    Pool pool;
    YamlFields fields(node, path, kPoolKeys, violations_);
    if (!fields.is_map()) return pool;
    pool.name = Text(fields, "name");
    if (!pool.name.empty() && !names_.insert(pool.name).second) fields.Report("name", "must be the only one");
    pool.resource = Text(fields, "resource");
    pool.device_class = ReadClass(fields);
    pool.reserved_memory_bytes = std::llround(fields.Amount("reserved_memory", kReservedMemoryAmount).value_or(0));
    pool.nodes = Count(fields, "nodes", 0, kMaxNodes);
    pool.max_nodes = std::max(pool.nodes, fields.WholeNumber("max_nodes", 0, kMaxNodes).value_or(0));
    pool.devices_per_node = Count(fields, "devices", 1, kMaxDevicesOfNode);
    if (pool.devices_per_node > 1) fields.Require("inside");
    if (fields.Has("inside")) pool.inside = ReadLink(*fields.Find("inside"), fields.PathOf("inside"));
    pool.levels = ReadLevels(fields);
    pool.queues = ReadQueues(fields);
    pool.node_selector = ReadSelector(fields);
    return pool;
  }

  v1::DeviceClass ReadClass(YamlFields& fields) {
    const std::string name = Text(fields, "class");
    const auto found = classes_.find(name);
    if (found != classes_.end()) return found->second.message;
    Names names;
    for (const auto& [known, unused] : classes_) names.push_back(known);
    if (!name.empty()) {
      fields.Report("class", absl::StrCat("must be a known class or one of classes", client::Suggestion(name, names)));
    }
    return {};
  }

  PoolLink ReadLink(const YamlNode& node, const std::string& path) {
    YamlFields fields(node, path, kLinkKeys, violations_);
    if (!fields.is_map()) return {};
    return ReadLinkOf(fields);
  }

  static PoolLink ReadLinkOf(YamlFields& fields) {
    if (fields.Require("bandwidth") == nullptr) return {};
    return {.bytes_per_second = fields.Amount("bandwidth", kBandwidthAmount).value_or(0),
            .latency_ms = fields.Amount("latency", kTimeAmount).value_or(0)};
  }

  std::vector<PoolLevel> ReadLevels(YamlFields& fields) {
    std::vector<PoolLevel> levels;
    if (fields.Require("levels") == nullptr) return levels;
    const std::vector<YamlNode>& entries = List(fields, "levels", kMaxLevels);
    if (entries.empty()) fields.Report("levels", "must have an entry: how nodes reach each other");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const bool is_last = i + 1 == entries.size();
      levels.push_back(ReadLevel(entries[i], absl::StrCat(fields.PathOf("levels"), "[", i, "]"), is_last,
                                 levels.empty() ? 0 : levels.back().nodes));
    }
    return levels;
  }

  // `inner`: the nodes of a unit of the level inside.
  PoolLevel ReadLevel(const YamlNode& node, const std::string& path, bool is_last, int64_t inner) {
    PoolLevel level;
    YamlFields fields(node, path, kLevelKeys, violations_);
    if (!fields.is_map()) return level;
    if (fields.Has("label")) level.label = fields.Text("label").value_or("");
    if (!is_last) fields.Require("nodes");
    if (fields.Has("nodes")) level.nodes = fields.WholeNumber("nodes", 1, kMaxNodes).value_or(0);
    if (level.nodes > 0 && level.nodes < inner)
      fields.Report("nodes", "must not be less than that of the level inside");
    level.link = ReadLinkOf(fields);
    return level;
  }

  static std::vector<std::string> ReadQueues(YamlFields& fields) {
    constexpr std::size_t kMaxQueues = 4096;
    Names queues;
    for (const YamlNode& entry : List(fields, "queues", kMaxQueues)) {
      const std::size_t slash = entry.text.find('/');
      if (slash == 0 || slash == std::string::npos || slash + 1 == entry.text.size()) {
        fields.Report("queues", R"(must list local queues as "NAMESPACE/NAME")");
        return {};
      }
      queues.push_back(entry.text);
    }
    return queues;
  }

  static std::map<std::string, std::string> ReadSelector(YamlFields& fields) {
    std::map<std::string, std::string> selector;
    const YamlNode* node = fields.Find("node_selector");
    if (node == nullptr || node->kind == YamlNode::Kind::kNull) return selector;
    if (node->kind != YamlNode::Kind::kMap) fields.Report("node_selector", "must be a map of labels");
    for (std::size_t i = 0; i < node->keys.size(); ++i) {
      if (node->children[i].kind == YamlNode::Kind::kText) selector[node->keys[i].text] = node->children[i].text;
    }
    return selector;
  }

  YamlFields root_;
  client::ViolationList& violations_;
  client::YamlDeviceClasses classes_;
  std::set<std::string> names_;
};

const Names PoolsReader::kRootKeys = {"updated", "classes", "pools"};
const Names PoolsReader::kPoolKeys = {"name",    "resource", "class",  "reserved_memory", "nodes",         "max_nodes",
                                      "devices", "inside",   "levels", "queues",          "node_selector", "cluster"};
const Names PoolsReader::kLevelKeys = {"label", "nodes", "bandwidth", "latency"};
const Names PoolsReader::kLinkKeys = {"bandwidth", "latency"};

std::vector<const Pool*> PoolsThat(const Pools& pools, const auto& is_meant) {
  std::vector<const Pool*> found;
  for (const Pool& pool : pools.pools) {
    if (is_meant(pool)) found.push_back(&pool);
  }
  return found;
}

}  // namespace

absl::StatusOr<Pools> ParsePools(std::string_view text, std::string_view source) {
  const auto tree = client::ParseYaml(text, source);
  if (!tree.ok()) return tree.status();
  // Shipped without data, until the inventory has run.
  if (tree->kind == YamlNode::Kind::kNull) return Pools();
  client::ViolationList violations;
  Pools pools = PoolsReader(*tree, violations).Read();
  if (!violations.empty()) return violations.ToStatus(source);
  return pools;
}

std::vector<const Pool*> CandidatePools(const Pools& pools, std::string_view wished, std::string_view name_space,
                                        std::string_view queue,
                                        const std::map<std::string, std::string>& node_selector) {
  if (!wished.empty()) return PoolsThat(pools, [&](const Pool& pool) { return pool.name == wished; });
  if (!queue.empty()) {
    const std::string name = absl::StrCat(std::string(name_space), "/", std::string(queue));
    auto found = PoolsThat(pools, [&](const Pool& pool) {
      return std::find(pool.queues.begin(), pool.queues.end(), name) != pool.queues.end();
    });
    if (!found.empty()) return found;
  }
  if (node_selector.empty()) return {};
  return PoolsThat(pools, [&](const Pool& pool) { return pool.node_selector == node_selector; });
}

}  // namespace planwright::webhook
