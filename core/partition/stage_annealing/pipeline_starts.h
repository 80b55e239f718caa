// Random pipelines to start from.
#ifndef PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_STARTS_H_
#define PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_STARTS_H_

#include "core/base/random.h"
#include "core/partition/stage_annealing/pipeline_tables.h"

namespace planwright {

// A linear order of the blocks, cut where stages come out about equally long, on devices in the order of the cluster or
// in any, or, where links are unlike and stages may have several replicas, every other time on a node each. Numbers of
// stages and replicas are those asked for, else drawn; where there are not so many devices of one class, there are
// fewer stages, or none at all. It obeys the invariants of PipelineState; memory, support, pins and bans are left to
// the search. O(blocks log + edges + devices x classes).
Pipeline RandomPipeline(const PipelineTables& tables, RandomStream& random);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_STARTS_H_
