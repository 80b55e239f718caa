#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/base/interruption.h"
#include "core/base/union_find.h"
#include "core/model/validation_rules.h"
#include "core/model/validator.h"

namespace planwright {
namespace {

constexpr std::size_t kMaxGridDimensions = 3;

void CheckLatency(Picoseconds latency, const std::string& interconnect, Violations& violations) {
  RequireNonNegative(
      latency, [&] { return interconnect + ".latency_ms"; }, violations);
}

void CheckBandwidth(double bytes_per_second, const std::string& path, Violations& violations) {
  RequirePositive(
      bytes_per_second, [&] { return path; }, violations);
}

// Product of the sizes; saturates.
template <typename List, typename Size>
int64_t Product(const List& list, const Size& size) {
  int64_t product = 1;
  for (const auto& element : list) product = SaturatingMultiply(product, std::max<int64_t>(0, size(element)));
  return product;
}

int64_t NumLeaves(const std::vector<HierarchyInterconnect::Level>& levels) {
  return Product(levels, [](const HierarchyInterconnect::Level& level) { return level.fan_out; });
}

// Rules on every kind of interconnect.
class InterconnectValidator {
 public:
  InterconnectValidator(const Cluster& cluster, Violations& violations)
      : cluster_(cluster),
        violations_(violations),
        path_("cluster.interconnect." + InterconnectName(cluster.interconnect)) {}

  void operator()(const HostStagedInterconnect& staged) { CheckSimple(staged); }
  void operator()(const UniformInterconnect& uniform) { CheckSimple(uniform); }

  void operator()(const HierarchyInterconnect& hierarchy) {
    if (hierarchy.levels.empty()) {
      violations_.Add(path_ + ".levels", "must not be empty");
      return;
    }
    CheckLevels(hierarchy.levels);
    RequireAllDevices(NumLeaves(hierarchy.levels), ".levels", "the product of the fan-outs");
  }

  void operator()(const GridInterconnect& grid) {
    CheckBandwidth(grid.link_bandwidth_bytes_per_second, path_ + ".link_bandwidth_bytes_per_second", violations_);
    CheckLatency(grid.latency, path_, violations_);
    if (grid.dimensions.empty() || grid.dimensions.size() > kMaxGridDimensions) {
      violations_.Add(path_ + ".dimensions", absl::StrCat("must have 1 to 3 elements, has ", grid.dimensions.size()));
      return;
    }
    for (std::size_t i = 0; i < grid.dimensions.size(); ++i) {
      RequireAtLeast(
          grid.dimensions[i], 1, [&] { return ElementPath(path_ + ".dimensions", i); }, violations_);
    }
    RequireAllDevices(Product(grid.dimensions, [](int32_t size) { return size; }), ".dimensions", "their product");
  }

  void operator()(const LinksInterconnect& links) {
    bool ids_in_range = true;
    for (std::size_t i = 0; i < links.links.size(); ++i) {
      const LinksInterconnect::Link& link = links.links[i];
      const std::string path = ElementPath(path_ + ".links", i);
      ids_in_range &= CheckEnd(link.device_a, path + ".device_a");
      ids_in_range &= CheckEnd(link.device_b, path + ".device_b");
      if (link.device_a == link.device_b) violations_.Add(path + ".device_b", "must not be device_a");
      CheckBandwidth(link.bandwidth_bytes_per_second, path + ".bandwidth_bytes_per_second", violations_);
      CheckLatency(link.latency, path, violations_);
    }
    FitsTable(path_ + ".links");
    if (ids_in_range) RequireConnected(links);
  }

  void operator()(const MatrixInterconnect& matrix) {
    const std::size_t devices = cluster_.devices.size();
    const std::string path = path_ + ".bandwidth_bytes_per_second";
    CheckLatency(matrix.latency, path_, violations_);
    if (!FitsTable(path)) return;
    if (matrix.bandwidth_bytes_per_second.size() != devices * devices) {
      violations_.Add(path, absl::StrCat("must have ", devices * devices, " elements (", devices, " x ", devices,
                                         " devices), has ", matrix.bandwidth_bytes_per_second.size()));
    } else {
      CheckPairs(matrix, path);
    }
  }

  void operator()(const NodesInterconnect& nodes) {
    CheckBandwidth(nodes.bandwidth_bytes_per_second, path_ + ".bandwidth_bytes_per_second", violations_);
    CheckLatency(nodes.latency, path_, violations_);
    CheckLevels(nodes.levels);
    if (nodes.devices_per_node < 1 || nodes.devices_per_node > static_cast<int32_t>(kMaxTableDevices)) {
      violations_.Add(path_ + ".devices_per_node",
                      absl::StrCat("must be from 1 to ", kMaxTableDevices, ", is ", nodes.devices_per_node));
      return;
    }
    CheckPlaces(nodes);
    RequireAllDevices(SaturatingMultiply(nodes.devices_per_node, NumLeaves(nodes.levels)), ".levels",
                      "the product of the fan-outs and devices_per_node");
  }

 private:
  void CheckLevels(const std::vector<HierarchyInterconnect::Level>& levels) {
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const std::string path = ElementPath(path_ + ".levels", i);
      RequireAtLeast(
          levels[i].fan_out, 1, [&] { return path + ".fan_out"; }, violations_);
      CheckBandwidth(levels[i].bandwidth_bytes_per_second, path + ".bandwidth_bytes_per_second", violations_);
      CheckLatency(levels[i].latency, path, violations_);
      CheckBandwidth(levels[i].port_bandwidth_bytes_per_second.value_or(1), path + ".port_bandwidth_bytes_per_second",
                     violations_);
    }
  }

  // Two places of a machine, joined once.
  void CheckPlaces(const NodesInterconnect& nodes) {
    std::map<std::pair<int32_t, int32_t>, std::size_t> first_link;
    for (std::size_t i = 0; i < nodes.links.size(); ++i) {
      const NodesInterconnect::Link& link = nodes.links[i];
      const std::string path = ElementPath(path_ + ".links", i);
      CheckPlace(link.place_a, nodes.devices_per_node, path + ".place_a");
      CheckPlace(link.place_b, nodes.devices_per_node, path + ".place_b");
      CheckBandwidth(link.bandwidth_bytes_per_second, path + ".bandwidth_bytes_per_second", violations_);
      CheckLatency(link.latency, path, violations_);
      if (link.place_a == link.place_b) violations_.Add(path + ".place_b", "must not be place_a");
      const auto [first, is_new] = first_link.emplace(std::minmax({link.place_a, link.place_b}), i);
      if (is_new) continue;
      violations_.Add(
          path, absl::StrCat("must join two places that no other link joins, ", link.place_a, " and ", link.place_b,
                             " are joined by ", ElementPath(path_ + ".links", first->second)));
    }
  }

  void CheckPlace(int32_t place, int32_t devices_per_node, const std::string& path) {
    if (place >= 0 && place < devices_per_node) return;
    violations_.Add(path, absl::StrCat("must be from 0 to ", devices_per_node - 1, ", is ", place));
  }

  template <typename Simple>
  void CheckSimple(const Simple& interconnect) {
    if (interconnect.bandwidth_bytes_per_second.has_value()) {
      CheckBandwidth(*interconnect.bandwidth_bytes_per_second, path_ + ".bandwidth_bytes_per_second", violations_);
    }
    CheckLatency(interconnect.latency, path_, violations_);
  }

  bool FitsTable(const std::string& path) {
    const std::size_t devices = cluster_.devices.size();
    if (devices <= kMaxTableDevices) return true;
    violations_.Add(path, absl::StrCat("must be for at most ", kMaxTableDevices, " devices, there are ", devices));
    return false;
  }

  // Links work both ways, so a pair has one bandwidth.
  void CheckPairs(const MatrixInterconnect& matrix, const std::string& path) {
    const std::vector<double>& bandwidths = matrix.bandwidth_bytes_per_second;
    const std::size_t devices = cluster_.devices.size();
    for (std::size_t i = 0; i < devices * devices; ++i) {
      InterruptionPoint(/*units=*/4);
      const std::size_t mirrored = i % devices * devices + i / devices;
      if (i == mirrored) continue;
      RequirePositive(
          bandwidths[i], [&] { return ElementPath(path, i); }, violations_);
      const bool both_are_valid = bandwidths[i] > 0 && bandwidths[mirrored] > 0;
      if (i > mirrored || !both_are_valid || bandwidths[i] == bandwidths[mirrored]) continue;
      violations_.Add(
          ElementPath(path, mirrored),
          absl::StrCat("must be that of the other direction, ", bandwidths[i], ", is ", bandwidths[mirrored], ": \"",
                       cluster_.devices[i % devices].name, "\" to \"", cluster_.devices[i / devices].name, "\""));
    }
  }

  void RequireAllDevices(int64_t product, const char* field, const char* what) {
    const auto devices = static_cast<int64_t>(cluster_.devices.size());
    if (product == devices) return;
    violations_.Add(path_ + field, absl::StrCat(what, " must be the number of devices (", devices, "), is ", product));
  }

  bool CheckEnd(DeviceId device, const std::string& path) {
    if (device.index() < cluster_.devices.size()) return true;
    violations_.Add(path, absl::StrCat("must be a device of the cluster, is number ", device.index()));
    return false;
  }

  // Pairs without a link are routed, so there must be a way between any two devices.
  void RequireConnected(const LinksInterconnect& links) {
    const auto num_devices = static_cast<int32_t>(cluster_.devices.size());
    UnionFind groups(num_devices);
    for (const LinksInterconnect::Link& link : links.links) {
      groups.Unite(static_cast<int32_t>(link.device_a.index()), static_cast<int32_t>(link.device_b.index()));
    }
    for (int32_t device = 1; device < num_devices; ++device) {
      if (groups.Find(device) == groups.Find(0)) continue;
      violations_.Add(path_ + ".links",
                      absl::StrCat("must connect all devices, there is no way from \"", cluster_.devices[0].name,
                                   "\" to \"", cluster_.devices[static_cast<std::size_t>(device)].name, "\""));
      return;
    }
  }

  const Cluster& cluster_;
  Violations& violations_;
  const std::string path_;
};

void CheckTraining(const TrainingEfficiency& training, std::size_t index, Violations& violations) {
  const auto path = [index](std::string_view field) {
    return [index, field] { return ElementPath("cluster.device_classes", index) + ".training." + std::string(field); };
  };
  const auto share = [&](std::string_view field, double value, bool may_be_zero) {
    if ((value > 0 || (may_be_zero && value == 0)) && value <= 1) return;
    violations.Add(path(field)(), absl::StrCat("must be in ", may_be_zero ? "[" : "(", "0, 1], is ", value));
  };
  share("products", training.products, false);
  RequireNonNegative(training.half_extent, path("half_extent"), violations);
  share("attention", training.attention, false);
  RequirePositive(training.eight_bit_gain, path("eight_bit_gain"), violations);
  share("memory", training.memory, false);
  share("network", training.network, false);
  share("hidden_in_layers", training.hidden_in_layers, true);
  share("hidden_among_data", training.hidden_among_data, true);
  share("hidden_at_step_end", training.hidden_at_step_end, true);
  RequireNonNegative(training.launch, path("launch_ms"), violations);
}

void CheckDeviceClass(const DeviceClass& device_class, std::size_t index, Violations& violations) {
  const auto path = [index](const char* field) {
    return [index, field] { return ElementPath("cluster.device_classes", index) + field; };
  };
  RequireAtLeast(device_class.memory_bytes.value_or(0), 0, path(".memory_bytes"), violations);
  RequireNonNegative(device_class.peak_flops, path(".peak_flops"), violations);
  RequireNonNegative(device_class.memory_bandwidth_bytes_per_second, path(".memory_bandwidth_bytes_per_second"),
                     violations);
  RequireNonNegative(device_class.kernel_overhead, path(".kernel_overhead_ms"), violations);
  if (!(device_class.compute_efficiency > 0 && device_class.compute_efficiency <= 1)) {
    violations.Add(path(".compute_efficiency")(),
                   absl::StrCat("must be in (0, 1], is ", device_class.compute_efficiency));
  }
  if (device_class.training.has_value()) CheckTraining(*device_class.training, index, violations);
}

void CheckDevice(const Cluster& cluster, std::size_t index, Violations& violations) {
  const Device& device = cluster.devices[index];
  const auto path = [index](const char* field) {
    return [index, field] { return ElementPath("cluster.devices", index) + field; };
  };
  if (device.device_class.index() >= cluster.device_classes.size()) {
    violations.Add(path(".device_class")(),
                   absl::StrCat("must be a device class of the cluster, is number ", device.device_class.index()));
  }
  RequireAtLeast(device.reserved_memory_bytes, 0, path(".reserved_memory_bytes"), violations);
}

}  // namespace

void ValidateCluster(const Cluster& cluster, const ModelLimits& limits, Violations& violations) {
  if (static_cast<int64_t>(cluster.display_name.size()) > limits.max_name_bytes) {
    violations.Add("cluster.display_name", absl::StrCat("must have at most ", limits.max_name_bytes, " bytes, has ",
                                                        cluster.display_name.size()));
  }
  if (cluster.device_classes.empty()) violations.Add("cluster.device_classes", "must not be empty");
  if (cluster.devices.empty()) violations.Add("cluster.devices", "must not be empty");
  if (static_cast<int64_t>(cluster.devices.size()) > limits.max_devices) {
    violations.Add("cluster.devices",
                   absl::StrCat("must have at most ", limits.max_devices, " elements, has ", cluster.devices.size()));
    return;
  }
  NameRules class_names("cluster.device_classes", cluster.device_classes.size(), limits.max_name_bytes, violations);
  for (std::size_t i = 0; i < cluster.device_classes.size(); ++i) {
    class_names.Check(cluster.device_classes[i].name, i);
    CheckDeviceClass(cluster.device_classes[i], i, violations);
  }
  NameRules device_names("cluster.devices", cluster.devices.size(), limits.max_name_bytes, violations);
  for (std::size_t i = 0; i < cluster.devices.size(); ++i) {
    InterruptionPoint(/*units=*/32);
    device_names.Check(cluster.devices[i].name, i);
    CheckDevice(cluster, i, violations);
  }
  std::visit(InterconnectValidator(cluster, violations), cluster.interconnect);
}

}  // namespace planwright
