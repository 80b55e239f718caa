// Networks that are built: by a rule, or at random.
#ifndef PLANWRIGHT_CORE_TOPOLOGY_BUILT_NETWORKS_H_
#define PLANWRIGHT_CORE_TOPOLOGY_BUILT_NETWORKS_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/model/cluster.h"

namespace planwright {

// The hybrid cube mesh of NVIDIA's DGX-1 with V100 GPUs (NVIDIA DGX-1 With Tesla V100 System Architecture, 2017,
// section 2.2): of the 28 pairs of its 8 GPUs 8 are joined by two NVLinks, 8 by one, and 12 by PCI Express only.
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

// Random interconnects, for which no structure says where stages belong: the three families of Parmesan's Table 2.
//
// The paper's Appendix I with its numbers is not public; these are the ranges of our own choice. Bandwidths are 10^9
// bytes/s, rounded to 0.01, alike in both directions, without latency; U[a, b] is uniform, logU[a, b] uniform in the
// logarithm:
//   random_blk_1  blocks of 8 devices; inside a block U[20, 100], the same for all its pairs; between two blocks
//                 U[2, 20], the same for all their pairs
//   random_blk_2  blocks of 2 .. 16 devices; inside a block logU[10, 200], between two blocks logU[0.5, 25], and each
//                 pair of devices times U[0.8, 1.2]
//   uniform_dist  every pair U[1, 100]
// The last block is cut off where the devices end.
enum class RandomFamily { kBlocksAlike, kBlocksVaried, kUniform };

struct RandomTopology {
  MatrixInterconnect interconnect;
  // By device; consecutive. uniform_dist: all devices are of block 0.
  std::vector<int32_t> block_of;
};

// Depends on the arguments alone. REQUIRES: num_devices >= 1. Complexity O(num_devices^2).
RandomTopology MakeRandomTopology(RandomFamily family, int32_t num_devices, uint64_t seed);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_TOPOLOGY_BUILT_NETWORKS_H_
