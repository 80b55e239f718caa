// Costs a placement that follows a periodic pattern (docs/cost-model.md sections 3, 7, 18 and 19).
//
// The objective is the period. Stages are the layers of a chain: what crosses between two of them on different devices
// takes time on the link between those and on no device.
#ifndef PLANWRIGHT_CORE_COST_CHAIN_PERIODIC_COSTING_H_
#define PLANWRIGHT_CORE_COST_CHAIN_PERIODIC_COSTING_H_

#include "core/cost/terms/cost_table.h"
#include "core/model/chain.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/periodic_pattern.h"
#include "core/model/plan.h"

namespace planwright {

// The stages of a plan as the layers of a chain; devices have the numbers of the cluster.
struct StageChain {
  Chain chain;
  ChainDevices devices;
  ChainAllocation allocation;
};
// REQUIRES: as CostPattern, without a pattern.
StageChain ChainOfStages(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs, const Plan& plan);

// Fills in the objective, the loads, transfers and memory of stages and devices, the links and the tasks of `plan`,
// whose problem, stages (operators and replicas) and devices (their stages) are there. A stage that does not share its
// device needs memory_bytes as stated; a device needs what its stages store together at the worst moment.
// REQUIRES: the pattern can be run by the stages, which are in linear order, each on one device of one class; uniform;
// a resolved problem. O(operators + tensor ends + stages^2).
void CostPattern(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs,
                 const PeriodicPattern& pattern, Plan& plan);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_CHAIN_PERIODIC_COSTING_H_
