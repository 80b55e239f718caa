#include "core/zoo/clusters.h"

#include <chrono>
#include <string>
#include <string_view>

namespace planwright {
namespace {

using std::chrono::microseconds;

constexpr int64_t kGiB = int64_t{1} << 30;
// Share of the tensor-core peak that matrix kernels reach; see docs/zoo.md.
constexpr double kComputeEfficiency = 0.5;
constexpr microseconds kKernelLaunch(5);
constexpr int kGpusPerDgx = 8;

DeviceClass Gpu(std::string name, int64_t memory_bytes, double peak_flops, double memory_bandwidth) {
  return {.name = std::move(name),
          .kind = DeviceKind::kAccelerator,
          .memory_bytes = memory_bytes,
          .peak_flops = peak_flops,
          .compute_efficiency = kComputeEfficiency,
          .memory_bandwidth_bytes_per_second = memory_bandwidth,
          .kernel_overhead = kKernelLaunch};
}

DeviceClass XeonGold6248() {
  return {.name = "xeon-gold-6248",
          .kind = DeviceKind::kCpu,
          .memory_bytes = std::nullopt,
          .peak_flops = 3.2e12,
          .compute_efficiency = kComputeEfficiency,
          .memory_bandwidth_bytes_per_second = 140.8e9,
          .kernel_overhead = microseconds(1)};
}

std::string HostName(int host) { return "host" + std::to_string(host); }

void AddDevices(int host, std::string_view prefix, int count, DeviceClassId device_class, Cluster& cluster) {
  for (int i = 0; i < count; ++i) {
    Device& device = cluster.devices.emplace_back();
    device.host = HostName(host);
    device.name = device.host + "/" + std::string(prefix) + std::to_string(i);
    device.device_class = device_class;
  }
}

// Bandwidth in bytes per second, one direction of one pair of GPUs.
struct DgxLinks {
  double nvlink = 0;
  double infiniband = 0;
};

Interconnect ConnectDgx(int nodes, const DgxLinks& links) {
  constexpr microseconds kNvlinkLatency(5);
  constexpr microseconds kInfinibandLatency(10);
  if (nodes == 1) return UniformInterconnect{.bandwidth_bytes_per_second = links.nvlink, .latency = kNvlinkLatency};
  return HierarchyInterconnect{
      .levels = {{.fan_out = kGpusPerDgx, .bandwidth_bytes_per_second = links.nvlink, .latency = kNvlinkLatency},
                 {.fan_out = nodes, .bandwidth_bytes_per_second = links.infiniband, .latency = kInfinibandLatency}}};
}

Cluster MakeDgx(std::string_view model, int nodes, DeviceClass gpu, const DgxLinks& links) {
  Cluster cluster;
  cluster.display_name = std::string(model) + ":" + std::to_string(nodes);
  cluster.device_classes = {std::move(gpu)};
  for (int node = 0; node < nodes; ++node) AddDevices(node, "gpu", kGpusPerDgx, DeviceClassId(0), cluster);
  cluster.interconnect = ConnectDgx(nodes, links);
  return cluster;
}

}  // namespace

Cluster MakeDgx1V100(int nodes) {
  return MakeDgx("dgx1-v100", nodes, Gpu("v100-sxm2-32gb", 32 * kGiB, 125e12, 900e9),
                 {.nvlink = 20e9, .infiniband = 12e9});
}

Cluster MakeDgxA100(int nodes) {
  return MakeDgx("dgx-a100", nodes, Gpu("a100-sxm4-80gb", 80 * kGiB, 312e12, 2'039e9),
                 {.nvlink = 240e9, .infiniband = 24e9});
}

Cluster MakePcie(int accelerators) {
  Cluster cluster;
  cluster.display_name = "pcie:" + std::to_string(accelerators);
  cluster.device_classes = {Gpu("v100-pcie-16gb", 16 * kGiB, 112e12, 900e9), XeonGold6248()};
  AddDevices(0, "gpu", accelerators, DeviceClassId(0), cluster);
  AddDevices(0, "cpu", 1, DeviceClassId(1), cluster);
  cluster.interconnect = HostStagedInterconnect{.bandwidth_bytes_per_second = 12e9, .latency = microseconds(10)};
  return cluster;
}

}  // namespace planwright
