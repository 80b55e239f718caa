#include "tests/benchmarks/mapping/topologies.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "core/topology/built_networks.h"

namespace planwright::benchmarks {
namespace {

constexpr double kGigabyte = 1e9;
constexpr int32_t kNode = 8;
constexpr double kLinkSpeed = 25 * kGigabyte;

std::vector<int32_t> MachinesOf(int32_t size, int32_t num_devices) {
  std::vector<int32_t> machine_of;
  for (int32_t device = 0; device < num_devices; ++device) machine_of.push_back(device / size);
  return machine_of;
}

MappingTopology Hierarchy(int32_t num_devices) {
  return {HierarchyInterconnect{{{.fan_out = kNode, .bandwidth_bytes_per_second = 150 * kGigabyte},
                                 {.fan_out = num_devices / kNode, .bandwidth_bytes_per_second = 6 * kGigabyte}}},
          MachinesOf(kNode, num_devices)};
}

MappingTopology CubeMesh(int32_t num_devices) {
  return {CubeMeshes(num_devices / kCubeMeshDevices, {.nvlink_bytes_per_second = kLinkSpeed,
                                                      .pcie_bytes_per_second = 10 * kGigabyte,
                                                      .between_bytes_per_second = 3 * kGigabyte}),
          MachinesOf(kCubeMeshDevices, num_devices)};
}

std::optional<MappingTopology> Grid(int dimensions, bool wrap_around, int32_t num_devices) {
  const auto side = static_cast<int32_t>(std::lround(std::pow(num_devices, 1.0 / dimensions)));
  GridInterconnect grid{.dimensions = std::vector<int32_t>(static_cast<std::size_t>(dimensions), side),
                        .wrap_around = wrap_around,
                        .link_bandwidth_bytes_per_second = kLinkSpeed,
                        .non_adjacent = GridInterconnect::NonAdjacent::kDividedByHops};
  int32_t devices = 1;
  for (const int32_t size : grid.dimensions) devices *= size;
  if (devices != num_devices) return std::nullopt;
  return MappingTopology{std::move(grid), MachinesOf(side, num_devices)};
}

MappingTopology Random(RandomFamily family, int32_t num_devices, uint64_t seed) {
  RandomTopology topology = MakeRandomTopology(family, num_devices, seed);
  return {std::move(topology.interconnect), std::move(topology.block_of)};
}

}  // namespace

std::optional<MappingTopology> MakeTopology(std::string_view name, int32_t num_devices, uint64_t seed) {
  const bool has_nodes = num_devices % kNode == 0;
  if (name == "hier" && has_nodes) return Hierarchy(num_devices);
  if (name == "dgx1" && has_nodes) return CubeMesh(num_devices);
  if (name == "mesh2") return Grid(2, false, num_devices);
  if (name == "torus2") return Grid(2, true, num_devices);
  if (name == "mesh3") return Grid(3, false, num_devices);
  if (name == "torus3") return Grid(3, true, num_devices);
  if (name == "blk1") return Random(RandomFamily::kBlocksAlike, num_devices, seed);
  if (name == "blk2") return Random(RandomFamily::kBlocksVaried, num_devices, seed);
  if (name == "uni") return Random(RandomFamily::kUniform, num_devices, seed);
  return std::nullopt;
}

}  // namespace planwright::benchmarks
