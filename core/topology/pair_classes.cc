#include "core/topology/pair_classes.h"

#include <algorithm>
#include <cmath>

#include "core/base/interruption.h"

namespace planwright {
namespace {

bool IsFaster(const Route& a, const Route& b) {
  InterruptionPoint();
  if (a.bandwidth_bytes_per_second != b.bandwidth_bytes_per_second) {
    return a.bandwidth_bytes_per_second > b.bandwidth_bytes_per_second;
  }
  return a.latency < b.latency;
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
  std::vector<Route> routes;
  routes.reserve(matrix.bandwidth_bytes_per_second.size());
  for (const double bandwidth : matrix.bandwidth_bytes_per_second) {
    InterruptionPoint(/*units=*/4);
    routes.push_back({bandwidth, matrix.latency});
  }
  Fill(routes);
}

PairClasses::PairClasses(const LinksInterconnect& links) : num_devices_(NumDevices(links)) {
  const Router router(links, num_devices_);
  std::vector<Route> routes;
  routes.reserve(num_devices_ * num_devices_);
  for (std::size_t device = 0; device < num_devices_; ++device) {
    const std::vector<Route> row = router.RoutesFrom(DeviceId(device));
    routes.insert(routes.end(), row.begin(), row.end());
  }
  Fill(routes);
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
  Fill(routes);
}

void PairClasses::Fill(const std::vector<Route>& routes) {
  for (std::size_t i = 0; i < routes.size(); ++i) {
    InterruptionPoint(/*units=*/4);
    if (i / num_devices_ != i % num_devices_) speeds_.push_back(routes[i]);
  }
  std::sort(speeds_.begin(), speeds_.end(), [](const Route& a, const Route& b) {
    InterruptionPoint();
    return IsFaster(a, b);
  });
  speeds_.erase(std::unique(speeds_.begin(), speeds_.end()), speeds_.end());
  classes_.resize(routes.size());
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (i / num_devices_ == i % num_devices_) continue;
    InterruptionPoint(/*units=*/20);
    const auto found = std::lower_bound(speeds_.begin(), speeds_.end(), routes[i], IsFaster);
    classes_[i] = static_cast<uint32_t>(found - speeds_.begin());
  }
}

}  // namespace planwright
