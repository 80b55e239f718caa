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

std::vector<DeviceId> WayBetween(const GridInterconnect& grid, DeviceId a, DeviceId b) {
  std::vector<DeviceId> way = {a};
  auto position = static_cast<int64_t>(a.index());
  // Devices from one place of the dimension to the next.
  int64_t span = 1;
  for (const int32_t size : grid.dimensions) {
    int64_t place = position / span % size;
    const int64_t goal = static_cast<int64_t>(b.index()) / span % size;
    const int64_t upwards = (goal - place + size) % size;
    const bool goes_up = grid.wrap_around ? upwards <= size - upwards : goal > place;
    while (place != goal) {
      const int64_t next = (place + (goes_up ? 1 : size - 1)) % size;
      position += (next - place) * span;
      place = next;
      way.emplace_back(static_cast<std::size_t>(position));
    }
    span *= size;
  }
  return way;
}

int32_t GridDiameter(const GridInterconnect& grid) {
  int32_t hops = 0;
  for (const int32_t size : grid.dimensions) hops += grid.wrap_around ? size / 2 : size - 1;
  return hops;
}

}  // namespace planwright
