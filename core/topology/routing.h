// Ways over explicit links (proto: Interconnect.Links).
//
// A way is as fast as its slowest link and adds up the latencies of its links. A pair with a link uses it, whatever a
// detour would give; of the links of one pair, and of the ways of a pair without a link, it takes the best:
//   WIDEST_PATH    the greatest bandwidth; among those the least latency
//   SHORTEST_PATH  the fewest links; among those the least latency, then the greatest bandwidth
#ifndef PLANWRIGHT_CORE_TOPOLOGY_ROUTING_H_
#define PLANWRIGHT_CORE_TOPOLOGY_ROUTING_H_

#include <compare>
#include <cstddef>
#include <map>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/cluster.h"

namespace planwright {

struct Route {
  double bandwidth_bytes_per_second = 0;
  Picoseconds latency{0};

  auto operator<=>(const Route&) const = default;
};

// Finds ways between the devices of a connected set of links. Links may be parallel. Immutable.
class Router {
 public:
  Router(const LinksInterconnect& links, std::size_t num_devices);

  // The way from `source` to every device, by device; the entry of `source` itself says nothing.
  // Complexity O(links log devices), WIDEST_PATH times the different bandwidths.
  std::vector<Route> RoutesFrom(DeviceId source) const;

  // The devices of the way, both ends with it; of equal ways the one whose devices have the lowest numbers, from the
  // end on. Complexity O(links log devices).
  std::vector<DeviceId> WayBetween(DeviceId source, DeviceId destination) const;

 private:
  struct Neighbour {
    std::size_t device = 0;
    double bandwidth_bytes_per_second = 0;
    Picoseconds latency{0};
  };

  std::vector<double> WidestFrom(std::size_t source) const;
  std::vector<Picoseconds> LatenciesFrom(std::size_t source, double least_bandwidth) const;
  std::vector<Route> WidestRoutesFrom(std::size_t source) const;
  // Returns the widest link to each neighbour of `source`, by the neighbour; of equally wide ones the quickest.
  std::map<std::size_t, Route> WidestLinksFrom(std::size_t source) const;
  std::vector<Route> ShortestRoutesFrom(std::size_t source) const;
  // From the end on, over neighbours of which `is_on_way(neighbour, device)` says that they come before `device`.
  template <typename IsOnWay>
  std::vector<DeviceId> WayBack(std::size_t source, std::size_t destination, const IsOnWay& is_on_way) const;

  LinksInterconnect::Routing routing_;
  // By device.
  std::vector<std::vector<Neighbour>> neighbours_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_TOPOLOGY_ROUTING_H_
