// What the layers of a chain cost on one class of devices (docs/cost-model.md sections 7, 9 and 18).
#ifndef PLANWRIGHT_CORE_COST_CHAIN_CHAIN_COSTS_H_
#define PLANWRIGHT_CORE_COST_CHAIN_CHAIN_COSTS_H_

#include <vector>

#include "core/base/ids.h"
#include "core/cost/terms/cost_table.h"
#include "core/model/chain.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// The chain of `layers`, each a group of operators; together they hold every operator that the workload keeps, once.
//   times      sums over the operators. Recomputation FULL runs the forward pass again before the backward pass, whose
//              time includes it.
//   DECLARED   static: the sum of memory_bytes. Nothing else takes room.
//   COMPONENTS static: ParameterStateBytes (memory_form.h); workspace: the largest of an operator; buffers: 2 x bytes
//              of each tensor across the cut. Stored, for TRAINING only: activation_bytes. Recomputation FULL stores
//              what a stage starts from, i.e. what is alive before its first layer and what the Input operators of
//              that make; the workspace is that of the operator whose activations and workspace are the largest
//              together.
//   cuts       a tensor crosses every cut between its producer and the consumer furthest behind it on the way forward,
//              and every cut between its producer and the consumer furthest before it on the way back. What BACKWARD
//              operators make goes back, even where it is listed along its activation. It is one transfer on each; with
//              backward times instead of BACKWARD operators the same comes back as its gradient.
// `reserved_bytes` is not here: it is taken off the memory of the devices.
// REQUIRES: graph, cluster and problem are valid; the class supports every operator;
// host_staged or uniform. O(operators + tensor ends).
Chain MakeChain(const OperatorGraph& graph, const Interconnect& interconnect, const ResolvedProblem& problem,
                const CostTable& costs, DeviceClassId device_class, const std::vector<std::vector<OperatorId>>& layers);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_CHAIN_CHAIN_COSTS_H_
