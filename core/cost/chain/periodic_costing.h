// Costs a placement that follows a periodic pattern (docs/cost-model.md sections 3, 7, 18 and 19).
//
// The objective is the period. Stages are the layers of a chain: what crosses between two of them on different devices
// takes time on the link between those and on no device.
#ifndef PLANWRIGHT_CORE_COST_CHAIN_PERIODIC_COSTING_H_
#define PLANWRIGHT_CORE_COST_CHAIN_PERIODIC_COSTING_H_

#include <cstdint>
#include <vector>

#include "core/cost/chain/chain_costs.h"
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

// Memory of the devices of a pipeline that follows a periodic pattern (docs/cost-model.md section 7).
//
// A device keeps what is static of its layers, its largest workspace, the buffers of every cut that it shares with
// another device, and what its stages store for each micro-batch from the start of their forward to the end of their
// last pass. Only the last part depends on the pattern; it peaks when a forward pass starts.
//
// By device: all but what is stored for micro-batches. O(stages).
std::vector<int64_t> FixedBytes(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                                const ChainAllocation& allocation);

struct PatternMemory {
  // By device: the most bytes at any time.
  std::vector<int64_t> peak_bytes;
  // By stage: the most micro-batches that it stores at any time.
  std::vector<int32_t> stored;
};

// Exact. At one time, what ends makes room before what starts takes it; a stage whose passes take no time stores one
// micro-batch all the same. REQUIRES: `pattern` is one of `allocation`.
// O(stages^2).
PatternMemory MemoryOf(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                       const ChainAllocation& allocation, const PeriodicPattern& pattern);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_CHAIN_PERIODIC_COSTING_H_
