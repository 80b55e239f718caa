// From a device for every operator to a placement in the form that the problem wants.
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_DEVICE_ASSIGNMENT_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_DEVICE_ASSIGNMENT_H_

#include <vector>

#include "core/base/ids.h"
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

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_DEVICE_ASSIGNMENT_H_
