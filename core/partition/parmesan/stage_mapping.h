// From stages to the device mapping problem, and from a mapping to a placement.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_STAGE_MAPPING_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_STAGE_MAPPING_H_

#include "core/mapping/problem/mapping_instance.h"
#include "core/model/problem.h"
#include "core/partition/parmesan/stage_partition.h"
#include "core/partition/search/search.h"

namespace planwright {

// The mapping of `partition` with these replicas of its stages. Devices of one class with the same memory and the
// same pins and bans are of one kind; a stage may be on the kinds that run and hold it and that no pin or ban excludes.
// Replicas of a stage must be of one class, so stages with several stay on the class that they were made for, and so do
// all where a limit counts the devices of some classes only. The value of a mapping is the time per
// micro-batch in milliseconds but for rounding. It is a lower bound of it for GPIPE without a number of micro-batches,
// and for kParmesanPaper, which maps for one of equations (6) and (7) where stages have replicas that do not overlap.
// Different numbers of replicas are for the limit of many micro-batches. O(graph + stages x kinds).
MappingInstance MappingInstanceOf(const SearchRequest& request, const StagePartition& partition,
                                  StageReplicas replicas);

// The stages on their devices, with rings where stages have replicas.
Placement PlacementOf(const StagePartition& partition, const StageReplicas& replicas, const Mapping& mapping);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_STAGE_MAPPING_H_
