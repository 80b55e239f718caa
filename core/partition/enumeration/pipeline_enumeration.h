// Every contiguous placement, stage by stage from the last to the first.
//
// Problem: MAX_THROUGHPUT with Split::kContiguous on any interconnect, every replication, overlap and schedule but
// PERIODIC, with pins, bans, limits on devices, and numbers of stages and replicas.
//
// Idea: a pipeline is a chain of ideals of the block graph. Depth first, the blocks that are left give their next
// stage, a set without successors among them; the stage gets every team of idle devices, device_options.h telling
// which of them need not be told apart, and its best ring. From behind, because what a stage keeps in memory depends on
// the stages behind it. A branch is cut where what is certain does not beat the incumbent: the loads of the stages so
// far, with the transfers among them and the least ones to what is left, and the work that is left, shared by the idle
// devices. Where neither costs nor memory depend on the order of stages, one order of each set of stages is seen: two
// neighbours that no edge orders stand by their smallest block (every partial order has a linear extension like that:
// swap neighbours until there is nothing to swap).
//
// Orders of a team: only its set counts where all links are alike, or where it is the only stage and its ring is free.
// Rotating the copies of all stages at once changes nothing, so the last stage starts with its first device; with
// UNIFORM replication and free rings any common permutation changes nothing, and its devices ascend.
//
// Exact: the search looks at every placement that it does not cut. Complexity: partial placements x (operators of a
// stage + their tensor ends).
#ifndef PLANWRIGHT_CORE_PARTITION_ENUMERATION_PIPELINE_ENUMERATION_H_
#define PLANWRIGHT_CORE_PARTITION_ENUMERATION_PIPELINE_ENUMERATION_H_

#include "core/partition/enumeration/device_options.h"
#include "core/partition/enumeration/placement_judge.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/search.h"

namespace planwright {

// Shows `judge` every placement that may be better, until it has had enough. `blocks`: MergeRule::kNever.
void EnumeratePipelines(const SearchRequest& request, const BlockInstance& blocks, const DeviceOptions& devices,
                        PlacementJudge& judge);

// In which orders the devices of the stages are tried, but for the last one.
TeamOrder OrderOfTeams(const SearchRequest& request);

// Whether a set of stages costs the same, and needs the same memory, in every order that is a pipeline.
bool IgnoresOrderOfStages(const ResolvedProblem& problem);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_ENUMERATION_PIPELINE_ENUMERATION_H_
