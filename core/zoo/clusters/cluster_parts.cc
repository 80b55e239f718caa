#include "core/zoo/clusters/cluster_parts.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/known.h"
#include "core/base/strings.h"
#include "core/base/units.h"

namespace planwright {
namespace {

constexpr double kTera = 1e12;

}  // namespace

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
