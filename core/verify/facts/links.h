// What one exchange between devices takes (docs/cost-model.md sections 1, 4 and 6).
#ifndef PLANWRIGHT_CORE_VERIFY_FACTS_LINKS_H_
#define PLANWRIGHT_CORE_VERIFY_FACTS_LINKS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// How a pair of devices is connected.
struct JudgedLink {
  // 0: every tensor has a transfer time.
  double bandwidth_bytes_per_second = 0;
  Picoseconds latency{0};
};

// A link of the interconnect `links`, seen from one end.
struct JudgedRoad {
  DeviceId to;
  JudgedLink link;
};
// By device.
using JudgedRoads = std::vector<std::vector<JudgedRoad>>;

// Looks pairs of devices up in an interconnect and remembers those that it had to search a way for. Not thread-safe.
class JudgedLinks {
 public:
  // REQUIRES: `interconnect` outlives this and is one of a valid cluster of `num_devices`.
  JudgedLinks(const Interconnect& interconnect, std::size_t num_devices);

  // REQUIRES: a != b. hierarchy: the lowest level that joins the two. grid: the link, or the link divided by the hops.
  // nodes: inside a machine the link of the two places, or what joins places without one; else the lowest level.
  // links: the way that the routing takes (proto: Interconnect.Routing); O(links log links) for a pair not asked for
  // before.
  JudgedLink Between(DeviceId a, DeviceId b);

  // One transfer of `tensor`. host_staged and uniform: its own transfer time where it has one; otherwise, and always on
  // other interconnects, latency + bytes over the bandwidth.
  // REQUIRES: a tensor without transfer time has a bandwidth to go over.
  Picoseconds TransferBetween(const Tensor& tensor, DeviceId a, DeviceId b);

  // What the replicas of `ring`, each joined to the next and the last to the first, need to agree on the gradients of
  // `parameter_bytes`:
  //   factor x parameter_bytes / bandwidth, rounded up once, + 2 (R - 1) x latency
  // with the least bandwidth and the greatest latency of the ring's edges; factor RING is 2 (R - 1) / R, HALF half of
  // it. 0 without replicas. REQUIRES: as above; the interconnect has a bandwidth where there are several replicas.
  Picoseconds RingAllReduce(int64_t parameter_bytes, const std::vector<DeviceId>& ring, AllReduce::Factor factor);

 private:
  const Interconnect& interconnect_;
  const std::size_t num_devices_;
  const JudgedRoads roads_;
  std::map<std::pair<DeviceId, DeviceId>, JudgedLink> routed_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_FACTS_LINKS_H_
