// Time of one transfer of a tensor, and what a tensor that crosses a border costs the two sides (cost-model.md 4, 5).
#ifndef PLANWRIGHT_CORE_COST_TRANSFER_H_
#define PLANWRIGHT_CORE_COST_TRANSFER_H_

#include "core/base/units.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// How `interconnect` charges for tensors: host_staged and uniform only.
struct TransferRules {
  // A device pays once for a tensor that is partly on it (host_staged). Otherwise the producing device pays once for
  // each other device that consumes the tensor, and each of those once (uniform).
  bool pay_once = true;
  bool cpus_pay = false;
};
TransferRules RulesOf(const Interconnect& interconnect);

// One transfer of `tensor`, forward direction: its own transfer time, else latency + bytes over the bandwidth, else 0
// (only a tensor that nobody consumes has neither: the validator saw to it).
// REQUIRES: interconnect is host_staged or uniform.
Picoseconds TensorTransferTime(const Tensor& tensor, const Interconnect& interconnect);

// Whether a tensor that crosses a border forward brings back a gradient of the same cost: training by backward times
// (cost-model.md 5), i.e. the graph has no BACKWARD operators. With explicit BACKWARD operators the tensors say all.
bool GradientsFollowTensors(const OperatorGraph& graph, Workload workload);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_TRANSFER_H_
