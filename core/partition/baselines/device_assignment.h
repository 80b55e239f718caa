// From a device for every operator to a placement in the form that the problem wants.
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_DEVICE_ASSIGNMENT_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_DEVICE_ASSIGNMENT_H_

#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/search.h"

namespace planwright {

// `device_of`: a device for each block of `instance`, which is made for the graph of `request`.
//   MAX_THROUGHPUT, CONTIGUOUS      one stage per device, in pipeline order where there is one;
//   MAX_THROUGHPUT, NON_CONTIGUOUS  stages that follow each other in topological order (virtual_devices.h);
//   MIN_LATENCY                     the subgraphs that every accelerator holds of each pass, CPU operators in one
//   stage.
// Whether the problem allows the placement is for others to say. O(operators + tensor ends) beside sorting.
Placement PlacementOfBlocks(const SearchRequest& request, const BlockInstance& instance,
                            const std::vector<DeviceId>& device_of);

// From a device for every operator to the subgraphs of a latency plan. The operators of one pass on an accelerator
// become one subgraph if no path leaves them and comes back; otherwise they are cut by the number of times that a path
// has come back, as the program of device-placement does it. Subgraphs come in topological order where there is one, so
// that each waits only for those before it; the operators on CPUs form the last stage, on the first CPU. `device_of`:
// by operator; nullopt: the workload drops it. O(accelerators in use x (operators + tensor ends)).
Placement CutIntoSubgraphs(const OperatorGraph& graph, const Cluster& cluster,
                           const std::vector<std::optional<DeviceId>>& device_of);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_DEVICE_ASSIGNMENT_H_
