#include "core/topology/cube_mesh.h"

#include <array>

namespace planwright {
namespace {

struct Pair {
  int32_t place_a = 0;
  int32_t place_b = 0;
  int nvlinks = 0;
};

// Two rings of four (0 to 3, 4 to 7) with their diagonals, joined place by place: every GPU has six NVLinks.
constexpr std::array<Pair, 16> kPairs = {{{0, 1, 1},
                                          {0, 2, 1},
                                          {0, 3, 2},
                                          {0, 4, 2},
                                          {1, 2, 2},
                                          {1, 3, 1},
                                          {1, 5, 2},
                                          {2, 3, 2},
                                          {2, 6, 1},
                                          {3, 7, 1},
                                          {4, 5, 1},
                                          {4, 6, 1},
                                          {4, 7, 2},
                                          {5, 6, 2},
                                          {5, 7, 1},
                                          {6, 7, 2}}};

}  // namespace

NodesInterconnect CubeMeshes(int32_t machines, const CubeMeshSpeeds& speeds) {
  NodesInterconnect nodes{.devices_per_node = kCubeMeshDevices,
                          .links = {},
                          .bandwidth_bytes_per_second = speeds.pcie_bytes_per_second,
                          .latency = speeds.pcie_latency,
                          .levels = {}};
  for (const Pair& pair : kPairs) {
    nodes.links.push_back(
        {pair.place_a, pair.place_b, pair.nvlinks * speeds.nvlink_bytes_per_second, speeds.nvlink_latency});
  }
  if (machines > 1) nodes.levels.push_back({machines, speeds.between_bytes_per_second, speeds.between_latency});
  return nodes;
}

}  // namespace planwright
