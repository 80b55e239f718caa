#include "core/topology/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "tests/support/way_search.h"

namespace planwright {
namespace {

using Routing = LinksInterconnect::Routing;

LinksInterconnect::Link Link(std::size_t a, std::size_t b, double bandwidth, int64_t latency) {
  return {DeviceId(a), DeviceId(b), bandwidth, Picoseconds(latency)};
}

// 0 - 1 - 2 is wide and slow to start, 0 - 2 narrow and quick; 3 is behind 2.
LinksInterconnect Kite(Routing routing) {
  return {{Link(0, 1, 10, 5), Link(1, 2, 8, 5), Link(0, 2, 3, 1), Link(2, 3, 9, 2)}, routing};
}

TEST(RoutingTest, WidestPathTakesTheWideDetourOnlyWithoutALink) {
  const std::vector<Route> routes = Router(Kite(Routing::kWidestPath), 4).RoutesFrom(DeviceId(0));
  EXPECT_EQ(routes[2], (Route{3, Picoseconds(1)}));
  EXPECT_EQ(routes[3], (Route{8, Picoseconds(12)}));
}

TEST(RoutingTest, ShortestPathTakesTheFewestLinks) {
  const std::vector<Route> routes = Router(Kite(Routing::kShortestPath), 4).RoutesFrom(DeviceId(0));
  EXPECT_EQ(routes[2], (Route{3, Picoseconds(1)}));
  EXPECT_EQ(routes[3], (Route{3, Picoseconds(3)}));
}

// A way that is wide at first does not keep a quicker one, which ends on the same narrow link, from being found.
TEST(RoutingTest, AmongWidestPathsTheQuickestCounts) {
  const LinksInterconnect links{{Link(0, 1, 9, 7), Link(0, 2, 4, 1), Link(2, 1, 4, 1), Link(1, 3, 4, 1)},
                                Routing::kWidestPath};
  const std::vector<Route> routes = Router(links, 4).RoutesFrom(DeviceId(0));
  EXPECT_EQ(routes[1], (Route{9, Picoseconds(7)}));
  EXPECT_EQ(routes[3], (Route{4, Picoseconds(3)}));
}

TEST(RoutingTest, WaysGoOverTheLinksOfTheRoute) {
  const auto ids = [](const std::vector<DeviceId>& way) {
    std::vector<std::size_t> numbers;
    for (const DeviceId device : way) numbers.push_back(device.index());
    return numbers;
  };
  const Router widest(Kite(Routing::kWidestPath), 4);
  EXPECT_EQ(ids(widest.WayBetween(DeviceId(0), DeviceId(2))), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(ids(widest.WayBetween(DeviceId(0), DeviceId(3))), (std::vector<std::size_t>{0, 1, 2, 3}));
  const Router shortest(Kite(Routing::kShortestPath), 4);
  EXPECT_EQ(ids(shortest.WayBetween(DeviceId(0), DeviceId(3))), (std::vector<std::size_t>{0, 2, 3}));
}

// The links of a way are as fast, and as slow together, as the route says.
TEST(RoutingTest, WaysAddUpToTheirRoutes) {
  RandomStream random(5);
  for (int number = 0; number < 200; ++number) {
    LinksInterconnect links;
    links.routing = number % 2 == 0 ? Routing::kWidestPath : Routing::kShortestPath;
    for (std::size_t device = 1; device < 9; ++device) {
      for (const std::size_t other : {random.Below(device), random.Below(device)}) {
        links.links.push_back(
            Link(device, other, static_cast<double>(1 + random.Below(4)), static_cast<int64_t>(random.Below(3))));
      }
    }
    const Router router(links, 9);
    for (std::size_t a = 0; a < 9; ++a) {
      const std::vector<Route> routes = router.RoutesFrom(DeviceId(a));
      for (std::size_t b = 0; b < 9; ++b) {
        if (a == b) continue;
        const std::vector<DeviceId> way = router.WayBetween(DeviceId(a), DeviceId(b));
        ASSERT_EQ(way.front(), DeviceId(a));
        ASSERT_EQ(way.back(), DeviceId(b));
        // Of parallel links, those that make the route.
        double least = 1e9;
        for (std::size_t i = 1; i < way.size(); ++i) {
          double best = 0;
          for (const auto& link : links.links) {
            const bool joins = (link.device_a == way[i - 1] && link.device_b == way[i]) ||
                               (link.device_b == way[i - 1] && link.device_a == way[i]);
            if (joins) best = std::max(best, link.bandwidth_bytes_per_second);
          }
          ASSERT_GT(best, 0);
          least = std::min(least, best);
        }
        EXPECT_GE(least, routes[b].bandwidth_bytes_per_second) << number << " " << a << " " << b;
      }
    }
  }
}

TEST(RoutingTest, ParallelLinksCompete) {
  LinksInterconnect links{{Link(0, 1, 2, 0), Link(0, 1, 5, 9), Link(1, 0, 5, 8)}, Routing::kWidestPath};
  EXPECT_EQ(Router(links, 2).RoutesFrom(DeviceId(1))[0], (Route{5, Picoseconds(8)}));
  links.routing = Routing::kShortestPath;
  EXPECT_EQ(Router(links, 2).RoutesFrom(DeviceId(1))[0], (Route{2, Picoseconds(0)}));
}

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
        const Way way = BestWay(links, count, a, b);
        EXPECT_EQ(routes[b], (Route{way.bandwidth_bytes_per_second, way.latency}))
            << "seed " << seed << ": " << a << " to " << b;
      }
    }
  }
}

}  // namespace
}  // namespace planwright
