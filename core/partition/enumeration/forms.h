// The searches through every placement, one for each form of problem.
#ifndef PLANWRIGHT_CORE_PARTITION_ENUMERATION_FORMS_H_
#define PLANWRIGHT_CORE_PARTITION_ENUMERATION_FORMS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/graph/chain.h"
#include "core/graph/digraph.h"
#include "core/model/problem.h"
#include "core/partition/enumeration/device_options.h"
#include "core/partition/enumeration/placement_judge.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/search.h"

namespace planwright {

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
//
// Shows `judge` every placement that may be better, until it has had enough. `blocks`: MergeRule::kNever.
void EnumeratePipelines(const SearchRequest& request, const BlockInstance& blocks, const DeviceOptions& devices,
                        PlacementJudge& judge);

// In which orders the devices of the stages are tried, but for the last one.
TeamOrder OrderOfTeams(const SearchRequest& request);

// Whether a set of stages costs the same, and needs the same memory, in every order that is a pipeline.
bool IgnoresOrderOfStages(const ResolvedProblem& problem);

// Every allocation of groups of operators to devices, or to teams of replicas, that may hold several stages.
//
// Problem: MAX_THROUGHPUT with Split::kNonContiguous, host_staged or uniform, in the limit of many micro-batches, with
// pins, bans and limits on devices. All pairs of devices are connected alike, so that a team is a set of devices.
//
// Idea: depth first over the groups, the longest first; each joins a team that holds others, or a new one made of idle
// devices. A branch is cut where the loads of the teams, counting the tensors whose ends are placed, do not beat the
// incumbent, or the memory of a team overflows: both only grow. Any allocation can be cut into stages
// (virtual_devices.h).
//
// Exact: the search looks at every allocation that it does not cut. Complexity: partial allocations x (operators +
// tensor ends).
//
// Shows `judge` every placement that may be better, until it has had enough. `groups`: those of NetInstance.
void EnumerateAllocations(const SearchRequest& request, const std::vector<std::vector<OperatorId>>& groups,
                          const DeviceOptions& devices, PlacementJudge& judge);

// Every set of subgraphs and every order of them on their accelerators.
//
// Problem: MIN_LATENCY, with pins, bans, limits on devices, and any number of subgraphs per device and pass.
//
// Idea: depth first over the operators in topological order; each goes to a CPU, joins a subgraph of its pass on an
// accelerator, or becomes a new subgraph anywhere in the order of an accelerator. So each ordered set of subgraphs
// comes up once. A branch is cut where the operators so far cannot be executed, or where the schedule of those so far,
// followed by the longest chain of least times behind each of them, does not beat the incumbent: more operators only
// add durations and waits, and an operator behind another one finishes its least time later even where it joins the
// same subgraph.
//
// CPUs run any number of operators at a time, so of those of one kind without a memory limit only the first is used.
//
// Exact: the search looks at every placement that it does not cut. Complexity: partial placements x (operators + tensor
// ends).
//
// Shows `judge` every placement that may be better, until it has had enough.
void EnumerateSubgraphs(const SearchRequest& request, const DeviceOptions& devices, PlacementJudge& judge);

// The most subgraphs that one accelerator may run in each pass.
inline int32_t MostSubgraphs(const ResolvedProblem& problem) {
  if (problem.max_subgraphs_per_device.has_value()) return *problem.max_subgraphs_per_device;
  return problem.split == Split::kContiguous ? 1 : std::numeric_limits<int32_t>::max();
}

// Every placement under PERIODIC, each with its best pattern.
//
// Problem: schedule PERIODIC: stages along any linear order of the operators, on accelerators of one class; with
// Split::kContiguous each on one of its own, which may have any memory, else up to max_stages_per_device on each, which
// have equal memory.
//
// Idea: stages are taken from the last to the first, as in EnumeratePipelines; their order matters, because tensors
// that skip a stage are relayed by it. 1F1B* stores the least at every stage, and what it stores follows from the delay
// behind the stage (core/schedule/delay.h). So a branch is cut where the stages so far, with all that is left as one
// stage in front of them, do not fit into a period just below the incumbent; a longer period never stores more, so
// bisection finds the period of a whole pipeline. Where devices hold several stages, the same counts are bounds, and
// the pattern search (core/schedule/pattern_search.h) finds the period.
//
// Exact, unless the pattern search gives up: then it says what it is sure of. Complexity: partial placements x
// (operators + tensor ends), and the logarithm of the time for whole ones.
//
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

// How many placements an enumeration looks at if it cuts nothing.
//
// Contiguous: chains of ideals with k stages x ways to give devices to k stages in turn, over all k. Non-contiguous:
// ways to divide the groups into k parts (Stirling numbers of the second kind) x the same ways; this bounds contiguous
// placements too where the order of stages does not matter. MIN_LATENCY: ordered divisions of the operators of each
// pass into subgraphs, times those over CPUs. Devices of one kind (device_options.h) are not told apart, except for
// latency. Upper bounds: branches that share a cut, pins and memory are not looked at.
//
// A problem whose search would nest too deep for the stack has no number either.
//
// Numbers above are as good as infinite.
inline constexpr int64_t kMaxPlacements = 10'000'000;

// nullopt: more than kMaxPlacements, too many to be counted in some milliseconds, or nested too deep.
std::optional<int64_t> CountPipelines(const SearchRequest& request, const Digraph& precedence,
                                      const DeviceOptions& devices);
std::optional<int64_t> CountAllocations(const SearchRequest& request, std::size_t num_groups,
                                        const DeviceOptions& devices);
// Under PERIODIC. nullopt also where devices that hold several stages differ.
std::optional<int64_t> CountChains(const SearchRequest& request, const Digraph& precedence,
                                   const DeviceOptions& devices);
std::optional<int64_t> CountSubgraphs(const SearchRequest& request, const DeviceOptions& devices);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_ENUMERATION_FORMS_H_
