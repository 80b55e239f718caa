// Proofs that no plan exists, found without a search.
#ifndef PLANWRIGHT_CORE_PARTITION_FEASIBILITY_H_
#define PLANWRIGHT_CORE_PARTITION_FEASIBILITY_H_

#include <optional>

#include "core/base/infeasibility.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/partition/block_instance.h"

namespace planwright {

// Every shortage that an elementary argument proves: a block that no device class can run, a block larger than every
// device that can run it, blocks larger than all devices together. nullopt: none (a plan may still not exist).
// O(blocks x pools).
std::optional<Infeasibility> FindShortages(const OperatorGraph& graph, const Cluster& cluster,
                                           const BlockInstance& instance);

// The shortage to report when a complete search found that no contiguous split fits.
Infeasibility NoSplitFits(const OperatorGraph& graph, const BlockInstance& instance);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_FEASIBILITY_H_
