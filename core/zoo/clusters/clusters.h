// The clusters of the zoo: machines whose hosts are alike, and those that are named after their network: meshes, tori,
// fat trees, dragonflies, and those without any structure. Numbers are those of the vendors' data sheets or reached in
// practice, as docs/zoo.md says.
//
// Devices are called "host{h}/gpu{g}" ("host0/cpu0" for a CPU) and sit in host "host{h}", host by host. In meshes, tori
// and random networks every device is a host of its own.
#ifndef PLANWRIGHT_CORE_ZOO_CLUSTERS_CLUSTERS_H_
#define PLANWRIGHT_CORE_ZOO_CLUSTERS_CLUSTERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/units.h"
#include "core/model/cluster.h"
#include "core/topology/built_networks.h"
#include "core/zoo/keys/keys.h"

namespace planwright {

// What the clusters of the zoo are made of.
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

// Nodes alike of accelerators alike. One node, or a network between nodes that is like the one inside: `uniform`. Else
// a `hierarchy`.
struct NodesConfig {
  AcceleratorConfig accelerator = {};
  // How many a node has.
  int64_t devices = 8;
  // Pairs in the same node and in two nodes.
  LinkConfig inside = {.gb = 240, .us = 5};
  LinkConfig between = {.gb = 24, .us = 10};
};

// One host with a Xeon Gold 6248 and accelerators on PCI Express: `host_staged`.
struct PcieConfig {
  AcceleratorConfig accelerator = {};
  LinkConfig host = {.gb = 12, .us = 10};
};

// DGX-1 with their hybrid cube mesh (core/topology/built_networks.h): `nodes`.
struct CubeMeshConfig {
  AcceleratorConfig accelerator = {};
  // One NVLink; some pairs have two.
  LinkConfig nvlink = {.gb = 20, .us = 5};
  LinkConfig pcie = {.gb = 12, .us = 10};
  LinkConfig between = {.gb = 12, .us = 10};
};

ZooKeys KeysOf(NodesConfig& config);
ZooKeys KeysOf(PcieConfig& config);
ZooKeys KeysOf(CubeMeshConfig& config);

// Devices of a cluster of `n` nodes, or of one host with `n` accelerators.
int64_t NumDevices(const NodesConfig& config, int64_t n);
int64_t NumDevices(const PcieConfig& config, int64_t n);
int64_t NumDevices(const CubeMeshConfig& config, int64_t n);

// REQUIRES: n >= 1.
Cluster MakeCluster(const std::string& display_name, int n, const NodesConfig& config);
Cluster MakeCluster(const std::string& display_name, int n, const PcieConfig& config);
Cluster MakeCluster(const std::string& display_name, int n, const CubeMeshConfig& config);

// A mesh or torus of N rows, or of N layers of rows: `grid`.
struct GridConfig {
  AcceleratorConfig accelerator = {};
  bool wrap_around = false;
  bool is_cube = false;
  // Devices of a row; cubes: rows of a layer. nullopt: N.
  std::optional<int64_t> width = std::nullopt;
  std::optional<int64_t> height = std::nullopt;
  LinkConfig link = {.gb = 25, .us = 1};
  GridInterconnect::NonAdjacent far = GridInterconnect::NonAdjacent::kDividedByHops;
};

// N pods of racks of nodes of devices: `hierarchy`. Every tier of switches above the racks divides the bandwidth of a
// pair by `taper` (1: full bisection) and adds the latency of the way to it and back.
struct FatTreeConfig {
  AcceleratorConfig accelerator = {};
  // Devices of a node, nodes of a rack, racks of a pod.
  int64_t devices = 8;
  int64_t nodes = 4;
  int64_t racks = 4;
  LinkConfig inside = {.gb = 240, .us = 5};
  // Between two nodes of one rack.
  LinkConfig rack = {.gb = 24, .us = 10};
  double taper = 1;
  double tier_us = 1;
};

// N groups of routers with devices, any two routers of a group and any two groups joined by a link: `hierarchy`. Two
// groups exchange over the narrowest of two local links and a global one (Kim, Dally, Scott, Abts 2008, minimal
// routes).
struct DragonflyConfig {
  AcceleratorConfig accelerator = {};
  // Devices of a router, routers of a group.
  int64_t devices = 4;
  int64_t routers = 8;
  // From device to device through their router; what each link between routers of a group, and between groups, adds.
  LinkConfig router = {.gb = 24, .us = 1};
  LinkConfig local = {.gb = 24, .us = 1};
  LinkConfig global = {.gb = 12, .us = 2};
};

// N devices whose pairs are connected at random (core/topology/built_networks.h): `matrix`.
struct RandomConfig {
  AcceleratorConfig accelerator = {};
  RandomFamily family = RandomFamily::kUniform;
  int64_t seed = 1;
};

ZooKeys KeysOf(RandomConfig& config);
ZooKeys KeysOf(GridConfig& config);
ZooKeys KeysOf(FatTreeConfig& config);
ZooKeys KeysOf(DragonflyConfig& config);

// Saturates. RandomConfig: more than a matrix takes count as too many.
int64_t NumDevices(const RandomConfig& config, int64_t n);
int64_t NumDevices(const GridConfig& config, int64_t n);
int64_t NumDevices(const FatTreeConfig& config, int64_t n);
int64_t NumDevices(const DragonflyConfig& config, int64_t n);

// REQUIRES: n >= 1.
Cluster MakeCluster(const std::string& display_name, int n, const RandomConfig& config);
Cluster MakeCluster(const std::string& display_name, int n, const GridConfig& config);
Cluster MakeCluster(const std::string& display_name, int n, const FatTreeConfig& config);
Cluster MakeCluster(const std::string& display_name, int n, const DragonflyConfig& config);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_CLUSTERS_CLUSTERS_H_
