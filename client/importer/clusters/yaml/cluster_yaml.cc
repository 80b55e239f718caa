#include "client/importer/clusters/yaml/cluster_yaml.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/importer/clusters/yaml/cluster_yaml_classes.h"
#include "client/importer/clusters/yaml/cluster_yaml_fields.h"
#include "client/importer/clusters/yaml/cluster_yaml_hosts.h"
#include "client/importer/clusters/yaml/cluster_yaml_interconnect.h"
#include "client/importer/clusters/yaml/cluster_yaml_tree.h"
#include "client/library/error_details.h"
#include "core/text/amount.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {
namespace {

const std::vector<std::string>& RootKeys() {
  static const std::vector<std::string> keys = {"name",    "nodes",   "classes",     "inside",
                                                "between", "exclude", "through_host"};
  return keys;
}

const std::vector<std::string>& NodeKeys() {
  static const std::vector<std::string> keys = {"hosts", "devices", "class", "labels", "reserved_memory"};
  return keys;
}

struct Host {
  std::string name;
  std::size_t gpus = 0;
  std::size_t cpus = 0;
  std::vector<v1::Device> devices;
};

class ClusterReader {
 public:
  ClusterReader(const YamlNode& tree, ViolationList& violations)
      : root_(tree, "", RootKeys(), violations), violations_(violations) {}

  // What needs several keys is looked at when each of them is right, so that one mistake is reported once.
  v1::Cluster Read() {
    if (!root_.is_map()) return {};
    const auto name = ReadName();
    const YamlNode* classes = root_.Find("classes");
    classes_ = classes == nullptr ? KnownDeviceClasses() : ReadDeviceClasses(*classes, violations_);
    ReadNodes();
    const auto excluded = root_.Has("exclude") ? ReadHostList(root_, "exclude") : std::nullopt;
    YamlInterconnect interconnect(root_, violations_);
    if (violations_.empty() && excluded.has_value()) ExcludeHosts(*excluded);
    if (!violations_.empty()) return {};
    v1::Cluster cluster;
    if (name.has_value()) cluster.set_display_name(*name);
    AddDevices(cluster);
    *cluster.mutable_interconnect() = interconnect.Make(DescribeHosts(cluster));
    return cluster;
  }

 private:
  std::optional<std::string> ReadName() {
    const auto name = root_.Text("name");
    if (name.has_value() && name->size() > kMaxYamlNameBytes) {
      root_.Report("name", absl::StrCat("must have at most ", kMaxYamlNameBytes, " bytes, has ", name->size()));
    }
    return name;
  }

  void ReadNodes() {
    const YamlNode* nodes = root_.Require("nodes");
    if (nodes == nullptr) return;
    if (nodes->kind != YamlNode::Kind::kList || nodes->children.empty()) {
      root_.Report("nodes", absl::StrCat("must be a list of hosts with their devices, is ",
                                         nodes->kind == YamlNode::Kind::kList ? "empty" : Shown(*nodes)));
    } else if (nodes->children.size() > kMaxYamlNodeEntries) {
      root_.Report("nodes",
                   absl::StrCat("must have at most ", kMaxYamlNodeEntries, " entries, has ", nodes->children.size()));
    } else {
      for (std::size_t i = 0; i < nodes->children.size(); ++i) ReadEntry(nodes->children[i], i);
    }
  }

  // Some hosts and what each of them has.
  void ReadEntry(const YamlNode& node, std::size_t index) {
    YamlFields fields(node, absl::StrCat("nodes[", index, "]"), NodeKeys(), violations_);
    if (!fields.is_map()) return;
    const auto hosts = ReadHosts(fields);
    const auto devices = ReadCount(fields);
    v1::Device device;
    const YamlDeviceClass* device_class = ReadClass(fields);
    if (device_class != nullptr) device.set_device_class(device_class->message.name());
    ReadLabels(fields, device);
    ReadReservedMemory(fields, device_class, device);
    if (!violations_.empty() || !hosts.has_value() || !devices.has_value()) return;
    if (static_cast<int64_t>(hosts->size()) * *devices > static_cast<int64_t>(kMaxYamlDevices - device_count_)) {
      fields.Report("devices", absl::StrCat("makes more than ", kMaxYamlDevices, " devices in all"));
      return;
    }
    for (const std::string& host : *hosts) AddToHost(host, *devices, device);
  }

  static std::optional<std::vector<std::string>> ReadHosts(YamlFields& fields) {
    return fields.Require("hosts") == nullptr ? std::nullopt : ReadHostList(fields, "hosts");
  }

  static std::optional<std::vector<std::string>> ReadHostList(YamlFields& fields, std::string_view key) {
    const auto text = fields.Text(key);
    if (!text.has_value()) return std::nullopt;
    auto hosts = ExpandHostList(*text, kMaxYamlDevices);
    if (hosts.ok()) return *std::move(hosts);
    fields.Report(key, absl::StrCat(hosts.status().message(), ", is ", Shown(*fields.Find(key))));
    return std::nullopt;
  }

  static std::optional<int64_t> ReadCount(YamlFields& fields) {
    if (fields.Require("devices") == nullptr) return std::nullopt;
    return fields.WholeNumber("devices", 1, static_cast<int64_t>(kMaxYamlDevices));
  }

  // nullptr: missing or wrong, which is reported.
  const YamlDeviceClass* ReadClass(YamlFields& fields) {
    if (fields.Require("class") == nullptr) return nullptr;
    const auto name = fields.Text("class");
    if (!name.has_value()) return nullptr;
    const auto found = classes_.find(*name);
    if (found != classes_.end()) return &found->second;
    std::vector<std::string> names;
    for (const auto& [known, unused] : classes_) names.push_back(known);
    fields.Report("class", absl::StrCat("must be a known class or one of classes, is ", Shown(*fields.Find("class")),
                                        Suggestion(*name, names)));
    return nullptr;
  }

  void ReadLabels(const YamlFields& fields, v1::Device& device) {
    const YamlNode* labels = fields.Find("labels");
    if (labels == nullptr) return;
    YamlFields by_name(*labels, fields.PathOf("labels"), {}, violations_);
    if (labels->children.size() > kMaxYamlLabels) {
      ReportAt(labels->line, fields.PathOf("labels"),
               absl::StrCat("must have at most ", kMaxYamlLabels, " entries, has ", labels->children.size()),
               violations_);
      return;
    }
    for (const YamlKey& key : labels->keys) {
      const auto value = by_name.Text(key.text);
      if (!value.has_value()) continue;
      if (key.text.empty() || std::max(key.text.size(), value->size()) > kMaxYamlNameBytes) {
        by_name.Report(key.text, absl::StrCat("must have a name and a value of 1 to ", kMaxYamlNameBytes, " bytes"));
      }
      (*device.mutable_labels())[key.text] = *value;
    }
  }

  static void ReadReservedMemory(YamlFields& fields, const YamlDeviceClass* device_class, v1::Device& device) {
    const auto reserved = fields.Amount("reserved_memory", kReservedMemoryAmount);
    if (!reserved.has_value()) return;
    device.set_reserved_memory_bytes(std::llround(*reserved));
    if (device_class == nullptr || !device_class->message.has_memory_bytes()) return;
    if (device.reserved_memory_bytes() <= device_class->message.memory_bytes()) return;
    fields.Report(
        "reserved_memory",
        absl::StrCat("must be at most the memory of class ", ShownKey(device_class->message.name()), ", ",
                     device_class->message.memory_bytes(), " bytes, is ", Shown(*fields.Find("reserved_memory"))));
  }

  void AddToHost(const std::string& name, int64_t devices, v1::Device device) {
    const auto [position, is_new] = host_of_.emplace(name, hosts_.size());
    if (is_new) hosts_.emplace_back().name = name;
    Host& host = hosts_[position->second];
    const bool is_cpu = classes_.find(device.device_class())->second.message.kind() == v1::DEVICE_KIND_CPU;
    device.set_host(name);
    for (int64_t i = 0; i < devices; ++i) {
      device.set_name(is_cpu ? absl::StrCat(name, "/cpu", host.cpus++) : absl::StrCat(name, "/gpu", host.gpus++));
      host.devices.push_back(device);
    }
    device_count_ += static_cast<std::size_t>(devices);
  }

  void ExcludeHosts(const std::vector<std::string>& excluded) {
    for (const std::string& name : excluded) {
      if (!host_of_.contains(name))
        root_.Report("exclude", absl::StrCat("names ", name, ", which is no host of nodes"));
    }
    const std::unordered_set<std::string_view> names(excluded.begin(), excluded.end());
    std::erase_if(hosts_, [&names](const Host& host) { return names.contains(host.name); });
    if (hosts_.empty()) root_.Report("exclude", "leaves no host");
  }

  // Host by host; the classes in the order in which they come, without those that no device has.
  void AddDevices(v1::Cluster& cluster) {
    std::unordered_set<std::string> used;
    for (Host& host : hosts_) {
      for (v1::Device& device : host.devices) {
        if (used.insert(device.device_class()).second) {
          *cluster.add_device_classes() = classes_.find(device.device_class())->second.message;
        }
        *cluster.add_devices() = std::move(device);
      }
    }
  }

  YamlHosts DescribeHosts(const v1::Cluster& cluster) const {
    YamlHosts described;
    for (const Host& host : hosts_) described.hosts.push_back({host.name, host.gpus + host.cpus});
    const v1::DeviceClass& slowest = *std::ranges::min_element(
        cluster.device_classes(), {}, [this](const v1::DeviceClass& each) { return NvlinkOf(each.name()); });
    described.nvlink_bytes_per_second = NvlinkOf(slowest.name());
    described.class_without_nvlink = slowest.name();
    return described;
  }

  double NvlinkOf(const std::string& class_name) const {
    return classes_.find(class_name)->second.nvlink_bytes_per_second;
  }

  YamlFields root_;
  ViolationList& violations_;
  YamlDeviceClasses classes_;
  // In the order of their first entry.
  std::vector<Host> hosts_;
  std::unordered_map<std::string, std::size_t> host_of_;
  std::size_t device_count_ = 0;
};

std::string_view WithoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\f\v";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// The first line that is neither empty nor a comment, without blanks around it.
std::string_view FirstLine(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = WithoutBlanks(text.substr(0, end));
    if (!line.empty() && line.front() != '#') return line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

// What stands before the first colon of the line; empty where that is no plain word.
std::string_view FirstKey(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view key = WithoutBlanks(line.substr(0, colon));
  return key.find_first_of("{}<>[]\"'") == std::string_view::npos ? key : std::string_view();
}

bool IsField(const google::protobuf::Descriptor& message, std::string_view name) {
  return message.FindFieldByName(std::string(name)) != nullptr;
}

}  // namespace

bool LooksLikeClusterYaml(std::string_view text) {
  const std::string_view line = FirstLine(text);
  if (line.empty() || line.front() == '{' || line.front() == '[') return false;
  if (line.front() == '-' || line.front() == '%' || line.front() == '"' || line.front() == '\'') return true;
  const std::string_view key = FirstKey(line);
  return !key.empty() && !IsField(*v1::Cluster::descriptor(), key) &&
         !IsField(*v1::CreatePlanRequest::descriptor(), key);
}

bool BeginsWithClusterYamlKey(std::string_view text) {
  return std::ranges::find(RootKeys(), FirstKey(FirstLine(text))) != RootKeys().end();
}

absl::StatusOr<v1::Cluster> ReadClusterYaml(std::string_view text, std::string_view source) {
  const auto tree = ParseYaml(text, source);
  if (!tree.ok()) return tree.status();
  if (tree->kind == YamlNode::Kind::kNull) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": is empty"));
  }
  ViolationList violations;
  v1::Cluster cluster = ClusterReader(*tree, violations).Read();
  if (!violations.empty()) return violations.ToStatus(source);
  return cluster;
}

}  // namespace planwright::client
