// Meshes and tori (docs/cost-model.md section 4; proto: Interconnect.Grid).
#ifndef PLANWRIGHT_CORE_TOPOLOGY_GRID_H_
#define PLANWRIGHT_CORE_TOPOLOGY_GRID_H_

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/model/cluster.h"

namespace planwright {

// Links on a shortest way between two devices: in each dimension the distance, around the torus where that is shorter.
// Complexity O(dimensions).
int32_t HopsBetween(const GridInterconnect& grid, DeviceId a, DeviceId b);

// Such a way with both ends, dimension after dimension, the first dimension first; halfway around a torus upwards.
std::vector<DeviceId> WayBetween(const GridInterconnect& grid, DeviceId a, DeviceId b);

// The largest HopsBetween of any two devices.
int32_t GridDiameter(const GridInterconnect& grid);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_TOPOLOGY_GRID_H_
