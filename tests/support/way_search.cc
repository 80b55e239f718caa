#include "tests/support/way_search.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace planwright {
namespace {

// Depth-first search.
class PathSearch {
 public:
  PathSearch(const LinksInterconnect& links, std::size_t count, std::size_t target)
      : links_(links), target_(target), visited_(count, false) {}

  Way BestFrom(std::size_t device) {
    Visit(device, 0, {std::numeric_limits<double>::infinity(), Picoseconds(0)});
    return best_;
  }

 private:
  using Rank = std::tuple<double, double, double>;

  // Links of the pair itself before every other way.
  Rank RankOf(int hops, const Way& route) const {
    const auto latency = static_cast<double>(route.latency.count());
    const double narrowness = -route.bandwidth_bytes_per_second;
    const double is_routed = hops > 1 ? 1 : 0;
    return links_.routing == LinksInterconnect::Routing::kWidestPath ? Rank{is_routed, narrowness, latency}
                                                                     : Rank{hops, latency, narrowness};
  }

  void Visit(std::size_t device, int hops, const Way& route) {
    if (device == target_) {
      if (hops > 0 && RankOf(hops, route) < best_rank_)
        std::tie(best_rank_, best_) = std::pair(RankOf(hops, route), route);
      return;
    }
    visited_[device] = true;
    for (const LinksInterconnect::Link& link : links_.links) {
      if (link.device_a.index() == device) Follow(link, link.device_b.index(), hops, route);
      if (link.device_b.index() == device) Follow(link, link.device_a.index(), hops, route);
    }
    visited_[device] = false;
  }

  void Follow(const LinksInterconnect::Link& link, std::size_t next, int hops, const Way& route) {
    if (visited_[next]) return;
    Visit(next, hops + 1,
          {std::min(route.bandwidth_bytes_per_second, link.bandwidth_bytes_per_second), route.latency + link.latency});
  }

  const LinksInterconnect& links_;
  const std::size_t target_;
  std::vector<bool> visited_;
  Rank best_rank_{std::numeric_limits<double>::infinity(), 0, 0};
  Way best_;
};

}  // namespace

Way BestWay(const LinksInterconnect& links, std::size_t num_devices, std::size_t from, std::size_t to) {
  return PathSearch(links, num_devices, to).BestFrom(from);
}

}  // namespace planwright
