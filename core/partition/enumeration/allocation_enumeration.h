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
#ifndef PLANWRIGHT_CORE_PARTITION_ENUMERATION_ALLOCATION_ENUMERATION_H_
#define PLANWRIGHT_CORE_PARTITION_ENUMERATION_ALLOCATION_ENUMERATION_H_

#include <vector>

#include "core/base/ids.h"
#include "core/partition/enumeration/device_options.h"
#include "core/partition/enumeration/placement_judge.h"
#include "core/partition/search/search.h"

namespace planwright {

// Shows `judge` every placement that may be better, until it has had enough. `groups`: those of NetInstance.
void EnumerateAllocations(const SearchRequest& request, const std::vector<std::vector<OperatorId>>& groups,
                          const DeviceOptions& devices, PlacementJudge& judge);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_ENUMERATION_ALLOCATION_ENUMERATION_H_
