// Random pipelines to start from.
#ifndef PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_STARTS_H_
#define PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_STARTS_H_

#include "core/base/random.h"
#include "core/partition/stage_annealing/pipeline_tables.h"

namespace planwright {

// A linear order of the blocks, cut where stages come out about equally long, on devices in the order of the cluster or
// in any. Numbers of stages and replicas are those asked for, else drawn. It obeys the invariants of PipelineState;
// memory, support, pins and bans are left to the search. REQUIRES: num_stages x num_replicas devices of few classes, or
// nothing is asked for; where they do not suffice there are fewer stages. O(blocks log + edges + devices).
Pipeline RandomPipeline(const PipelineTables& tables, RandomStream& random);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_STARTS_H_
