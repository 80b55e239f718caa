// The hybrid cube mesh of NVIDIA's DGX-1 with V100 GPUs (NVIDIA DGX-1 With Tesla V100 System Architecture, 2017,
// section 2.2): of the 28 pairs of its 8 GPUs 8 are joined by two NVLinks, 8 by one, and 12 by PCI Express only.
#ifndef PLANWRIGHT_CORE_TOPOLOGY_CUBE_MESH_H_
#define PLANWRIGHT_CORE_TOPOLOGY_CUBE_MESH_H_

#include <cstdint>

#include "core/base/units.h"
#include "core/model/cluster.h"

namespace planwright {

inline constexpr int32_t kCubeMeshDevices = 8;

// Bandwidths and latencies of one direction of a link between two devices.
struct CubeMeshSpeeds {
  // One NVLink; two carry twice that.
  double nvlink_bytes_per_second = 0;
  Picoseconds nvlink_latency{0};
  // Pairs within a machine that no NVLink joins.
  double pcie_bytes_per_second = 0;
  Picoseconds pcie_latency{0};
  // Pairs of devices in two machines.
  double between_bytes_per_second = 0;
  Picoseconds between_latency{0};
};

// `machines` of eight devices each, all machines connected alike. REQUIRES: machines >= 1.
NodesInterconnect CubeMeshes(int32_t machines, const CubeMeshSpeeds& speeds);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_TOPOLOGY_CUBE_MESH_H_
