#include "core/topology/built_networks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "core/base/index.h"
#include "core/base/random.h"

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

constexpr int32_t kEqualBlock = 8;
constexpr int64_t kSmallestBlock = 2;
constexpr int64_t kLargestBlock = 16;

double Uniform(double low, double high, RandomStream& random) { return low + (high - low) * random.Unit(); }

double LogUniform(double low, double high, RandomStream& random) {
  return std::exp(Uniform(std::log(low), std::log(high), random));
}

// 10^9 bytes/s, rounded to 0.01, as bytes/s.
double BytesPerSecond(double gigabytes) { return std::round(gigabytes * 100) * 1e7; }

std::vector<int32_t> DrawBlocks(RandomFamily family, int32_t num_devices, RandomStream& random) {
  std::vector<int32_t> block_of;
  for (int32_t block = 0; block_of.size() < Index(num_devices); ++block) {
    int64_t size = num_devices;
    if (family == RandomFamily::kBlocksAlike) size = kEqualBlock;
    if (family == RandomFamily::kBlocksVaried) size = random.Between(kSmallestBlock, kLargestBlock);
    block_of.resize(std::min(block_of.size() + static_cast<std::size_t>(size), Index(num_devices)), block);
  }
  return block_of;
}

// Returns a row-major matrix of the bandwidth between every two blocks, in 10^9 bytes/s; uniform_dist does not use it.
std::vector<double> DrawBlockSpeeds(RandomFamily family, std::size_t blocks, RandomStream& random) {
  const bool alike = family == RandomFamily::kBlocksAlike;
  std::vector<double> speeds(blocks * blocks);
  for (std::size_t a = 0; a < blocks; ++a) {
    speeds[a * blocks + a] = alike ? Uniform(20, 100, random) : LogUniform(10, 200, random);
    for (std::size_t b = a + 1; b < blocks; ++b) {
      speeds[a * blocks + b] = alike ? Uniform(2, 20, random) : LogUniform(0.5, 25, random);
    }
  }
  return speeds;
}

double DrawPairSpeed(RandomFamily family, double block_speed, RandomStream& random) {
  switch (family) {
    case RandomFamily::kBlocksAlike:
      return block_speed;
    case RandomFamily::kBlocksVaried:
      return block_speed * Uniform(0.8, 1.2, random);
    case RandomFamily::kUniform:
      return Uniform(1, 100, random);
  }
  return 0;
}

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

RandomTopology MakeRandomTopology(RandomFamily family, int32_t num_devices, uint64_t seed) {
  RandomStream random(seed);
  RandomTopology topology;
  topology.block_of = DrawBlocks(family, num_devices, random);
  const std::size_t blocks = Index(topology.block_of.back()) + 1;
  const std::vector<double> block_speeds = DrawBlockSpeeds(family, blocks, random);
  const std::size_t devices = Index(num_devices);
  std::vector<double>& bandwidth = topology.interconnect.bandwidth_bytes_per_second;
  bandwidth.resize(devices * devices);
  for (std::size_t a = 0; a < devices; ++a) {
    for (std::size_t b = a + 1; b < devices; ++b) {
      const double block_speed = block_speeds[Index(topology.block_of[a]) * blocks + Index(topology.block_of[b])];
      const double speed = BytesPerSecond(DrawPairSpeed(family, block_speed, random));
      bandwidth[a * devices + b] = speed;
      bandwidth[b * devices + a] = speed;
    }
  }
  return topology;
}

}  // namespace planwright
