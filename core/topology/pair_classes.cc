#include "core/topology/pair_classes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/interruption.h"

namespace planwright {
namespace {

// Without values at first: what is not touched takes no time.
struct Keyed {
  uint64_t key;
  std::size_t pair;
};

// Sorts by key, equal ones as they were: digit by digit, the last one first. O(pairs).
void SortByKey(std::vector<Keyed>& pairs) {
  constexpr int kDigitBits = 11;
  constexpr uint64_t kDigit = (1 << kDigitBits) - 1;
  uint64_t differing = 0;
  for (const Keyed& pair : pairs) {
    InterruptionPoint();
    differing |= pair.key ^ pairs.front().key;
  }
  const auto room = std::make_unique_for_overwrite<Keyed[]>(pairs.size());
  std::span<Keyed> from(pairs);
  std::span<Keyed> to(room.get(), pairs.size());
  for (int shift = 0; shift < 64; shift += kDigitBits) {
    if ((differing >> shift & kDigit) == 0) continue;
    std::array<std::size_t, kDigit + 1> next{};
    for (const Keyed& pair : from) {
      InterruptionPoint();
      ++next[pair.key >> shift & kDigit];
    }
    std::exclusive_scan(next.begin(), next.end(), next.begin(), std::size_t{0});
    for (const Keyed& pair : from) {
      InterruptionPoint(/*units=*/4);
      to[next[pair.key >> shift & kDigit]++] = pair;
    }
    std::swap(from, to);
  }
  if (from.data() != pairs.data()) std::copy(from.begin(), from.end(), pairs.begin());
}

// Counts the devices that connected links join: they name every device unless there is only one.
std::size_t NumDevices(const LinksInterconnect& links) {
  std::size_t last = 0;
  for (const LinksInterconnect::Link& link : links.links) {
    last = std::max({last, link.device_a.index(), link.device_b.index()});
  }
  return last + 1;
}

}  // namespace

PairClasses::PairClasses(const MatrixInterconnect& matrix)
    : num_devices_(static_cast<std::size_t>(
          std::llround(std::sqrt(static_cast<double>(matrix.bandwidth_bytes_per_second.size()))))) {
  Fill([&](std::size_t pair) { return Route{matrix.bandwidth_bytes_per_second[pair], matrix.latency}; });
}

PairClasses::PairClasses(const LinksInterconnect& links) : num_devices_(NumDevices(links)) {
  const Router router(links, num_devices_);
  std::vector<Route> routes;
  routes.reserve(num_devices_ * num_devices_);
  for (std::size_t device = 0; device < num_devices_; ++device) {
    const std::vector<Route> row = router.RoutesFrom(DeviceId(device));
    routes.insert(routes.end(), row.begin(), row.end());
  }
  Fill([&](std::size_t pair) { return routes[pair]; });
}

PairClasses::PairClasses(const NodesInterconnect& nodes)
    : num_devices_(static_cast<std::size_t>(nodes.devices_per_node)) {
  std::vector<Route> routes(num_devices_ * num_devices_, {nodes.bandwidth_bytes_per_second, nodes.latency});
  for (const NodesInterconnect::Link& link : nodes.links) {
    const auto a = static_cast<std::size_t>(link.place_a);
    const auto b = static_cast<std::size_t>(link.place_b);
    const Route route{link.bandwidth_bytes_per_second, link.latency};
    routes[a * num_devices_ + b] = route;
    routes[b * num_devices_ + a] = route;
  }
  Fill([&](std::size_t pair) { return routes[pair]; });
}

template <typename RouteOf>
void PairClasses::Fill(RouteOf route_of) {
  const auto mirrored = [&](std::size_t a, std::size_t b) { return b * num_devices_ + a; };
  // Of two directions that are alike the first one.
  std::vector<Keyed> pairs;
  pairs.reserve(num_devices_ * num_devices_ / 2);
  classes_.reserve(num_devices_ * num_devices_);
  for (std::size_t a = 0; a < num_devices_; ++a) {
    classes_.resize((a + 1) * num_devices_);
    for (std::size_t b = 0; b < num_devices_; ++b) {
      InterruptionPoint(/*units=*/4);
      const std::size_t pair = a * num_devices_ + b;
      if (a == b || (a > b && route_of(pair) == route_of(mirrored(a, b)))) continue;
      pairs.push_back({static_cast<uint64_t>(route_of(pair).latency.count()), pair});
    }
  }
  SortByKey(pairs);
  // The bits of positive numbers are in the order of the numbers.
  for (Keyed& pair : pairs) {
    InterruptionPoint(/*units=*/4);
    pair.key = ~std::bit_cast<uint64_t>(route_of(pair.pair).bandwidth_bytes_per_second);
  }
  SortByKey(pairs);
  for (const Keyed& keyed : pairs) {
    InterruptionPoint(/*units=*/8);
    const Route route = route_of(keyed.pair);
    if (speeds_.empty() || speeds_.back() != route) speeds_.push_back(route);
    const auto its_class = static_cast<uint32_t>(speeds_.size() - 1);
    classes_[keyed.pair] = its_class;
    const std::size_t other = mirrored(keyed.pair / num_devices_, keyed.pair % num_devices_);
    if (route_of(other) == route) classes_[other] = its_class;
  }
}

}  // namespace planwright
