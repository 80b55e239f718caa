#include "core/zoo/clusters/clusters.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/known.h"
#include "core/base/strings.h"
#include "core/base/units.h"
#include "core/topology/built_networks.h"

namespace planwright {
namespace {

DeviceClass XeonGold6248() {
  return {.name = "xeon-gold-6248",
          .kind = DeviceKind::kCpu,
          .memory_bytes = std::nullopt,
          .peak_flops = 3.2e12,
          .compute_efficiency = 0.5,
          .memory_bandwidth_bytes_per_second = 140.8e9,
          .kernel_overhead = std::chrono::microseconds(1)};
}

Interconnect ConnectNodes(int nodes, const NodesConfig& config) {
  if (nodes == 1 || config.between == config.inside) {
    return UniformInterconnect{.bandwidth_bytes_per_second = BytesPerSecond(config.inside),
                               .latency = LatencyOf(config.inside)};
  }
  return HierarchyInterconnect{.levels = {LevelOf(config.devices, config.inside), LevelOf(nodes, config.between)}};
}

// What a matrix may join (proto: Interconnect.Matrix).
constexpr int64_t kMaxMatrixDevices = 2'048;

// First dimension fastest.
std::vector<int32_t> DimensionsOf(const GridConfig& config, int64_t n) {
  std::vector<int32_t> dimensions = {static_cast<int32_t>(config.width.value_or(n))};
  if (config.is_cube) dimensions.push_back(static_cast<int32_t>(config.height.value_or(n)));
  dimensions.push_back(static_cast<int32_t>(n));
  return dimensions;
}

int64_t Product(int64_t a, int64_t b, int64_t c) { return SaturatingMultiply(SaturatingMultiply(a, b), c); }

// A way that goes on over `count` links.
LinkConfig Extended(const LinkConfig& way, const LinkConfig& link, int count) {
  return {.gb = std::min(way.gb, link.gb), .us = way.us + count * link.us};
}

constexpr double kTera = 1e12;

}  // namespace

ZooKeys KeysOf(NodesConfig& config) {
  ZooKeys keys;
  keys.AddWhole("devices", 1, kMaxZooDevices, config.devices);
  AddAcceleratorKeys(config.accelerator, keys);
  AddLinkKeys("inside", config.inside, keys);
  AddLinkKeys("between", config.between, keys);
  return keys;
}

ZooKeys KeysOf(PcieConfig& config) {
  ZooKeys keys;
  AddAcceleratorKeys(config.accelerator, keys);
  AddLinkKeys("host", config.host, keys);
  return keys;
}

ZooKeys KeysOf(CubeMeshConfig& config) {
  ZooKeys keys;
  AddAcceleratorKeys(config.accelerator, keys);
  AddLinkKeys("nvlink", config.nvlink, keys);
  AddLinkKeys("pcie", config.pcie, keys);
  AddLinkKeys("between", config.between, keys);
  return keys;
}

int64_t NumDevices(const NodesConfig& config, int64_t n) { return n * config.devices; }
int64_t NumDevices(const PcieConfig& /*config*/, int64_t n) { return n + 1; }
int64_t NumDevices(const CubeMeshConfig& /*config*/, int64_t n) { return n * kCubeMeshDevices; }

Cluster MakeCluster(const std::string& display_name, int n, const NodesConfig& config) {
  Cluster cluster = HostsOf(display_name, config.accelerator, n, config.devices);
  cluster.interconnect = ConnectNodes(n, config);
  return cluster;
}

Cluster MakeCluster(const std::string& display_name, int n, const PcieConfig& config) {
  Cluster cluster = HostsOf(display_name, config.accelerator, 1, n);
  cluster.device_classes.push_back(XeonGold6248());
  AddDevices(0, "cpu", 1, DeviceClassId(1), cluster);
  cluster.interconnect = HostStagedInterconnect{.bandwidth_bytes_per_second = BytesPerSecond(config.host),
                                                .latency = LatencyOf(config.host)};
  return cluster;
}

Cluster MakeCluster(const std::string& display_name, int n, const CubeMeshConfig& config) {
  Cluster cluster = HostsOf(display_name, config.accelerator, n, kCubeMeshDevices);
  cluster.interconnect = CubeMeshes(n, {.nvlink_bytes_per_second = BytesPerSecond(config.nvlink),
                                        .nvlink_latency = LatencyOf(config.nvlink),
                                        .pcie_bytes_per_second = BytesPerSecond(config.pcie),
                                        .pcie_latency = LatencyOf(config.pcie),
                                        .between_bytes_per_second = BytesPerSecond(config.between),
                                        .between_latency = LatencyOf(config.between)});
  return cluster;
}

ZooKeys KeysOf(RandomConfig& config) {
  ZooKeys keys;
  AddAcceleratorKeys(config.accelerator, keys);
  keys.AddWhole("seed", 0, std::numeric_limits<int64_t>::max(), config.seed);
  return keys;
}

ZooKeys KeysOf(GridConfig& config) {
  using NonAdjacent = GridInterconnect::NonAdjacent;
  ZooKeys keys;
  keys.AddWhole("width", 1, kMaxZooDevices, config.width, "N");
  if (config.is_cube) keys.AddWhole("height", 1, kMaxZooDevices, config.height, "N");
  AddAcceleratorKeys(config.accelerator, keys);
  AddLinkKeys("link", config.link, keys);
  keys.AddChoice<NonAdjacent>(
      "far", {{"divided_by_hops", NonAdjacent::kDividedByHops}, {"link_bandwidth", NonAdjacent::kLinkBandwidth}},
      config.far);
  return keys;
}

ZooKeys KeysOf(FatTreeConfig& config) {
  ZooKeys keys;
  keys.AddWhole("devices", 1, kMaxZooDevices, config.devices);
  keys.AddWhole("nodes", 1, kMaxZooDevices, config.nodes);
  keys.AddWhole("racks", 1, kMaxZooDevices, config.racks);
  AddAcceleratorKeys(config.accelerator, keys);
  AddLinkKeys("inside", config.inside, keys);
  AddLinkKeys("rack", config.rack, keys);
  keys.AddReal("taper", 1, 1'000, config.taper);
  keys.AddReal("tier_us", 0, 1e6, config.tier_us);
  return keys;
}

ZooKeys KeysOf(DragonflyConfig& config) {
  ZooKeys keys;
  keys.AddWhole("devices", 1, kMaxZooDevices, config.devices);
  keys.AddWhole("routers", 1, kMaxZooDevices, config.routers);
  AddAcceleratorKeys(config.accelerator, keys);
  AddLinkKeys("router", config.router, keys);
  AddLinkKeys("local", config.local, keys);
  AddLinkKeys("global", config.global, keys);
  return keys;
}

int64_t NumDevices(const RandomConfig& /*config*/, int64_t n) {
  return n <= kMaxMatrixDevices ? n : kMaxZooDevices + 1;
}

int64_t NumDevices(const GridConfig& config, int64_t n) {
  return Product(config.width.value_or(n), config.is_cube ? config.height.value_or(n) : 1, n);
}

int64_t NumDevices(const FatTreeConfig& config, int64_t n) {
  return SaturatingMultiply(Product(config.devices, config.nodes, config.racks), n);
}

int64_t NumDevices(const DragonflyConfig& config, int64_t n) { return Product(config.devices, config.routers, n); }

Cluster MakeCluster(const std::string& display_name, int n, const RandomConfig& config) {
  Cluster cluster = HostsOf(display_name, config.accelerator, n, 1);
  cluster.interconnect = MakeRandomTopology(config.family, n, static_cast<uint64_t>(config.seed)).interconnect;
  return cluster;
}

Cluster MakeCluster(const std::string& display_name, int n, const GridConfig& config) {
  Cluster cluster = HostsOf(display_name, config.accelerator, NumDevices(config, n), 1);
  cluster.interconnect = GridInterconnect{.dimensions = DimensionsOf(config, n),
                                          .wrap_around = config.wrap_around,
                                          .link_bandwidth_bytes_per_second = BytesPerSecond(config.link),
                                          .latency = LatencyOf(config.link),
                                          .non_adjacent = config.far};
  return cluster;
}

Cluster MakeCluster(const std::string& display_name, int n, const FatTreeConfig& config) {
  Cluster cluster = HostsOf(display_name, config.accelerator, config.nodes * config.racks * n, config.devices);
  const auto above = [&](const LinkConfig& below) {
    return LinkConfig{.gb = below.gb / config.taper, .us = below.us + 2 * config.tier_us};
  };
  const LinkConfig pod = above(config.rack);
  cluster.interconnect =
      HierarchyInterconnect{.levels = {LevelOf(config.devices, config.inside), LevelOf(config.nodes, config.rack),
                                       LevelOf(config.racks, pod), LevelOf(n, above(pod))}};
  return cluster;
}

Cluster MakeCluster(const std::string& display_name, int n, const DragonflyConfig& config) {
  Cluster cluster = HostsOf(display_name, config.accelerator, config.routers * n, config.devices);
  const LinkConfig in_group = Extended(config.router, config.local, 1);
  const LinkConfig between_groups = Extended(Extended(config.router, config.local, 2), config.global, 1);
  cluster.interconnect =
      HierarchyInterconnect{.levels = {LevelOf(config.devices, config.router), LevelOf(config.routers, in_group),
                                       LevelOf(n, between_groups)}};
  return cluster;
}

DeviceClass ClassOf(const AcceleratorConfig& config) {
  return {.name = config.name,
          .kind = DeviceKind::kAccelerator,
          .memory_bytes = std::llround(config.memory_gib * kGiB),
          .peak_flops = config.peak_tflops * kTera,
          .compute_efficiency = config.compute_efficiency,
          .memory_bandwidth_bytes_per_second = config.memory_bandwidth_gb * kGiga,
          .kernel_overhead = FromMicroseconds(config.kernel_overhead_us)};
}

void AddAcceleratorKeys(AcceleratorConfig& config, ZooKeys& keys) {
  keys.AddReal("memory_gib", 0.001, 1e6, config.memory_gib);
  keys.AddReal("peak_tflops", 0.001, 1e6, config.peak_tflops);
  keys.AddReal("memory_bandwidth_gb", 0.001, 1e6, config.memory_bandwidth_gb);
  keys.AddReal("compute_efficiency", 0.001, 1, config.compute_efficiency);
  keys.AddReal("kernel_overhead_us", 0, 1e6, config.kernel_overhead_us);
}

double BytesPerSecond(const LinkConfig& link) { return link.gb * kGiga; }

Picoseconds LatencyOf(const LinkConfig& link) { return FromMicroseconds(link.us); }

HierarchyInterconnect::Level LevelOf(int64_t fan_out, const LinkConfig& link) {
  return {.fan_out = static_cast<int32_t>(fan_out),
          .bandwidth_bytes_per_second = BytesPerSecond(link),
          .latency = LatencyOf(link)};
}

void AddLinkKeys(std::string_view name, LinkConfig& link, ZooKeys& keys) {
  keys.AddReal(absl::StrCat(ToAbsl(name), "_gb"), 0.001, 1e6, link.gb);
  keys.AddReal(absl::StrCat(ToAbsl(name), "_us"), 0, 1e6, link.us);
}

Picoseconds FromMicroseconds(double microseconds) { return Known(FromMilliseconds(microseconds / 1'000)); }

void AddDevices(int64_t host, std::string_view prefix, int64_t count, DeviceClassId device_class, Cluster& cluster) {
  for (int64_t i = 0; i < count; ++i) {
    Device& device = cluster.devices.emplace_back();
    device.host = absl::StrCat("host", host);
    device.name = absl::StrCat(device.host, "/", ToAbsl(prefix), i);
    device.device_class = device_class;
  }
}

Cluster HostsOf(const std::string& display_name, const AcceleratorConfig& accelerator, int64_t hosts, int64_t devices) {
  Cluster cluster;
  cluster.display_name = display_name;
  cluster.device_classes = {ClassOf(accelerator)};
  for (int64_t host = 0; host < hosts; ++host) AddDevices(host, "gpu", devices, DeviceClassId(0), cluster);
  return cluster;
}

}  // namespace planwright
