// Bandwidth and latency of every pair of devices as a table, for interconnects without a structure to compute them
// from.
#ifndef PLANWRIGHT_CORE_TOPOLOGY_PAIR_CLASSES_H_
#define PLANWRIGHT_CORE_TOPOLOGY_PAIR_CLASSES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/model/cluster.h"
#include "core/topology/routing.h"

namespace planwright {

// Pairs that are connected alike share a class. Memory: 4 bytes a pair and direction, 16 MiB for 2,048 devices.
class PairClasses {
 public:
  explicit PairClasses(const MatrixInterconnect& matrix);
  // Routes every pair. REQUIRES: the links join all devices.
  explicit PairClasses(const LinksInterconnect& links);
  // Takes the pairs of one machine, whose devices have their places in it as ids.
  explicit PairClasses(const NodesInterconnect& nodes);

  // By descending bandwidth, then ascending latency; no two are equal.
  const std::vector<Route>& speeds() const { return speeds_; }

  // Position in speeds(). REQUIRES: a != b.
  std::size_t ClassOf(DeviceId a, DeviceId b) const { return classes_[a.index() * num_devices_ + b.index()]; }

 private:
  // `route_of` numbers of pairs, row by row; those of the diagonal are not asked for. O(pairs).
  template <typename RouteOf>
  void Fill(RouteOf route_of);

  std::size_t num_devices_ = 0;
  std::vector<Route> speeds_;
  std::vector<uint32_t> classes_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_TOPOLOGY_PAIR_CLASSES_H_
