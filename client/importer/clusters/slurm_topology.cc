#include "client/importer/clusters/slurm_topology.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/importer/clusters/host_tree.h"
#include "client/importer/clusters/yaml/cluster_yaml_fields.h"
#include "client/importer/clusters/yaml/cluster_yaml_hosts.h"
#include "client/importer/clusters/yaml/cluster_yaml_tree.h"
#include "client/importer/reading/native.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

constexpr std::size_t kMaxNames = 16'384;
// Levels of switches; no network has so many.
constexpr std::size_t kMaxLevels = 16;

// A switch or a block, and what is below it.
struct Group {
  std::string name;
  std::vector<std::string> hosts = {};
  std::vector<std::string> groups = {};
  int line = 0;
};

// The groups of a file, with what is wrong with them.
class Groups {
 public:
  explicit Groups(ViolationList& violations) : violations_(violations) {}

  void Add(Group group) {
    const auto [first, is_new] = index_of_.emplace(group.name, groups_.size());
    if (is_new) {
      groups_.push_back(std::move(group));
    } else {
      ReportAt(group.line, group.name,
               absl::StrCat("must have a name of its own, is that of line ", groups_[first->second].line), violations_);
    }
  }

  // The names that a list stands for. Reports what is wrong with it.
  std::vector<std::string> Names(std::string_view list, std::string_view path, int line) {
    auto names = ExpandHostList(list, kMaxNames);
    if (names.ok()) return *std::move(names);
    ReportAt(line, std::string(path), absl::StrCat(std::string(names.status().message()), ", is ", ShownKey(list)),
             violations_);
    return {};
  }

  HostTree Tree() {
    FindParents();
    if (!violations_.empty()) return {};
    HostTree tree;
    std::size_t depth = 0;
    for (const Group& group : groups_) {
      for (const std::string& host : group.hosts) {
        TreeHost& added = tree.hosts.emplace_back();
        added.name = host;
        added.groups = GroupsAbove(group);
        depth = std::max(depth, added.groups.size());
      }
    }
    for (std::size_t level = 1; level <= depth; ++level) tree.levels.push_back(absl::StrCat(level));
    // A host closer to the top has the same switch above it on all further levels.
    for (TreeHost& host : tree.hosts) {
      while (host.groups.size() < depth) host.groups.push_back(host.groups.back());
    }
    return tree;
  }

 private:
  void FindParents() {
    for (std::size_t parent = 0; parent < groups_.size(); ++parent) {
      for (const std::string& name : groups_[parent].groups) {
        const auto child = index_of_.find(name);
        if (child == index_of_.end()) {
          ReportAt(groups_[parent].line, groups_[parent].name, absl::StrCat("there is no switch ", ShownKey(name)),
                   violations_);
        } else if (!parent_of_.emplace(child->second, parent).second) {
          ReportAt(groups_[parent].line, groups_[parent].name,
                   absl::StrCat("switch ", ShownKey(name), " is below another one as well"), violations_);
        }
      }
    }
  }

  // Returns the names of the groups that it is in, its own first. A circle ends at the most levels, which is reported.
  std::vector<std::string> GroupsAbove(const Group& group) {
    std::vector<std::string> names;
    std::size_t index = index_of_.at(group.name);
    while (names.size() <= kMaxLevels) {
      names.push_back(groups_[index].name);
      const auto parent = parent_of_.find(index);
      if (parent == parent_of_.end()) return names;
      index = parent->second;
    }
    ReportAt(group.line, group.name, absl::StrCat("must be at most ", kMaxLevels, " levels deep, or is below itself"),
             violations_);
    return names;
  }

  ViolationList& violations_;
  std::vector<Group> groups_;
  std::map<std::string, std::size_t> index_of_;
  std::map<std::size_t, std::size_t> parent_of_;
};

// Lines without comments, those continued put together, with the number of their first line.
std::vector<std::pair<int, std::string>> LinesOf(std::string_view text) {
  std::vector<std::pair<int, std::string>> lines;
  bool continues = false;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view raw = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), raw.size() + 1));
    std::string line(raw.substr(0, raw.find('#')));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) line.pop_back();
    const bool is_continued = line.ends_with('\\');
    if (is_continued) line.pop_back();
    if (continues) {
      lines.back().second += line;
    } else {
      lines.emplace_back(number, std::move(line));
    }
    continues = is_continued;
  }
  return lines;
}

// "SwitchName=leaf0 Nodes=a,b" as keys in small letters and values.
std::map<std::string, std::string> FieldsOf(const std::string& line, int number, ViolationList& violations) {
  std::map<std::string, std::string> fields;
  std::string_view rest = line;
  while (true) {
    const std::size_t begin = rest.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return fields;
    rest.remove_prefix(begin);
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    rest.remove_prefix(word.size());
    const std::size_t equals = word.find('=');
    const std::string key = absl::AsciiStrToLower(std::string(word.substr(0, equals)));
    if (equals == std::string_view::npos) {
      ReportAt(number, "", absl::StrCat("must be KEY=VALUE, is ", ShownKey(word)), violations);
    } else if (!fields.emplace(key, word.substr(equals + 1)).second) {
      ReportAt(number, key, "must be given once", violations);
    }
  }
}

// The field, or nothing.
std::string Take(std::map<std::string, std::string>& fields, const char* key) {
  const auto node = fields.extract(key);
  return node.empty() ? "" : node.mapped();
}

void ReadLine(int number, const std::string& line, Groups& groups, ViolationList& violations) {
  auto fields = FieldsOf(line, number, violations);
  if (fields.empty()) return;
  const std::string block = Take(fields, "blockname");
  const std::string name = Take(fields, "switchname");
  const std::string sizes = Take(fields, "blocksizes");
  Take(fields, "linkspeed");
  Group group{.name = name.empty() ? block : name, .line = number};
  const std::string hosts = Take(fields, "nodes");
  const std::string switches = Take(fields, "switches");
  for (const auto& [key, value] : fields) {
    ReportAt(number, key, "is not a key of topology.conf", violations);
  }
  if (group.name.empty()) {
    if (sizes.empty() && fields.empty()) {
      ReportAt(number, "", "must begin with SwitchName, BlockName or BlockSizes", violations);
    }
    return;
  }
  if (hosts.empty() && switches.empty()) ReportAt(number, group.name, "must have Nodes or Switches", violations);
  if (!hosts.empty()) group.hosts = groups.Names(hosts, "Nodes", number);
  if (!switches.empty()) group.groups = groups.Names(switches, "Switches", number);
  groups.Add(std::move(group));
}

// "switches: [{switch: s, nodes: n[0-3]}, {switch: t, children: s}]".
void ReadYamlGroups(YamlFields& fields, const char* list, const char* name, Groups& groups, ViolationList& violations) {
  static const std::vector<std::string> keys = {"switch", "block", "nodes", "children"};
  const YamlNode* node = fields.Require(list);
  if (node == nullptr) return;
  if (node->kind != YamlNode::Kind::kList) return fields.Report(list, "must be a list");
  for (std::size_t i = 0; i < node->children.size(); ++i) {
    const YamlNode& child = node->children[i];
    YamlFields entry(child, absl::StrCat(fields.PathOf(list), "[", i, "]"), keys, violations);
    if (!entry.is_map() || entry.Require(name) == nullptr) continue;
    const auto group_name = entry.Text(name);
    if (!group_name.has_value()) continue;
    Group group{.name = *group_name, .line = child.line};
    for (const auto& [key, names] : {std::pair{"nodes", &group.hosts}, std::pair{"children", &group.groups}}) {
      const auto text = entry.Has(key) ? entry.Text(key) : std::nullopt;
      if (text.has_value()) *names = groups.Names(*text, entry.PathOf(key), child.line);
    }
    groups.Add(std::move(group));
  }
}

// The one that is the default, else the first.
const YamlNode* ChooseTopology(const YamlNode& root, ViolationList& violations) {
  if (root.kind != YamlNode::Kind::kList || root.children.empty()) {
    violations.Add("", "must be a list of topologies");
    return nullptr;
  }
  for (const YamlNode& child : root.children) {
    if (child.kind != YamlNode::Kind::kMap) continue;
    for (std::size_t i = 0; i < child.keys.size(); ++i) {
      if (child.keys[i].text == "cluster_default" && child.children[i].text == "true") return &child;
    }
  }
  return &root.children.front();
}

absl::StatusOr<ImportedCluster> Finish(Groups& groups, ViolationList& violations, std::string_view source,
                                       const ClusterOptions& options) {
  if (!violations.empty()) return violations.ToStatus(source);
  HostTree tree = groups.Tree();
  if (!violations.empty()) return violations.ToStatus(source);
  return ClusterOfHosts(std::move(tree), options, source);
}

}  // namespace

absl::StatusOr<ImportedCluster> ReadSlurmTopology(std::string_view text, std::string_view source,
                                                  const ClusterOptions& options) {
  if (!IsUtf8(text)) return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": is not valid UTF-8"));
  ViolationList violations;
  Groups groups(violations);
  for (const auto& [number, line] : LinesOf(text)) ReadLine(number, line, groups, violations);
  return Finish(groups, violations, source, options);
}

absl::StatusOr<ImportedCluster> ReadSlurmTopologyYaml(std::string_view text, std::string_view source,
                                                      const ClusterOptions& options) {
  const auto root = ParseYaml(text, source);
  if (!root.ok()) return root.status();
  ViolationList violations;
  Groups groups(violations);
  const YamlNode* topology = ChooseTopology(*root, violations);
  if (topology != nullptr) {
    YamlFields fields(*topology, "topology", {}, violations);
    const bool is_block = fields.is_map() && fields.Has("block");
    const char* kind = is_block ? "block" : "tree";
    const YamlNode* inner = fields.is_map() ? fields.Require(kind) : nullptr;
    if (inner != nullptr) {
      YamlFields tree(*inner, kind, {}, violations);
      ReadYamlGroups(tree, is_block ? "blocks" : "switches", is_block ? "block" : "switch", groups, violations);
    }
  }
  return Finish(groups, violations, source, options);
}

}  // namespace planwright::client
