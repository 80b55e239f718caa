#include "core/zoo/clusters.h"

#include <chrono>
#include <cmath>
#include <string>
#include <string_view>

#include "core/base/units.h"

namespace planwright {
namespace {

constexpr double kGiB = int64_t{1} << 30;
constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;
constexpr int64_t kMaxDevicesPerNode = 16'384;

// REQUIRES: within the domain of the keys, which is far from what picoseconds can hold.
Picoseconds FromMicroseconds(double microseconds) { return FromMilliseconds(microseconds / 1'000).value(); }

DeviceClass ClassOf(const AcceleratorConfig& config) {
  return {.name = config.name,
          .kind = DeviceKind::kAccelerator,
          .memory_bytes = std::llround(config.memory_gib * kGiB),
          .peak_flops = config.peak_tflops * kTera,
          .compute_efficiency = config.compute_efficiency,
          .memory_bandwidth_bytes_per_second = config.memory_bandwidth_gb * kGiga,
          .kernel_overhead = FromMicroseconds(config.kernel_overhead_us)};
}

DeviceClass XeonGold6248() {
  return {.name = "xeon-gold-6248",
          .kind = DeviceKind::kCpu,
          .memory_bytes = std::nullopt,
          .peak_flops = 3.2e12,
          .compute_efficiency = 0.5,
          .memory_bandwidth_bytes_per_second = 140.8e9,
          .kernel_overhead = std::chrono::microseconds(1)};
}

void AddAcceleratorKeys(AcceleratorConfig& config, ZooKeys& keys) {
  keys.AddReal("memory_gib", 0.001, 1e6, config.memory_gib);
  keys.AddReal("peak_tflops", 0.001, 1e6, config.peak_tflops);
  keys.AddReal("memory_bandwidth_gb", 0.001, 1e6, config.memory_bandwidth_gb);
  keys.AddReal("compute_efficiency", 0.001, 1, config.compute_efficiency);
  keys.AddReal("kernel_overhead_us", 0, 1e6, config.kernel_overhead_us);
}

void AddLinkKeys(std::string_view bandwidth_key, double& bandwidth_gb, std::string_view latency_key, double& latency_us,
                 ZooKeys& keys) {
  keys.AddReal(bandwidth_key, 0.001, 1e6, bandwidth_gb);
  keys.AddReal(latency_key, 0, 1e6, latency_us);
}

std::string HostName(int host) { return "host" + std::to_string(host); }

void AddDevices(int host, std::string_view prefix, int64_t count, DeviceClassId device_class, Cluster& cluster) {
  for (int64_t i = 0; i < count; ++i) {
    Device& device = cluster.devices.emplace_back();
    device.host = HostName(host);
    device.name = device.host + "/" + std::string(prefix) + std::to_string(i);
    device.device_class = device_class;
  }
}

Interconnect ConnectNodes(int nodes, const NodesConfig& config) {
  const double inside = config.inside_gb * kGiga;
  const Picoseconds inside_latency = FromMicroseconds(config.inside_us);
  const bool is_flat = config.between_gb == config.inside_gb && config.between_us == config.inside_us;
  if (nodes == 1 || is_flat)
    return UniformInterconnect{.bandwidth_bytes_per_second = inside, .latency = inside_latency};
  return HierarchyInterconnect{.levels = {{.fan_out = static_cast<int32_t>(config.devices),
                                           .bandwidth_bytes_per_second = inside,
                                           .latency = inside_latency},
                                          {.fan_out = nodes,
                                           .bandwidth_bytes_per_second = config.between_gb * kGiga,
                                           .latency = FromMicroseconds(config.between_us)}}};
}

}  // namespace

ZooKeys KeysOf(NodesConfig& config) {
  ZooKeys keys;
  keys.AddWhole("devices", 1, kMaxDevicesPerNode, config.devices);
  AddAcceleratorKeys(config.accelerator, keys);
  AddLinkKeys("inside_gb", config.inside_gb, "inside_us", config.inside_us, keys);
  AddLinkKeys("between_gb", config.between_gb, "between_us", config.between_us, keys);
  return keys;
}

ZooKeys KeysOf(PcieConfig& config) {
  ZooKeys keys;
  AddAcceleratorKeys(config.accelerator, keys);
  AddLinkKeys("host_gb", config.host_gb, "host_us", config.host_us, keys);
  return keys;
}

DeviceCount DevicesOf(const NodesConfig& config) { return {.fixed = 0, .per_n = config.devices}; }
DeviceCount DevicesOf(const PcieConfig& /*config*/) { return {.fixed = 1, .per_n = 1}; }

Cluster MakeCluster(const std::string& display_name, int n, const NodesConfig& config) {
  Cluster cluster;
  cluster.display_name = display_name;
  cluster.device_classes = {ClassOf(config.accelerator)};
  for (int node = 0; node < n; ++node) AddDevices(node, "gpu", config.devices, DeviceClassId(0), cluster);
  cluster.interconnect = ConnectNodes(n, config);
  return cluster;
}

Cluster MakeCluster(const std::string& display_name, int n, const PcieConfig& config) {
  Cluster cluster;
  cluster.display_name = display_name;
  cluster.device_classes = {ClassOf(config.accelerator), XeonGold6248()};
  AddDevices(0, "gpu", n, DeviceClassId(0), cluster);
  AddDevices(0, "cpu", 1, DeviceClassId(1), cluster);
  cluster.interconnect = HostStagedInterconnect{.bandwidth_bytes_per_second = config.host_gb * kGiga,
                                                .latency = FromMicroseconds(config.host_us)};
  return cluster;
}

}  // namespace planwright
