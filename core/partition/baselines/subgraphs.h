// From a device for every operator to the subgraphs of a latency plan.
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_SUBGRAPHS_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_SUBGRAPHS_H_

#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// The operators of one pass on an accelerator become one subgraph if no path leaves them and comes back; otherwise they
// are cut by the number of times that a path has come back, as the program of device-placement does it.
// Subgraphs come in topological order where there is one, so that each waits only for those before it; the operators on
// CPUs form the last stage, on the first CPU. `device_of`: by operator; nullopt: the workload drops it.
// O(accelerators in use x (operators + tensor ends)).
Placement CutIntoSubgraphs(const OperatorGraph& graph, const Cluster& cluster,
                           const std::vector<std::optional<DeviceId>>& device_of);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_SUBGRAPHS_H_
