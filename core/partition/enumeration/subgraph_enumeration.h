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
#ifndef PLANWRIGHT_CORE_PARTITION_ENUMERATION_SUBGRAPH_ENUMERATION_H_
#define PLANWRIGHT_CORE_PARTITION_ENUMERATION_SUBGRAPH_ENUMERATION_H_

#include <cstdint>
#include <limits>

#include "core/model/problem.h"
#include "core/partition/enumeration/device_options.h"
#include "core/partition/enumeration/placement_judge.h"
#include "core/partition/search/search.h"

namespace planwright {

// Shows `judge` every placement that may be better, until it has had enough.
void EnumerateSubgraphs(const SearchRequest& request, const DeviceOptions& devices, PlacementJudge& judge);

// The most subgraphs that one accelerator may run in each pass.
inline int32_t MostSubgraphs(const ResolvedProblem& problem) {
  if (problem.max_subgraphs_per_device.has_value()) return *problem.max_subgraphs_per_device;
  return problem.split == Split::kContiguous ? 1 : std::numeric_limits<int32_t>::max();
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_ENUMERATION_SUBGRAPH_ENUMERATION_H_
