// Who pays for the tensors that cross between stages (cost-model.md sections 4 and 5).
#ifndef PLANWRIGHT_CORE_COST_TRAFFIC_H_
#define PLANWRIGHT_CORE_COST_TRAFFIC_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/cost/stage_map.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"

namespace planwright {

struct StageTraffic {
  // What the stage pays for tensors and gradients that come in and go out.
  Picoseconds in{0};
  Picoseconds out{0};
  // Sizes of the tensors that cross the border of the stage, each tensor once.
  int64_t boundary_bytes = 0;
};

struct Traffic {
  // One for each stage.
  std::vector<StageTraffic> stages;
  // Pairs of devices between which a tensor crosses, by ascending (device_a, device_b); empty for host_staged. The load
  // holds the transfers of both directions.
  std::vector<LinkUsage> links;
};

// REQUIRES: host_staged or uniform; a resolved problem; each stage on one device of its own.
// Complexity O(operators + tensor ends + links log links).
Traffic MeasureTraffic(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                       const std::vector<Stage>& stages, const StageMap& stage_of);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_TRAFFIC_H_
