// Proofs that no plan exists, found without a search.
#ifndef PLANWRIGHT_CORE_PARTITION_SEARCH_FEASIBILITY_H_
#define PLANWRIGHT_CORE_PARTITION_SEARCH_FEASIBILITY_H_

#include <optional>
#include <string>

#include "core/base/infeasibility.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/partition/search/block_instance.h"

namespace planwright {

// Every shortage that an elementary argument proves: a block that no device class can run, a block larger than every
// device that can run it, blocks larger than all devices together; the first ones are listed. nullopt: none (a plan may
// still not exist). O(blocks x pools).
std::optional<Infeasibility> FindShortages(const OperatorGraph& graph, const Cluster& cluster,
                                           const BlockInstance& instance);

// What is known of the memory where a search found nothing that fits, as a clause: "the model needs at least 7.90 GiB
// of 8.00 GiB on all devices; the tightest is operator "embed" with 1.20 GiB, of 2.00 GiB on device "gpu0"". Empty
// where a device is unlimited. REQUIRES: at least one pool.
std::string MemoryDemandText(const OperatorGraph& graph, const Cluster& cluster, const BlockInstance& instance);

// The shortage to report when a complete search found that no contiguous split fits.
Infeasibility NoSplitFits(const OperatorGraph& graph, const BlockInstance& instance);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEARCH_FEASIBILITY_H_
