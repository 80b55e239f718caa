#include "core/model/device_selection.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/base/index.h"
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

using Levels = std::vector<HierarchyInterconnect::Level>;

// The lowest level that joins two leaves of a tree.
const HierarchyInterconnect::Level& LevelBetween(const Levels& levels, std::size_t a, std::size_t b) {
  for (const HierarchyInterconnect::Level& level : levels) {
    a /= static_cast<std::size_t>(level.fan_out);
    b /= static_cast<std::size_t>(level.fan_out);
    if (a == b) return level;
  }
  return levels.back();
}

// The tree of some leaves (ascending); nullopt: it is irregular.
std::optional<Levels> PartOfTree(Levels levels, std::vector<std::size_t> leaves) {
  for (HierarchyInterconnect::Level& level : levels) {
    GroupedLevel grouped = Group(leaves, level.fan_out);
    if (!grouped.kept.has_value()) return std::nullopt;
    level.fan_out = *grouped.kept;
    leaves = std::move(grouped.groups);
  }
  return levels;
}

// The devices that the machines of a NodesInterconnect keep.
struct KeptPlaces {
  std::vector<std::size_t> machines;
  // nullopt: not the same in all machines.
  std::optional<std::vector<std::size_t>> places;
};

KeptPlaces PlacesOf(std::span<const DeviceId> devices, std::size_t devices_per_node) {
  KeptPlaces kept;
  std::vector<std::vector<std::size_t>> places;
  for (const DeviceId device : devices) {
    const std::size_t machine = device.index() / devices_per_node;
    if (kept.machines.empty() || kept.machines.back() != machine) {
      kept.machines.push_back(machine);
      places.emplace_back();
    }
    places.back().push_back(device.index() % devices_per_node);
  }
  const bool alike = std::all_of(places.begin(), places.end(), [&](const auto& p) { return p == places.front(); });
  if (alike) kept.places = std::move(places.front());
  return kept;
}

// The links between some places, by their positions among them.
std::vector<NodesInterconnect::Link> LinksBetween(const std::vector<NodesInterconnect::Link>& links,
                                                  const std::vector<std::size_t>& places) {
  const auto position = [&](int32_t place) -> std::optional<int32_t> {
    const auto found = std::find(places.begin(), places.end(), static_cast<std::size_t>(place));
    if (found == places.end()) return std::nullopt;
    return static_cast<int32_t>(found - places.begin());
  };
  std::vector<NodesInterconnect::Link> between;
  for (NodesInterconnect::Link link : links) {
    const std::optional<int32_t> a = position(link.place_a);
    const std::optional<int32_t> b = position(link.place_b);
    if (!a.has_value() || !b.has_value()) continue;
    link.place_a = *a;
    link.place_b = *b;
    between.push_back(link);
  }
  return between;
}

// The interconnect of some devices, by kind.
struct PartMaker {
  std::span<const DeviceId> devices;
  std::size_t num_devices;

  std::optional<Interconnect> operator()(const HostStagedInterconnect& whole) const { return whole; }
  std::optional<Interconnect> operator()(const UniformInterconnect& whole) const { return whole; }

  std::optional<Interconnect> operator()(const HierarchyInterconnect& whole) const {
    std::vector<std::size_t> leaves = Mapped(devices, [&](const DeviceId device) { return device.index(); });
    std::optional<Levels> levels = PartOfTree(whole.levels, std::move(leaves));
    if (!levels.has_value()) return FastestLevel(whole, devices, devices.size());
    return HierarchyInterconnect{std::move(*levels)};
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

  std::optional<Interconnect> operator()(const NodesInterconnect& whole) const {
    KeptPlaces kept = PlacesOf(devices, static_cast<std::size_t>(whole.devices_per_node));
    std::optional<Levels> levels = PartOfTree(whole.levels, std::move(kept.machines));
    if (!levels.has_value() || !kept.places.has_value()) return std::nullopt;
    NodesInterconnect part = whole;
    part.devices_per_node = static_cast<int32_t>(kept.places->size());
    part.links = LinksBetween(whole.links, *kept.places);
    part.levels = std::move(*levels);
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

// What is broken by selections that leave too many devices for a table and no structure.
std::string TableRule(const Interconnect& interconnect) {
  const bool is_nodes = std::holds_alternative<NodesInterconnect>(interconnect);
  return absl::StrCat("must leave ", is_nodes ? "the same places of each machine" : "every device",
                      " of cluster.interconnect.", InterconnectName(interconnect), ", or at most ", kMaxTableDevices,
                      " devices");
}

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
  } else if (selected.size() > kMaxTableDevices && !PartOfInterconnect(cluster, selected).has_value()) {
    violations.Add(kPath, TableRule(cluster.interconnect));
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
    const HierarchyInterconnect::Level& level =
        LevelBetween(hierarchy.levels, devices[i].index(), devices[i + 1].index());
    if (i == 0) fastest = level;
    fastest.bandwidth_bytes_per_second = std::max(fastest.bandwidth_bytes_per_second, level.bandwidth_bytes_per_second);
    fastest.latency = std::min(fastest.latency, level.latency);
  }
  fastest.fan_out = static_cast<int32_t>(count);
  return {{fastest}};
}

}  // namespace planwright
