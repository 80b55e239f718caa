#include "server/codec/cluster.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <array>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/joint/cost/training_efficiency.h"
#include "server/codec/scalars.h"

namespace planwright::server {
namespace {

constexpr char kADevice[] = "a device of the cluster";

// Numbers of a class's training, which have the names of their fields on the wire.
struct EfficiencyField {
  const char* name;
  double TrainingEfficiency::*member;
};
constexpr auto kEfficiencyFields =
    std::to_array<EfficiencyField>({{"products", &TrainingEfficiency::products},
                                    {"half_extent", &TrainingEfficiency::half_extent},
                                    {"attention", &TrainingEfficiency::attention},
                                    {"eight_bit_gain", &TrainingEfficiency::eight_bit_gain},
                                    {"memory", &TrainingEfficiency::memory},
                                    {"network", &TrainingEfficiency::network},
                                    {"hidden_in_layers", &TrainingEfficiency::hidden_in_layers},
                                    {"hidden_among_data", &TrainingEfficiency::hidden_among_data},
                                    {"hidden_at_step_end", &TrainingEfficiency::hidden_at_step_end}});

const google::protobuf::FieldDescriptor* FieldNamed(const EfficiencyField& field) {
  return v1::TrainingEfficiency::descriptor()->FindFieldByName(field.name);
}

TrainingEfficiency DecodeEfficiency(const v1::TrainingEfficiency& wire, const std::string& class_name,
                                    const FieldPath& path, Violations& violations) {
  TrainingEfficiency efficiency = BuiltInEfficiency(class_name).value_or(TrainingEfficiency{});
  for (const EfficiencyField& field : kEfficiencyFields) {
    const google::protobuf::Reflection& reflection = *v1::TrainingEfficiency::GetReflection();
    if (reflection.HasField(wire, FieldNamed(field))) {
      efficiency.*field.member = reflection.GetDouble(wire, FieldNamed(field));
    }
  }
  if (wire.has_launch_ms()) efficiency.launch = DecodeTime(wire.launch_ms(), path.Field("launch_ms"), violations);
  return efficiency;
}

void EncodeEfficiency(const TrainingEfficiency& efficiency, v1::TrainingEfficiency& wire) {
  for (const EfficiencyField& field : kEfficiencyFields) {
    v1::TrainingEfficiency::GetReflection()->SetDouble(&wire, FieldNamed(field), efficiency.*field.member);
  }
  wire.set_launch_ms(ToMilliseconds(efficiency.launch));
}

DeviceClass DecodeClass(const v1::DeviceClass& wire, const FieldPath& path, Violations& violations) {
  DeviceClass device_class;
  device_class.name = wire.name();
  device_class.kind = DecodeEnum(wire.kind(), path.Field("kind"), violations);
  device_class.memory_bytes = PLANWRIGHT_OPTIONAL_FIELD(wire, memory_bytes);
  device_class.peak_flops = wire.peak_flops();
  if (wire.has_compute_efficiency()) device_class.compute_efficiency = wire.compute_efficiency();
  device_class.memory_bandwidth_bytes_per_second = wire.memory_bandwidth_bytes_per_second();
  device_class.kernel_overhead = DecodeTime(wire.kernel_overhead_ms(), path.Field("kernel_overhead_ms"), violations);
  if (wire.has_training()) {
    device_class.training = DecodeEfficiency(wire.training(), wire.name(), path.Field("training"), violations);
  }
  return device_class;
}

// Collects the devices of a cluster, listed ones and groups.
class DeviceDecoder {
 public:
  DeviceDecoder(const v1::Cluster& wire, int64_t max_devices, Violations& violations)
      : max_devices_(max_devices),
        violations_(violations),
        classes_(static_cast<std::size_t>(wire.device_classes_size())) {
    for (const v1::DeviceClass& device_class : wire.device_classes()) classes_.Add(device_class.name());
  }

  void AddDevice(const v1::Device& wire, const FieldPath& path) {
    Device device;
    device.name = wire.name();
    device.device_class = ResolveClass(wire.device_class(), path);
    device.host = wire.host();
    device.labels.insert(wire.labels().begin(), wire.labels().end());
    device.reserved_memory_bytes = wire.reserved_memory_bytes();
    names_.insert(device.name);
    devices_.push_back(std::move(device));
  }

  void AddGroup(const v1::DeviceGroup& wire, const FieldPath& path) {
    const DeviceClassId device_class = ResolveClass(wire.device_class(), path);
    if (!CheckGroupSize(wire, path)) return;
    const int devices_per_host = wire.hosts_size() == 0 ? wire.count() : wire.count() / wire.hosts_size();
    for (int i = 0; i < wire.count(); ++i) {
      Device device;
      device.name = absl::StrCat(wire.name_prefix(), i);
      device.device_class = device_class;
      if (wire.hosts_size() > 0) device.host = wire.hosts(i / devices_per_host);
      if (!names_.insert(device.name).second) {
        violations_.Add(path.Field("name_prefix").ToString(), absl::StrCat("makes a second \"", device.name, "\""));
        return;
      }
      devices_.push_back(std::move(device));
    }
  }

  std::vector<Device> Take() && { return std::move(devices_); }

 private:
  DeviceClassId ResolveClass(const std::string& name, const FieldPath& path) {
    return classes_.Resolve(name, "a device class of the cluster", path.Field("device_class"), violations_)
        .value_or(DeviceClassId());
  }

  bool CheckGroupSize(const v1::DeviceGroup& wire, const FieldPath& path) {
    const std::string count_path = path.Field("count").ToString();
    if (wire.count() < 1) {
      violations_.Add(count_path, absl::StrCat("must be >= 1, is ", wire.count()));
      return false;
    }
    if (wire.hosts_size() > 0 && wire.count() % wire.hosts_size() != 0) {
      violations_.Add(count_path, absl::StrCat("must be a multiple of the number of hosts (", wire.hosts_size(),
                                               "), is ", wire.count()));
      return false;
    }
    const int64_t total = static_cast<int64_t>(devices_.size()) + wire.count();
    if (total > max_devices_) {
      violations_.Add(count_path, absl::StrCat("makes ", total, " devices, the limit is ", max_devices_));
      return false;
    }
    return true;
  }

  int64_t max_devices_;
  Violations& violations_;
  NameIndex<DeviceClassId> classes_;
  std::vector<Device> devices_;
  absl::flat_hash_set<std::string> names_;
};

std::vector<Device> DecodeDevices(const v1::Cluster& wire, const FieldPath& path, int64_t max_devices,
                                  Violations& violations) {
  DeviceDecoder decoder(wire, max_devices, violations);
  for (int i = 0; i < wire.devices_size(); ++i) decoder.AddDevice(wire.devices(i), path.Element("devices", i));
  for (int i = 0; i < wire.device_groups_size(); ++i) {
    decoder.AddGroup(wire.device_groups(i), path.Element("device_groups", i));
  }
  return std::move(decoder).Take();
}

template <typename Core, typename Wire>
Core DecodeSharedBandwidth(const Wire& wire, const FieldPath& path, Violations& violations) {
  Core core;
  core.bandwidth_bytes_per_second = PLANWRIGHT_OPTIONAL_FIELD(wire, bandwidth_bytes_per_second);
  core.latency = DecodeTime(wire.latency_ms(), path.Field("latency_ms"), violations);
  return core;
}

// Reads the levels of a tree of devices or of machines.
template <typename Wire>
std::vector<HierarchyInterconnect::Level> DecodeLevels(const Wire& wire, const FieldPath& path,
                                                       Violations& violations) {
  std::vector<HierarchyInterconnect::Level> levels;
  for (int i = 0; i < wire.levels_size(); ++i) {
    const v1::Interconnect::Hierarchy::Level& level = wire.levels(i);
    levels.push_back(
        {.fan_out = level.fan_out(),
         .bandwidth_bytes_per_second = level.bandwidth_bytes_per_second(),
         .latency = DecodeTime(level.latency_ms(), path.Element("levels", i).Field("latency_ms"), violations),
         .port_bandwidth_bytes_per_second = PLANWRIGHT_OPTIONAL_FIELD(level, port_bandwidth_bytes_per_second)});
  }
  return levels;
}

GridInterconnect DecodeGrid(const v1::Interconnect::Grid& wire, const FieldPath& path, Violations& violations) {
  GridInterconnect grid;
  grid.dimensions.assign(wire.dimensions().begin(), wire.dimensions().end());
  grid.wrap_around = wire.wrap_around();
  grid.link_bandwidth_bytes_per_second = wire.link_bandwidth_bytes_per_second();
  grid.latency = DecodeTime(wire.latency_ms(), path.Field("latency_ms"), violations);
  grid.non_adjacent = DecodeEnum(wire.non_adjacent(), path.Field("non_adjacent"), violations);
  return grid;
}

LinksInterconnect DecodeLinks(const v1::Interconnect::Links& wire, const std::vector<Device>& devices,
                              const FieldPath& path, Violations& violations) {
  const NameIndex<DeviceId> index = IndexNames<DeviceId>(devices);
  LinksInterconnect links;
  for (int i = 0; i < wire.links_size(); ++i) {
    const v1::Interconnect::Links::Link& link = wire.links(i);
    const FieldPath link_path = path.Element("links", i);
    const auto a = index.Resolve(link.device_a(), kADevice, link_path.Field("device_a"), violations);
    const auto b = index.Resolve(link.device_b(), kADevice, link_path.Field("device_b"), violations);
    const Picoseconds latency = DecodeTime(link.latency_ms(), link_path.Field("latency_ms"), violations);
    if (a.has_value() && b.has_value()) links.links.push_back({*a, *b, link.bandwidth_bytes_per_second(), latency});
  }
  links.routing = DecodeEnum(wire.routing(), path.Field("routing"), violations);
  return links;
}

MatrixInterconnect DecodeMatrix(const v1::Interconnect::Matrix& wire, const FieldPath& path, Violations& violations) {
  MatrixInterconnect matrix;
  matrix.bandwidth_bytes_per_second.assign(wire.bandwidth_bytes_per_second().begin(),
                                           wire.bandwidth_bytes_per_second().end());
  matrix.latency = DecodeTime(wire.latency_ms(), path.Field("latency_ms"), violations);
  return matrix;
}

NodesInterconnect DecodeNodes(const v1::Interconnect::Nodes& wire, const FieldPath& path, Violations& violations) {
  NodesInterconnect nodes;
  nodes.devices_per_node = wire.devices_per_node();
  for (int i = 0; i < wire.links_size(); ++i) {
    const v1::Interconnect::Nodes::Link& link = wire.links(i);
    nodes.links.push_back(
        {.place_a = link.place_a(),
         .place_b = link.place_b(),
         .bandwidth_bytes_per_second = link.bandwidth_bytes_per_second(),
         .latency = DecodeTime(link.latency_ms(), path.Element("links", i).Field("latency_ms"), violations)});
  }
  nodes.bandwidth_bytes_per_second = wire.bandwidth_bytes_per_second();
  nodes.latency = DecodeTime(wire.latency_ms(), path.Field("latency_ms"), violations);
  nodes.levels = DecodeLevels(wire, path, violations);
  return nodes;
}

Interconnect DecodeInterconnect(const v1::Interconnect& wire, const std::vector<Device>& devices, const FieldPath& path,
                                Violations& violations) {
  switch (wire.kind_case()) {
    case v1::Interconnect::kHostStaged:
      return DecodeSharedBandwidth<HostStagedInterconnect>(wire.host_staged(), path.Field("host_staged"), violations);
    case v1::Interconnect::kUniform:
      return DecodeSharedBandwidth<UniformInterconnect>(wire.uniform(), path.Field("uniform"), violations);
    case v1::Interconnect::kHierarchy:
      return HierarchyInterconnect{DecodeLevels(wire.hierarchy(), path.Field("hierarchy"), violations)};
    case v1::Interconnect::kGrid:
      return DecodeGrid(wire.grid(), path.Field("grid"), violations);
    case v1::Interconnect::kLinks:
      return DecodeLinks(wire.links(), devices, path.Field("links"), violations);
    case v1::Interconnect::kMatrix:
      return DecodeMatrix(wire.matrix(), path.Field("matrix"), violations);
    case v1::Interconnect::kNodes:
      return DecodeNodes(wire.nodes(), path.Field("nodes"), violations);
    case v1::Interconnect::KIND_NOT_SET:
      break;
  }
  violations.Add(path.ToString(),
                 "must be one of host_staged, uniform, hierarchy, grid, links, matrix and nodes; none of them is set");
  return HostStagedInterconnect{};
}

void EncodeClass(const DeviceClass& device_class, v1::DeviceClass& wire) {
  wire.set_name(device_class.name);
  wire.set_kind(ToWire(device_class.kind));
  if (device_class.memory_bytes.has_value()) wire.set_memory_bytes(*device_class.memory_bytes);
  wire.set_peak_flops(device_class.peak_flops);
  wire.set_compute_efficiency(device_class.compute_efficiency);
  wire.set_memory_bandwidth_bytes_per_second(device_class.memory_bandwidth_bytes_per_second);
  wire.set_kernel_overhead_ms(ToMilliseconds(device_class.kernel_overhead));
  if (device_class.training.has_value()) EncodeEfficiency(*device_class.training, *wire.mutable_training());
}

void EncodeDevice(const Cluster& cluster, const Device& device, v1::Device& wire) {
  wire.set_name(device.name);
  wire.set_device_class(cluster.class_of(device).name);
  wire.set_host(device.host);
  wire.mutable_labels()->insert(device.labels.begin(), device.labels.end());
  wire.set_reserved_memory_bytes(device.reserved_memory_bytes);
}

// Writes each kind of interconnect into its field.
struct InterconnectEncoder {
  const Cluster& cluster;
  v1::Interconnect& wire;

  template <typename Core, typename Wire>
  static void EncodeSharedBandwidth(const Core& core, Wire& shared) {
    if (core.bandwidth_bytes_per_second.has_value()) {
      shared.set_bandwidth_bytes_per_second(*core.bandwidth_bytes_per_second);
    }
    shared.set_latency_ms(ToMilliseconds(core.latency));
  }

  template <typename Wire>
  static void EncodeLevels(const std::vector<HierarchyInterconnect::Level>& levels, Wire& tree) {
    for (const HierarchyInterconnect::Level& level : levels) {
      v1::Interconnect::Hierarchy::Level& encoded = *tree.add_levels();
      encoded.set_fan_out(level.fan_out);
      encoded.set_bandwidth_bytes_per_second(level.bandwidth_bytes_per_second);
      encoded.set_latency_ms(ToMilliseconds(level.latency));
      if (level.port_bandwidth_bytes_per_second.has_value()) {
        encoded.set_port_bandwidth_bytes_per_second(*level.port_bandwidth_bytes_per_second);
      }
    }
  }

  void operator()(const HostStagedInterconnect& core) const {
    EncodeSharedBandwidth(core, *wire.mutable_host_staged());
  }
  void operator()(const UniformInterconnect& core) const { EncodeSharedBandwidth(core, *wire.mutable_uniform()); }
  void operator()(const HierarchyInterconnect& core) const { EncodeLevels(core.levels, *wire.mutable_hierarchy()); }
  void operator()(const GridInterconnect& core) const {
    v1::Interconnect::Grid& grid = *wire.mutable_grid();
    grid.mutable_dimensions()->Add(core.dimensions.begin(), core.dimensions.end());
    grid.set_wrap_around(core.wrap_around);
    grid.set_link_bandwidth_bytes_per_second(core.link_bandwidth_bytes_per_second);
    grid.set_latency_ms(ToMilliseconds(core.latency));
    grid.set_non_adjacent(ToWire(core.non_adjacent));
  }
  void operator()(const LinksInterconnect& core) const {
    v1::Interconnect::Links& links = *wire.mutable_links();
    for (const LinksInterconnect::Link& link : core.links) {
      v1::Interconnect::Links::Link& encoded = *links.add_links();
      encoded.set_device_a(cluster.devices[link.device_a.index()].name);
      encoded.set_device_b(cluster.devices[link.device_b.index()].name);
      encoded.set_bandwidth_bytes_per_second(link.bandwidth_bytes_per_second);
      encoded.set_latency_ms(ToMilliseconds(link.latency));
    }
    links.set_routing(ToWire(core.routing));
  }
  void operator()(const MatrixInterconnect& core) const {
    v1::Interconnect::Matrix& matrix = *wire.mutable_matrix();
    matrix.mutable_bandwidth_bytes_per_second()->Add(core.bandwidth_bytes_per_second.begin(),
                                                     core.bandwidth_bytes_per_second.end());
    matrix.set_latency_ms(ToMilliseconds(core.latency));
  }
  void operator()(const NodesInterconnect& core) const {
    v1::Interconnect::Nodes& nodes = *wire.mutable_nodes();
    nodes.set_devices_per_node(core.devices_per_node);
    for (const NodesInterconnect::Link& link : core.links) {
      v1::Interconnect::Nodes::Link& encoded = *nodes.add_links();
      encoded.set_place_a(link.place_a);
      encoded.set_place_b(link.place_b);
      encoded.set_bandwidth_bytes_per_second(link.bandwidth_bytes_per_second);
      encoded.set_latency_ms(ToMilliseconds(link.latency));
    }
    nodes.set_bandwidth_bytes_per_second(core.bandwidth_bytes_per_second);
    nodes.set_latency_ms(ToMilliseconds(core.latency));
    EncodeLevels(core.levels, nodes);
  }
};

}  // namespace

Cluster DecodeCluster(const v1::Cluster& wire, int64_t max_devices, Violations& violations) {
  const FieldPath path("cluster");
  Cluster cluster;
  cluster.display_name = wire.display_name();
  for (int i = 0; i < wire.device_classes_size(); ++i) {
    cluster.device_classes.push_back(
        DecodeClass(wire.device_classes(i), path.Element("device_classes", i), violations));
  }
  cluster.devices = DecodeDevices(wire, path, max_devices, violations);
  cluster.interconnect =
      DecodeInterconnect(wire.interconnect(), cluster.devices, path.Field("interconnect"), violations);
  return cluster;
}

v1::Cluster EncodeCluster(const Cluster& cluster) {
  v1::Cluster wire;
  wire.set_display_name(cluster.display_name);
  for (const DeviceClass& device_class : cluster.device_classes) EncodeClass(device_class, *wire.add_device_classes());
  for (const Device& device : cluster.devices) EncodeDevice(cluster, device, *wire.add_devices());
  std::visit(InterconnectEncoder{cluster, *wire.mutable_interconnect()}, cluster.interconnect);
  return wire;
}

}  // namespace planwright::server
