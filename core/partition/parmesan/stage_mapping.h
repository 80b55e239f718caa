// From stages to the device mapping problem, and from a mapping to a placement.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_STAGE_MAPPING_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_STAGE_MAPPING_H_

#include <cstdint>
#include <vector>

#include "core/mapping/problem/mapping_instance.h"
#include "core/model/problem.h"
#include "core/partition/parmesan/stage_partition.h"
#include "core/partition/search/search.h"

namespace planwright {

// The mapping of `partition` with `replicas` replicas of each stage. Devices of one class with the same memory and the
// same pins and bans are of one kind; a stage may be on the kinds that run and hold it and that no pin or ban excludes.
// Replicas of a stage must be of one class, so with several replicas stages stay on the class that they were made for,
// and so they do where a limit counts the devices of some classes only. The value of a mapping is the time per
// micro-batch in milliseconds but for rounding. It is a lower bound of it for GPIPE without a number of micro-batches,
// and for kParmesanPaper, which maps for one of equations (6) and (7) where stages have replicas that do not overlap.
// O(graph + stages x kinds).
MappingInstance MappingInstanceOf(const SearchRequest& request, const StagePartition& partition, int32_t replicas);

// The stages on their devices, with rings where stages have replicas.
Placement PlacementOf(const StagePartition& partition, int32_t replicas, const Mapping& mapping);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_STAGE_MAPPING_H_
