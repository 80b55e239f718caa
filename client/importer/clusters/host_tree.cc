#include "client/importer/clusters/host_tree.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/importer/clusters/yaml/cluster_yaml_fields.h"

namespace planwright::client {
namespace {

// `between` as a level of its own.
constexpr char kBetween[] = "between";

struct Level {
  std::string name;
  double bandwidth = 0;
};

class TreeReader {
 public:
  TreeReader(HostTree tree, const ClusterOptions& options, std::string_view source)
      : tree_(std::move(tree)), options_(options), source_(source) {}

  absl::StatusOr<ImportedCluster> Read() {
    for (const auto step : {&TreeReader::CheckHosts, &TreeReader::ChooseLevels, &TreeReader::SortHosts,
                            &TreeReader::AddDevices, &TreeReader::ChooseInside, &TreeReader::Join}) {
      const absl::Status status = (this->*step)();
      if (!status.ok()) return status;
    }
    return std::move(imported_);
  }

 private:
  absl::Status Refused(std::string_view reason) const {
    return absl::InvalidArgumentError(absl::StrCat(source_, ": ", std::string(reason)));
  }

  void Warn(std::string_view what) { imported_.warnings.push_back(absl::StrCat(source_, ": ", std::string(what))); }

  absl::Status CheckHosts() {
    std::unordered_set<std::string_view> names;
    std::size_t devices = 0;
    for (TreeHost& host : tree_.hosts) {
      if (options_.devices_per_host.has_value()) host.devices = static_cast<std::size_t>(*options_.devices_per_host);
      if (!names.insert(host.name).second) return Refused(absl::StrCat("names host ", ShownKey(host.name), " twice"));
      if (host.devices == 0) {
        return Refused(absl::StrCat("does not say how many accelerators ", ShownKey(host.name),
                                    " has: give --devices_per_host=8"));
      }
      devices += host.devices;
      if (devices > kMaxDevices) return Refused(absl::StrCat("has more than ", kMaxDevices, " devices"));
    }
    return tree_.hosts.empty() ? Refused("names no host") : absl::OkStatus();
  }

  // The levels that have a bandwidth, in the order of the options; groups_ gets their place in the tree.
  absl::Status ChooseLevels() {
    for (const auto& [name, bandwidth] : options_.levels) {
      const auto found = std::find(tree_.levels.begin(), tree_.levels.end(), name);
      if (found == tree_.levels.end()) {
        return Refused(absl::StrCat("has no level ", ShownKey(name), Suggestion(name, tree_.levels)));
      }
      levels_.push_back({name, bandwidth});
      groups_.push_back(static_cast<std::size_t>(found - tree_.levels.begin()));
    }
    std::vector<std::string> unused;
    for (const std::string& name : tree_.levels) {
      const bool is_used = std::any_of(levels_.begin(), levels_.end(), [&](const Level& l) { return l.name == name; });
      if (!is_used) unused.push_back(name);
    }
    if (!unused.empty() && tree_.hosts.size() > 1) {
      Warn(absl::StrCat(
          "what these levels group does not count, since no --level=KEY=BANDWIDTH says how fast they are: ",
          absl::StrJoin(unused, ", ")));
    }
    if (options_.between.has_value()) levels_.push_back({kBetween, *options_.between});
    return absl::OkStatus();
  }

  // The group of a host on a chosen level; empty: it does not say one.
  const std::string& GroupOf(const TreeHost& host, std::size_t level) const { return host.groups[groups_[level]]; }

  // From the outermost level on, so that groups stand together; hosts of one group keep the order of the file.
  absl::Status SortHosts() {
    std::vector<std::pair<std::vector<std::string>, std::size_t>> order;
    std::map<std::string, std::size_t> first_seen;
    for (std::size_t i = 0; i < tree_.hosts.size(); ++i) {
      std::vector<std::string> path;
      for (std::size_t level = groups_.size(); level-- > 0;) {
        const std::string& group = GroupOf(tree_.hosts[i], level);
        const std::size_t seen = first_seen.emplace(absl::StrCat(level, " ", group), first_seen.size()).first->second;
        path.push_back(absl::StrFormat("%09d", seen));
      }
      order.emplace_back(std::move(path), i);
    }
    std::sort(order.begin(), order.end());
    std::vector<TreeHost> sorted;
    sorted.reserve(order.size());
    for (const auto& [path, i] : order) sorted.push_back(std::move(tree_.hosts[i]));
    tree_.hosts = std::move(sorted);
    return absl::OkStatus();
  }

  absl::Status AddDevices() {
    std::map<std::pair<std::string, int64_t>, std::string> class_names;
    for (const TreeHost& host : tree_.hosts) {
      auto [entry, is_new] = class_names.try_emplace({host.product, host.memory_bytes});
      if (is_new) {
        auto type = SettleDeviceType(options_, host.product, source_);
        if (!type.ok()) return type.status();
        if (host.memory_bytes > 0 && options_.gpu_query.empty()) type->device_class.set_memory_bytes(host.memory_bytes);
        entry->second = AddClass(*std::move(type));
      }
      for (std::size_t i = 0; i < host.devices; ++i) {
        v1::Device& device = *imported_.cluster.add_devices();
        device.set_name(absl::StrCat(host.name, "/gpu", i));
        device.set_device_class(entry->second);
        device.set_host(host.name);
        device.mutable_labels()->insert(host.labels.begin(), host.labels.end());
      }
    }
    return absl::OkStatus();
  }

  // The name of the class in the cluster: classes of different memory are different ones.
  std::string AddClass(DeviceType type) {
    std::string name = type.device_class.name();
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const v1::DeviceClass& known = types_[i].device_class;
      if (known.memory_bytes() == type.device_class.memory_bytes() && known_names_[i] == name) return known.name();
    }
    known_names_.push_back(name);
    for (const v1::DeviceClass& known : imported_.cluster.device_classes()) {
      if (known.name() == name) absl::StrAppend(&name, "-", type.device_class.memory_bytes() >> 30, "gib");
    }
    type.device_class.set_name(name);
    *imported_.cluster.add_device_classes() = type.device_class;
    types_.push_back(std::move(type));
    return name;
  }

  absl::Status ChooseInside() {
    const bool is_needed =
        std::any_of(tree_.hosts.begin(), tree_.hosts.end(), [](const TreeHost& host) { return host.devices > 1; });
    if (!is_needed) return absl::OkStatus();
    const auto given = options_.links.find("inside");
    if (given != options_.links.end()) {
      inside_ = given->second;
      return absl::OkStatus();
    }
    const auto speed = [](const DeviceType& type) {
      return type.nvlink_bytes_per_second > 0 ? type.nvlink_bytes_per_second : type.pcie_bytes_per_second;
    };
    inside_ = speed(types_.front());
    for (const DeviceType& type : types_) inside_ = std::min(inside_, speed(type));
    Warn(absl::StrFormat("inside a host every pair is taken to reach %.4g GB/s; --link=inside=BANDWIDTH says otherwise",
                         inside_ / 1e9));
    return absl::OkStatus();
  }

  // Whether the level, or one inside it, joins the two hosts: their groups on it and on those outside of it are the
  // same ones. Hosts that say no group are in none of that level, which parts those inside it no more than it joins
  // them. The last level, of `between`, joins all.
  bool Joins(std::size_t level, const TreeHost& a, const TreeHost& b) const {
    if (level >= groups_.size() || &a == &b) return true;
    for (std::size_t i = groups_.size(); i-- > 0;) {
      if (GroupOf(a, i) != GroupOf(b, i)) return false;
      if (i <= level && !GroupOf(a, i).empty()) return true;
    }
    return false;
  }

  absl::Status Join() {
    if (tree_.hosts.size() == 1) {
      v1::Interconnect::Uniform& uniform = *imported_.cluster.mutable_interconnect()->mutable_uniform();
      if (inside_ > 0) uniform.set_bandwidth_bytes_per_second(inside_);
      uniform.set_latency_ms(kInsideLatencyMs);
      return absl::OkStatus();
    }
    for (const TreeHost& host : tree_.hosts) {
      const TreeHost& first = tree_.hosts.front();
      if (&host == &first) continue;
      if (!levels_.empty() && Joins(levels_.size() - 1, first, host)) continue;
      return Refused(
          absl::StrCat("nothing joins ", ShownKey(first.name), " and ", ShownKey(host.name),
                       ": say how fast the levels are with --level=KEY=BANDWIDTH, innermost first",
                       tree_.levels.empty() ? "" : absl::StrCat(" (", absl::StrJoin(tree_.levels, ", "), ")"),
                       ", and what joins the rest with --between=BANDWIDTH"));
    }
    const std::optional<std::string> uneven = MakeHierarchy();
    if (!uneven.has_value()) return absl::OkStatus();
    if (imported_.cluster.devices_size() > static_cast<int>(kMaxMatrixDevices)) {
      return Refused(absl::StrCat("is no regular tree, and too large for a matrix (", imported_.cluster.devices_size(),
                                  " devices, at most ", kMaxMatrixDevices, "): ", *uneven));
    }
    Warn(absl::StrCat("is no regular tree and becomes a matrix of bandwidths: ", *uneven));
    MakeMatrix();
    return absl::OkStatus();
  }

  // What breaks the pattern; nullopt: nothing does, and the interconnect is set.
  std::optional<std::string> MakeHierarchy() {
    const TreeHost& first = tree_.hosts.front();
    for (const TreeHost& host : tree_.hosts) {
      if (host.devices == first.devices) continue;
      return absl::StrCat(first.name, " has ", first.devices, " accelerators and ", host.name, " ", host.devices);
    }
    v1::Interconnect interconnect;
    v1::Interconnect::Hierarchy& hierarchy = *interconnect.mutable_hierarchy();
    const auto add = [&](std::size_t fan_out, double bandwidth, double latency_ms) {
      v1::Interconnect::Hierarchy::Level& level = *hierarchy.add_levels();
      level.set_fan_out(static_cast<int32_t>(fan_out));
      level.set_bandwidth_bytes_per_second(bandwidth);
      level.set_latency_ms(latency_ms);
    };
    if (first.devices > 1) add(first.devices, inside_, kInsideLatencyMs);
    std::size_t below = 1;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const auto size = SizeOfGroups(level);
      if (!size.has_value()) return uneven_;
      if (*size % below != 0) return absl::StrCat("groups of ", levels_[level].name, " cut those below them");
      if (*size > below) add(*size / below, levels_[level].bandwidth, kBetweenLatencyMs);
      below = *size;
    }
    *imported_.cluster.mutable_interconnect() = std::move(interconnect);
    return std::nullopt;
  }

  // Hosts in each group of the level; nullopt: they differ, and uneven_ says where.
  std::optional<std::size_t> SizeOfGroups(std::size_t level) {
    std::size_t size = 0;
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= tree_.hosts.size(); ++i) {
      if (i < tree_.hosts.size() && Joins(level, tree_.hosts[begin], tree_.hosts[i])) continue;
      if (size == 0) size = i - begin;
      if (size != i - begin) {
        uneven_ = absl::StrCat("on level ", levels_[level].name, " the group of ", tree_.hosts.front().name, " has ",
                               size, " hosts and that of ", tree_.hosts[begin].name, " ", i - begin);
        return std::nullopt;
      }
      begin = i;
    }
    return size;
  }

  void MakeMatrix() {
    std::vector<std::size_t> host_of;
    for (std::size_t i = 0; i < tree_.hosts.size(); ++i) host_of.insert(host_of.end(), tree_.hosts[i].devices, i);
    // Between hosts; the same for all of their devices.
    std::vector<double> between(tree_.hosts.size() * tree_.hosts.size());
    for (std::size_t a = 0; a < tree_.hosts.size(); ++a) {
      for (std::size_t b = 0; b < tree_.hosts.size(); ++b) {
        std::size_t level = 0;
        while (!Joins(level, tree_.hosts[a], tree_.hosts[b])) ++level;
        between[a * tree_.hosts.size() + b] = a == b ? inside_ : levels_[level].bandwidth;
      }
    }
    v1::Interconnect::Matrix& matrix = *imported_.cluster.mutable_interconnect()->mutable_matrix();
    for (const std::size_t a : host_of) {
      for (const std::size_t b : host_of) {
        matrix.add_bandwidth_bytes_per_second(between[a * tree_.hosts.size() + b]);
      }
    }
    matrix.set_latency_ms(kBetweenLatencyMs);
  }

  HostTree tree_;
  const ClusterOptions& options_;
  const std::string source_;
  ImportedCluster imported_;
  std::vector<DeviceType> types_;
  // By type: the name of the known class that it is, whatever its memory.
  std::vector<std::string> known_names_;
  std::vector<Level> levels_;
  // By chosen level: its place in TreeHost::groups. `between` has none.
  std::vector<std::size_t> groups_;
  double inside_ = 0;
  std::string uneven_;
};

}  // namespace

absl::StatusOr<ImportedCluster> ClusterOfHosts(HostTree tree, const ClusterOptions& options, std::string_view source) {
  if (options.repeat > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(source), ": --repeat is for files that describe one machine"));
  }
  return TreeReader(std::move(tree), options, source).Read();
}

}  // namespace planwright::client
