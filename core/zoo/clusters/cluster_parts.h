// What the clusters of the zoo are made of.
#ifndef PLANWRIGHT_CORE_ZOO_CLUSTERS_CLUSTER_PARTS_H_
#define PLANWRIGHT_CORE_ZOO_CLUSTERS_CLUSTER_PARTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/units.h"
#include "core/model/cluster.h"
#include "core/zoo/keys/keys.h"

namespace planwright {

inline constexpr double kGiga = 1e9;

// The most devices of one cluster.
inline constexpr int64_t kMaxZooDevices = 16'384;

// One class of accelerators. Units as the keys have them: 2^30 bytes, 10^12 FLOP/s, 10^9 bytes/s.
struct AcceleratorConfig {
  std::string name = "accelerator";
  double memory_gib = 80;
  double peak_tflops = 312;
  double memory_bandwidth_gb = 2'039;
  // Share of the peak that matrix kernels reach; see docs/zoo.md.
  double compute_efficiency = 0.5;
  double kernel_overhead_us = 5;
};

DeviceClass ClassOf(const AcceleratorConfig& config);
void AddAcceleratorKeys(AcceleratorConfig& config, ZooKeys& keys);

// One direction of one pair: 10^9 bytes/s, microseconds.
struct LinkConfig {
  double gb = 0;
  double us = 0;

  bool operator==(const LinkConfig&) const = default;
};

double BytesPerSecond(const LinkConfig& link);
Picoseconds LatencyOf(const LinkConfig& link);
HierarchyInterconnect::Level LevelOf(int64_t fan_out, const LinkConfig& link);

// Keys "{name}_gb" and "{name}_us".
void AddLinkKeys(std::string_view name, LinkConfig& link, ZooKeys& keys);

// REQUIRES: within the domain of the keys, which is far from what picoseconds can hold.
Picoseconds FromMicroseconds(double microseconds);

// `count` devices of host `host`, called "host{host}/{prefix}{i}".
void AddDevices(int64_t host, std::string_view prefix, int64_t count, DeviceClassId device_class, Cluster& cluster);

// `hosts` hosts with `devices` accelerators each, called "host{h}/gpu{g}", host by host. Without an interconnect.
Cluster HostsOf(const std::string& display_name, const AcceleratorConfig& accelerator, int64_t hosts, int64_t devices);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_CLUSTERS_CLUSTER_PARTS_H_
