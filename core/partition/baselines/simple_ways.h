// The rules of the baselines, each in a source of its own name.
//
// `limits` and `arena` are for those that search. REQUIRES: BaselineRows lists the mode for the algorithm.
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_SIMPLE_WAYS_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_SIMPLE_WAYS_H_

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/model/graph.h"
#include "core/partition/baselines/proposals.h"
#include "core/partition/search/search.h"

namespace planwright {

// Everything on one device: proposes the graph on the first device of each kind, devices of one class that offer the
// same memory. O(kinds x (operators + tensor ends)).
void ProposeSingleDevice(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                         Proposals& proposals);

// The whole graph on every device of one class, each working on micro-batches of its own: proposes, for each class, one
// stage of all operators with a replica on each of its devices (device-placement, C.2; docs/cost-model.md section 6).
// O(classes x (operators + tensors + devices)).
void ProposeDataParallel(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                         Proposals& proposals);

// Fills one device after the other along a topological order. O((operators + tensor ends) log).
void ProposeGreedy(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, Proposals& proposals);

// Proposes each local optimum. Random numbers come from options.seed. Work: moves looked at; without options.work_limit
// the search ends after 50 million of them. Each costs O(nets of the block). Memory: 4 bytes for each net and device.
void ProposeLocalSearch(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                        Proposals& proposals);

// The graph of `request` with every branching as a colocation group.
OperatorGraph ContractBranchings(const SearchRequest& request);

// Proposes the plans of the linearized program for ContractBranchings. Same complexity as LINEARIZED_DP. With
// replication UNIFORM or a number of micro-batches: its stages for the 16 numbers of stages and replicas of least
// bound, on consecutive devices, the replicas of a stage side by side.
void ProposePipedream(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, Proposals& proposals);

// Whether this build has the library Scotch.
bool HasScotch();

// Proposes Scotch's partition, the same for the same seed. A call cannot be interrupted, so graphs of more than 50,000
// blocks are refused, and all are where the build lacks the library.
void ProposeScotch(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, Proposals& proposals);

// For MIN_LATENCY: the contiguous split of greatest throughput, run for one micro-batch (device-placement section 7,
// "Max-load DP"), as subgraphs. Same complexity as IDEAL_DP.
void ProposeMaxLoad(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, Proposals& proposals);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_SIMPLE_WAYS_H_
