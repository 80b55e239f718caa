// Time to reduce the gradients of a replicated stage (docs/cost-model.md section 6).
//
// Ring all-reduce: every replica sends and receives 2 (R - 1) chunks of 1/R of the parameters.
// Source: Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009. The factor HALF
// is that of Tarnawski et al., Efficient algorithms for device placement of DNN graph operators, 2020, C.2.
#ifndef PLANWRIGHT_CORE_COST_TERMS_ALLREDUCE_H_
#define PLANWRIGHT_CORE_COST_TERMS_ALLREDUCE_H_

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/cost/terms/transfer.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// The slowest edge of the ring: the least bandwidth and the greatest latency of its edges.
// REQUIRES: at least two different devices.
LinkSpeed RingSpeed(const Network& network, const std::vector<DeviceId>& ring);

// Returns the sum over all `operators`.
int64_t ParameterBytes(const OperatorGraph& graph, const std::vector<OperatorId>& operators);

// factor x parameter_bytes / bandwidth, one ceil of the exact product, + 2 (R - 1) x latency. Factor RING: 2 (R - 1) /
// R, HALF: (R - 1) / R. 0 for one replica, which has nobody to agree with. REQUIRES: 1 <= replicas; with more than one
// the speed has a bandwidth.
Picoseconds AllReduceTime(int64_t parameter_bytes, int32_t replicas, const LinkSpeed& speed, AllReduce::Factor factor);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_TERMS_ALLREDUCE_H_
