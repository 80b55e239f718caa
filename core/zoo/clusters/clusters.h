// The clusters of the zoo whose hosts are alike. Numbers are those of the vendors' data sheets or reached in practice,
// as docs/zoo.md says.
//
// Devices are called "host{h}/gpu{g}" ("host0/cpu0" for a CPU) and sit in host "host{h}", host by host.
#ifndef PLANWRIGHT_CORE_ZOO_CLUSTERS_CLUSTERS_H_
#define PLANWRIGHT_CORE_ZOO_CLUSTERS_CLUSTERS_H_

#include <cstdint>
#include <string>

#include "core/model/cluster.h"
#include "core/zoo/clusters/cluster_parts.h"
#include "core/zoo/keys/keys.h"

namespace planwright {

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

// DGX-1 with their hybrid cube mesh (core/topology/cube_mesh.h): `nodes`.
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

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_CLUSTERS_CLUSTERS_H_
