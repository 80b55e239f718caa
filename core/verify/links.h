// What one exchange between devices takes (cost-model.md sections 1, 4 and 6).
#ifndef PLANWRIGHT_CORE_VERIFY_LINKS_H_
#define PLANWRIGHT_CORE_VERIFY_LINKS_H_

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// One transfer of `tensor` between two devices. host_staged and uniform: its own transfer time where it has one;
// otherwise, and always on a hierarchy, latency + bytes over the bandwidth of the lowest level that joins the two.
// REQUIRES: host_staged, uniform or hierarchy; a tensor without transfer time has a bandwidth to go over.
Picoseconds TransferBetween(const Tensor& tensor, const Interconnect& interconnect, DeviceId a, DeviceId b);

// What `replicas`, joined to a ring in ascending order, need to agree on the gradients of `parameter_bytes`:
//   factor x parameter_bytes / bandwidth, rounded up once, + 2 (R - 1) x latency
// with the least bandwidth and the greatest latency of the ring's edges; factor RING is 2 (R - 1) / R, HALF half of it.
// 0 for one replica. REQUIRES: as above; the interconnect has a bandwidth where there are several replicas.
Picoseconds RingAllReduce(int64_t parameter_bytes, std::vector<DeviceId> replicas, const Interconnect& interconnect,
                          AllReduce::Factor factor);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_LINKS_H_
