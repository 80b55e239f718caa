// Every placement under PERIODIC, each with its best pattern.
//
// Problem: schedule PERIODIC: stages along any linear order of the operators, on accelerators of one class; with
// Split::kContiguous each on one of its own, which may have any memory, else up to max_stages_per_device on each, which
// have equal memory.
//
// Idea: stages are taken from the last to the first, as in pipeline_enumeration.h; their order matters, because tensors
// that skip a stage are relayed by it. 1F1B* stores the least at every stage, and what it stores follows from the delay
// behind the stage (core/schedule/delay.h). So a branch is cut where the stages so far, with all that is left as one
// stage in front of them, do not fit into a period just below the incumbent; a longer period never stores more, so
// bisection finds the period of a whole pipeline. Where devices hold several stages, the same counts are bounds, and
// the pattern search (core/schedule/pattern_search.h) finds the period.
//
// Exact, unless the pattern search gives up: then it says what it is sure of. Complexity: partial placements x
// (operators + tensor ends), and the logarithm of the time for whole ones.
#ifndef PLANWRIGHT_CORE_PARTITION_ENUMERATION_PERIODIC_ENUMERATION_H_
#define PLANWRIGHT_CORE_PARTITION_ENUMERATION_PERIODIC_ENUMERATION_H_

#include "core/graph/chain.h"
#include "core/graph/digraph.h"
#include "core/partition/enumeration/device_options.h"
#include "core/partition/enumeration/placement_judge.h"
#include "core/partition/search/search.h"

namespace planwright {

// Operators that are in one stage of every chain, and which of them stand before which.
struct ChainBlocks {
  // In a topological order.
  OperatorGroups operators;
  Digraph precedence;
};

// O((operators + tensor ends) log).
ChainBlocks MakeChainBlocks(const OperatorGraph& graph, const ResolvedProblem& problem);

// Shows `judge` every placement that may be better, until it has had enough.
void EnumerateChains(const SearchRequest& request, const ChainBlocks& blocks, const DeviceOptions& devices,
                     PlacementJudge& judge);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_ENUMERATION_PERIODIC_ENUMERATION_H_
