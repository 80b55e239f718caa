// The clusters of the zoo. Numbers are those of the vendors' data sheets or reached in practice, as docs/zoo.md says.
//
// Devices are called "host{h}/gpu{g}" ("host0/cpu0" for a CPU) and sit in host "host{h}", host by host.
#ifndef PLANWRIGHT_CORE_ZOO_CLUSTERS_H_
#define PLANWRIGHT_CORE_ZOO_CLUSTERS_H_

#include <cstdint>
#include <string>

#include "core/model/cluster.h"
#include "core/zoo/keys.h"

namespace planwright {

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

// Nodes alike of accelerators alike. One node, or a network between nodes that is like the one inside: `uniform`. Else
// a `hierarchy`.
struct NodesConfig {
  AcceleratorConfig accelerator;
  // Of a node.
  int64_t devices = 8;
  // For one direction of one pair, in 10^9 bytes/s, in the same node and in two nodes.
  double inside_gb = 240;
  double between_gb = 24;
  double inside_us = 5;
  double between_us = 10;
};

// One host with a Xeon Gold 6248 and accelerators on PCI Express: `host_staged`.
struct PcieConfig {
  AcceleratorConfig accelerator;
  double host_gb = 12;
  double host_us = 10;
};

ZooKeys KeysOf(NodesConfig& config);
ZooKeys KeysOf(PcieConfig& config);

// Devices of a cluster: fixed + n x per_n.
struct DeviceCount {
  int64_t fixed = 0;
  int64_t per_n = 1;
};
DeviceCount DevicesOf(const NodesConfig& config);
DeviceCount DevicesOf(const PcieConfig& config);

// `n` nodes, or one host with `n` accelerators. REQUIRES: n >= 1.
Cluster MakeCluster(const std::string& display_name, int n, const NodesConfig& config);
Cluster MakeCluster(const std::string& display_name, int n, const PcieConfig& config);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_CLUSTERS_H_
