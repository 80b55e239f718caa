// When every operator runs for one micro-batch: the schedule behind MIN_LATENCY (docs/cost-model.md
// sections 8 and 17).
//
// A stage on an accelerator is a subgraph: it starts when all producers outside have finished and the stage before it
// on its device has ended, runs for its load, and all its operators finish at its end. On CPUs an operator starts as
// soon as its inputs are there; there are as many CPUs as it takes. Source: Tarnawski et al., Efficient algorithms for
// device placement of DNN graph operators, 2020, section 4.
#ifndef PLANWRIGHT_CORE_COST_LATENCY_SCHEDULE_H_
#define PLANWRIGHT_CORE_COST_LATENCY_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/cost/terms/cost_table.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"

namespace planwright {

struct LatencySchedule {
  // When the last operator has finished.
  Picoseconds makespan{0};
  // By stage: when it starts; of a stage on a CPU, when its first operator does.
  std::vector<Picoseconds> starts;
  // The greatest number of operators that run on CPUs at the same time. One without time never does.
  int32_t peak_cpu_operators = 0;
};

// REQUIRES: `stages` have their operators, one replica and load; subgraphs, single operators on CPUs and the order of
// stages on each accelerator form no cycle. Complexity O(operators + tensor ends), and O(n log n) for the n operators
// on CPUs.
LatencySchedule ScheduleForLatency(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs,
                                   const std::vector<Stage>& stages);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_LATENCY_SCHEDULE_H_
