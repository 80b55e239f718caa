#include "core/zoo/clusters/clusters.h"

#include <chrono>
#include <string>

#include "core/topology/cube_mesh.h"

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

}  // namespace planwright
