#include "core/topology/grid.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace planwright {

int32_t HopsBetween(const GridInterconnect& grid, DeviceId a, DeviceId b) {
  auto rest_a = static_cast<int32_t>(a.index());
  auto rest_b = static_cast<int32_t>(b.index());
  int32_t hops = 0;
  for (const int32_t size : grid.dimensions) {
    const int32_t distance = std::abs(rest_a % size - rest_b % size);
    hops += grid.wrap_around ? std::min(distance, size - distance) : distance;
    rest_a /= size;
    rest_b /= size;
  }
  return hops;
}

int32_t GridDiameter(const GridInterconnect& grid) {
  int32_t hops = 0;
  for (const int32_t size : grid.dimensions) hops += grid.wrap_around ? size / 2 : size - 1;
  return hops;
}

}  // namespace planwright
