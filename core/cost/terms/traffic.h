// Who pays for the tensors that cross between devices (docs/cost-model.md sections 4, 5, 12 and 15).
//
// Costs are of devices: tensors between stages of one device are free, and a device that holds several stages pays as
// if they were one. What it pays is booked at the stage of the producer and, on the consuming side, at the first of its
// stages that consumes the tensor. Only for MIN_LATENCY every stage pays for what crosses its own border.
#ifndef PLANWRIGHT_CORE_COST_TERMS_TRAFFIC_H_
#define PLANWRIGHT_CORE_COST_TERMS_TRAFFIC_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/cost/terms/stage_map.h"
#include "core/cost/terms/transfer.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"

namespace planwright {

// What is paid for tensors and gradients that come in and go out.
struct PassTraffic {
  Picoseconds in{0};
  Picoseconds out{0};
};

struct ReplicaTraffic {
  PassTraffic forward;
  PassTraffic backward;
};

struct BorderTraffic {
  // One for each replica: what it would pay if it did every micro-batch.
  std::vector<ReplicaTraffic> replicas;
  // Sizes of the tensors that are paid for and booked at this stage, each tensor once.
  int64_t boundary_bytes = 0;
};

struct Traffic {
  // One for each stage.
  std::vector<BorderTraffic> stages;
  // Pairs of devices between which a tensor crosses, by ascending (device_a, device_b); empty for host_staged. The load
  // holds the transfers of both directions.
  std::vector<LinkUsage> links;
};

// REQUIRES: `network` is that of the cluster; a resolved problem; stages that share a device have the same replicas in
// the same order. Complexity O(operators + tensor ends + links log links), where tensor ends between replicated stages
// count once for each link class in use.
Traffic MeasureTraffic(const OperatorGraph& graph, const Cluster& cluster, const Network& network,
                       const ResolvedProblem& problem, const std::vector<Stage>& stages, const StageMap& stage_of);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_TERMS_TRAFFIC_H_
