#include "core/model/device_selection.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/model/validation_rules.h"

namespace planwright {
namespace {

constexpr char kPath[] = "problem.devices_to_use";

template <typename Value>
bool Contains(const std::vector<Value>& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool IsOnHosts(const Device& device, const DeviceSelection& selection) {
  return selection.hosts.empty() || Contains(selection.hosts, device.host);
}

bool HasLabel(const Device& device, const std::pair<const std::string, std::string>& label) {
  const auto found = device.labels.find(label.first);
  return found != device.labels.end() && found->second == label.second;
}

bool HasLabels(const Device& device, const DeviceSelection& selection) {
  return std::all_of(selection.match_labels.begin(), selection.match_labels.end(),
                     [&](const auto& label) { return HasLabel(device, label); });
}

// By device.
std::vector<bool> Marks(const Cluster& cluster, const std::vector<DeviceId>& devices) {
  std::vector<bool> marks(cluster.devices.size(), false);
  for (const DeviceId device : devices) marks[device.index()] = true;
  return marks;
}

void CheckHosts(const Cluster& cluster, const DeviceSelection& selection, Violations& violations) {
  for (std::size_t i = 0; i < selection.hosts.size(); ++i) {
    const std::string& host = selection.hosts[i];
    if (std::any_of(cluster.devices.begin(), cluster.devices.end(),
                    [&](const Device& device) { return device.host == host; })) {
      continue;
    }
    violations.Add(ElementPath(absl::StrCat(kPath, ".hosts"), i),
                   absl::StrCat("must be the host of a device of the cluster, is \"", host, "\""));
  }
}

void CheckLabels(const Cluster& cluster, const DeviceSelection& selection, Violations& violations) {
  for (const auto& label : selection.match_labels) {
    if (std::any_of(cluster.devices.begin(), cluster.devices.end(),
                    [&](const Device& device) { return HasLabel(device, label); })) {
      continue;
    }
    violations.Add(absl::StrCat(kPath, ".match_labels[\"", label.first, "\"]"),
                   absl::StrCat("must be a label of a device of the cluster, is \"", label.second, "\""));
  }
}

// A device that is listed and ruled out at once.
void CheckContradictions(const Cluster& cluster, const DeviceSelection& selection, Violations& violations) {
  const std::vector<bool> is_excluded = Marks(cluster, selection.excluded_devices);
  for (std::size_t i = 0; i < selection.devices.size(); ++i) {
    const Device& device = cluster.devices[selection.devices[i].index()];
    const auto refuse = [&](const char* rule) {
      violations.Add(ElementPath(absl::StrCat(kPath, ".devices"), i), absl::StrCat(rule, ", is \"", device.name, "\""));
    };
    if (!IsOnHosts(device, selection)) refuse("must be on one of problem.devices_to_use.hosts");
    if (!HasLabels(device, selection)) refuse("must have the labels of problem.devices_to_use.match_labels");
    if (is_excluded[selection.devices[i].index()]) {
      refuse("must not be among problem.devices_to_use.excluded_devices");
    }
  }
}

// The groups of one level: how many of the units below each group keeps, and the groups that keep any.
struct GroupedLevel {
  // nullopt: not all the same.
  std::optional<int32_t> kept;
  std::vector<std::size_t> groups;
};

// `units` ascending, `fan_out` of them to a group.
GroupedLevel Group(const std::vector<std::size_t>& units, int32_t fan_out) {
  GroupedLevel level;
  std::vector<int32_t> counts;
  for (const std::size_t unit : units) {
    const std::size_t group = unit / static_cast<std::size_t>(fan_out);
    if (level.groups.empty() || level.groups.back() != group) {
      level.groups.push_back(group);
      counts.push_back(0);
    }
    ++counts.back();
  }
  const bool is_regular = std::all_of(counts.begin(), counts.end(), [&](int32_t n) { return n == counts.front(); });
  if (is_regular) level.kept = counts.front();
  return level;
}

// The lowest level that joins two devices.
const HierarchyInterconnect::Level& LevelBetween(const HierarchyInterconnect& hierarchy, DeviceId a, DeviceId b) {
  std::size_t group_a = a.index();
  std::size_t group_b = b.index();
  for (const HierarchyInterconnect::Level& level : hierarchy.levels) {
    group_a /= static_cast<std::size_t>(level.fan_out);
    group_b /= static_cast<std::size_t>(level.fan_out);
    if (group_a == group_b) return level;
  }
  return hierarchy.levels.back();
}

// The interconnect of some devices, by kind.
struct PartMaker {
  std::span<const DeviceId> devices;
  std::size_t num_devices;

  std::optional<Interconnect> operator()(const HostStagedInterconnect& whole) const { return whole; }
  std::optional<Interconnect> operator()(const UniformInterconnect& whole) const { return whole; }

  std::optional<Interconnect> operator()(const HierarchyInterconnect& whole) const {
    HierarchyInterconnect part = whole;
    std::vector<std::size_t> units;
    for (const DeviceId device : devices) units.push_back(device.index());
    for (HierarchyInterconnect::Level& level : part.levels) {
      GroupedLevel grouped = Group(units, level.fan_out);
      if (!grouped.kept.has_value()) return FastestLevel(whole, devices, devices.size());
      level.fan_out = *grouped.kept;
      units = std::move(grouped.groups);
    }
    return part;
  }

  std::optional<Interconnect> operator()(const MatrixInterconnect& whole) const {
    MatrixInterconnect part{.bandwidth_bytes_per_second = {}, .latency = whole.latency};
    for (const DeviceId from : devices) {
      for (const DeviceId to : devices) {
        part.bandwidth_bytes_per_second.push_back(
            whole.bandwidth_bytes_per_second[from.index() * num_devices + to.index()]);
      }
    }
    return part;
  }

  std::optional<Interconnect> operator()(const GridInterconnect& whole) const { return WholeOnly(whole); }
  std::optional<Interconnect> operator()(const LinksInterconnect& whole) const { return WholeOnly(whole); }

 private:
  std::optional<Interconnect> WholeOnly(const Interconnect& whole) const {
    if (devices.size() < num_devices) return std::nullopt;
    return whole;
  }
};

}  // namespace

std::vector<DeviceId> SelectedDevices(const Cluster& cluster, const DeviceSelection& selection) {
  const std::vector<bool> is_listed = Marks(cluster, selection.devices);
  const std::vector<bool> is_excluded = Marks(cluster, selection.excluded_devices);
  std::vector<DeviceId> selected;
  for (std::size_t i = 0; i < cluster.devices.size(); ++i) {
    const Device& device = cluster.devices[i];
    const bool is_wanted = selection.devices.empty() || is_listed[i];
    if (is_wanted && !is_excluded[i] && IsOnHosts(device, selection) && HasLabels(device, selection)) {
      selected.emplace_back(i);
    }
  }
  return selected;
}

void CheckSelection(const Cluster& cluster, const DeviceSelection& selection, Violations& violations) {
  const std::size_t violations_before = violations.count();
  CheckHosts(cluster, selection, violations);
  CheckLabels(cluster, selection, violations);
  CheckContradictions(cluster, selection, violations);
  if (violations.count() > violations_before) return;
  const std::vector<DeviceId> selected = SelectedDevices(cluster, selection);
  if (selected.empty()) {
    violations.Add(kPath, "must leave at least one device, leaves none");
  } else if (!PartOfInterconnect(cluster, selected).has_value()) {
    violations.Add(
        kPath, absl::StrCat("must leave every device of cluster.interconnect.", InterconnectName(cluster.interconnect),
                            ", whose routes lead through all of them"));
  }
}

std::optional<Interconnect> PartOfInterconnect(const Cluster& cluster, std::span<const DeviceId> devices) {
  return std::visit(PartMaker{devices, cluster.devices.size()}, cluster.interconnect);
}

HierarchyInterconnect FastestLevel(const HierarchyInterconnect& hierarchy, std::span<const DeviceId> devices,
                                   std::size_t count) {
  HierarchyInterconnect::Level fastest = hierarchy.levels.front();
  // Every level that joins two of them joins two neighbours.
  for (std::size_t i = 0; i + 1 < devices.size(); ++i) {
    const HierarchyInterconnect::Level& level = LevelBetween(hierarchy, devices[i], devices[i + 1]);
    if (i == 0) fastest = level;
    fastest.bandwidth_bytes_per_second = std::max(fastest.bandwidth_bytes_per_second, level.bandwidth_bytes_per_second);
    fastest.latency = std::min(fastest.latency, level.latency);
  }
  fastest.fan_out = static_cast<int32_t>(count);
  return {{fastest}};
}

ClusterPart::ClusterPart(const Cluster& whole, std::vector<DeviceId> devices) : devices_(std::move(devices)) {
  cluster_.display_name = whole.display_name;
  cluster_.device_classes = whole.device_classes;
  for (const DeviceId device : devices_) cluster_.devices.push_back(whole.devices[device.index()]);
  cluster_.interconnect = *PartOfInterconnect(whole, devices_);
}

ClusterPart::ClusterPart(const Cluster& whole, std::vector<DeviceId> devices, std::span<const DeviceId> alternatives)
    : ClusterPart(whole, std::move(devices)) {
  const auto* hierarchy = std::get_if<HierarchyInterconnect>(&whole.interconnect);
  if (hierarchy == nullptr || devices_.size() == alternatives.size()) return;
  cluster_.interconnect = FastestLevel(*hierarchy, alternatives, devices_.size());
}

Placement ClusterPart::ToWhole(Placement placement) const {
  for (Placement::Stage& stage : placement.stages) {
    for (DeviceId& device : stage.devices) device = devices_[device.index()];
  }
  return placement;
}

std::optional<Placement> ClusterPart::ToPart(Placement placement) const {
  for (Placement::Stage& stage : placement.stages) {
    for (DeviceId& device : stage.devices) {
      const std::optional<DeviceId> in_part = ToPart(device);
      if (!in_part.has_value()) return std::nullopt;
      device = *in_part;
    }
  }
  return placement;
}

std::optional<DeviceId> ClusterPart::ToPart(DeviceId device) const {
  const auto found = std::lower_bound(devices_.begin(), devices_.end(), device);
  if (found == devices_.end() || *found != device) return std::nullopt;
  return DeviceId(static_cast<std::size_t>(found - devices_.begin()));
}

}  // namespace planwright
