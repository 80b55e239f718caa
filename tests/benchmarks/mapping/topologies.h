// The machines that mappings are measured on, by the names of the tables (docs/benchmarks.md).
#ifndef PLANWRIGHT_TESTS_BENCHMARKS_MAPPING_TOPOLOGIES_H_
#define PLANWRIGHT_TESTS_BENCHMARKS_MAPPING_TOPOLOGIES_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/model/cluster.h"

namespace planwright::benchmarks {

struct MappingTopology {
  Interconnect interconnect;
  // By device; consecutive. Only rules of thumb ask for it.
  std::vector<int32_t> machine_of;
};

// In 10^9 bytes/s, without latency:
//   hier                       nodes of 8: 150 inside, 6 between
//   dgx1                       DGX-1 V100: 50 over two NVLinks, 25 over one, 10 over PCIe, 3 between nodes
//   mesh2, torus2, mesh3, torus3   equal sides; 25 divided by the hops; machines are the rows
//   blk1, blk2, uni            core/topology/built_networks.h
// nullopt: no such machine has this number of devices, or no machine this name.
std::optional<MappingTopology> MakeTopology(std::string_view name, int32_t num_devices, uint64_t seed);

}  // namespace planwright::benchmarks

#endif  // PLANWRIGHT_TESTS_BENCHMARKS_MAPPING_TOPOLOGIES_H_
