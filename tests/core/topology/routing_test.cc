#include "core/topology/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>

#include "core/base/random.h"

namespace planwright {
namespace {

using Routing = LinksInterconnect::Routing;

LinksInterconnect::Link Link(std::size_t a, std::size_t b, double bandwidth, int64_t latency) {
  return {DeviceId(a), DeviceId(b), bandwidth, Picoseconds(latency)};
}

// 0 - 1 - 2 is wide and slow to start, 0 - 2 narrow and quick.
LinksInterconnect Triangle(Routing routing) {
  return {{Link(0, 1, 10, 5), Link(1, 2, 8, 5), Link(0, 2, 3, 1)}, routing};
}

TEST(RoutingTest, WidestPathTakesTheWideDetour) {
  EXPECT_EQ(Router(Triangle(Routing::kWidestPath), 3).RoutesFrom(DeviceId(0))[2], (Route{8, Picoseconds(10)}));
}

TEST(RoutingTest, ShortestPathTakesTheLink) {
  EXPECT_EQ(Router(Triangle(Routing::kShortestPath), 3).RoutesFrom(DeviceId(0))[2], (Route{3, Picoseconds(1)}));
}

// A way that is wide at first does not keep a quicker one, which ends on the same narrow link, from being found.
TEST(RoutingTest, AmongWidestPathsTheQuickestCounts) {
  const LinksInterconnect links{{Link(0, 1, 9, 7), Link(0, 2, 4, 1), Link(2, 1, 4, 1), Link(1, 3, 4, 1)},
                                Routing::kWidestPath};
  const std::vector<Route> routes = Router(links, 4).RoutesFrom(DeviceId(0));
  EXPECT_EQ(routes[1], (Route{9, Picoseconds(7)}));
  EXPECT_EQ(routes[3], (Route{4, Picoseconds(3)}));
}

TEST(RoutingTest, ParallelLinksCompete) {
  const LinksInterconnect links{{Link(0, 1, 2, 0), Link(0, 1, 5, 9)}, Routing::kWidestPath};
  EXPECT_EQ(Router(links, 2).RoutesFrom(DeviceId(1))[0], (Route{5, Picoseconds(9)}));
}

// Every simple path from `device` on, by depth-first search.
class PathSearch {
 public:
  PathSearch(const LinksInterconnect& links, std::size_t count, std::size_t target)
      : links_(links), target_(target), visited_(count, false) {}

  Route BestFrom(std::size_t device) {
    Visit(device, 0, {std::numeric_limits<double>::infinity(), Picoseconds(0)});
    return best_;
  }

 private:
  using Rank = std::tuple<double, double, double>;

  Rank RankOf(int hops, const Route& route) const {
    const auto latency = static_cast<double>(route.latency.count());
    const double narrowness = -route.bandwidth_bytes_per_second;
    return links_.routing == Routing::kWidestPath ? Rank{narrowness, latency, 0.0} : Rank{hops, latency, narrowness};
  }

  void Visit(std::size_t device, int hops, const Route& route) {
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

  void Follow(const LinksInterconnect::Link& link, std::size_t next, int hops, const Route& route) {
    if (visited_[next]) return;
    Visit(next, hops + 1,
          {std::min(route.bandwidth_bytes_per_second, link.bandwidth_bytes_per_second), route.latency + link.latency});
  }

  const LinksInterconnect& links_;
  const std::size_t target_;
  std::vector<bool> visited_;
  Rank best_rank_{std::numeric_limits<double>::infinity(), 0, 0};
  Route best_;
};

TEST(RoutingTest, EqualsTheBestOfAllPaths) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    RandomStream random(seed, 1);
    const std::size_t count = 2 + random.Below(5);
    LinksInterconnect links;
    links.routing = seed % 2 == 0 ? Routing::kWidestPath : Routing::kShortestPath;
    const auto join = [&](std::size_t a, std::size_t b) {
      if (a == b) return;
      links.links.push_back(Link(a, b, static_cast<double>(1 + random.Below(4)), random.Between(0, 3)));
    };
    for (std::size_t device = 1; device < count; ++device) join(random.Below(device), device);
    for (std::size_t extra = 0; extra < count + 2; ++extra) join(random.Below(count), random.Below(count));
    const Router router(links, count);
    for (std::size_t a = 0; a < count; ++a) {
      const std::vector<Route> routes = router.RoutesFrom(DeviceId(a));
      for (std::size_t b = 0; b < count; ++b) {
        if (a == b) continue;
        EXPECT_EQ(routes[b], PathSearch(links, count, b).BestFrom(a)) << "seed " << seed << ": " << a << " to " << b;
      }
    }
  }
}

}  // namespace
}  // namespace planwright
