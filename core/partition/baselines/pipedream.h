// Baseline: PipeDream's planner (Harlap et al., 2018) as device-placement section 6 runs it.
//
// PipeDream plans chains, so every branching becomes one block: the blocks from which the edges of a biconnected
// component start (core/graph/biconnected.h). Then the dynamic program along a linear order. Edges from blocks that
// take no time on any device, such as an attention mask that every layer reads, make no branching: PipeDream leaves
// graph inputs out as well, and the paper's program does so for the numbers of vertices of two of its files.
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_PIPEDREAM_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_PIPEDREAM_H_

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/model/graph.h"
#include "core/partition/baselines/proposals.h"
#include "core/partition/search/search.h"

namespace planwright {

// The graph of `request` with every branching as a colocation group.
OperatorGraph ContractBranchings(const SearchRequest& request);

// Proposes the plans of the linearized program for ContractBranchings. Same complexity as LINEARIZED_DP. With
// replication UNIFORM or a number of micro-batches: its stages for the 16 numbers of stages and replicas of least
// bound, on consecutive devices, the replicas of a stage side by side.
void ProposePipedream(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, Proposals& proposals);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_PIPEDREAM_H_
