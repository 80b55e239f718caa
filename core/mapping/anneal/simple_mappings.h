// Mappings by rules of thumb: what searches start from and are measured against.
//
// All keep to the number of replicas of each stage on each kind of device that `kinds` says, so they are mappings
// wherever there are any, and all rings run in the order of replicas.
#ifndef PLANWRIGHT_CORE_MAPPING_ANNEAL_SIMPLE_MAPPINGS_H_
#define PLANWRIGHT_CORE_MAPPING_ANNEAL_SIMPLE_MAPPINGS_H_

#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/mapping/problem/mapping_instance.h"
#include "core/mapping/problem/mapping_tables.h"
#include "core/mapping/problem/stage_kinds.h"

namespace planwright {

// Consecutive stages on consecutive devices, all replicas of a stage side by side: short rings.
Mapping MapConsecutively(const MappingInstance& instance, const KindAssignment& kinds);

// All stages of a replica side by side ("p2p-first"): short pipelines.
Mapping MapReplicasTogether(const MappingInstance& instance, const KindAssignment& kinds);

// Replica by replica and stage by stage, each on the device that is best for it and for its neighbours placed so far,
// the first such. Where the limits say stop, which is looked at for every replica of a stage, the rest go to the first
// devices with room. Complexity O(replicas x devices x traffic).
Mapping MapGreedily(const MappingInstance& instance, const LinkTimes& links, const KindAssignment& kinds,
                    const SolveLimits& limits = {});

// Devices in random order.
Mapping MapRandomly(const MappingInstance& instance, const KindAssignment& kinds, RandomStream& random);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_ANNEAL_SIMPLE_MAPPINGS_H_
