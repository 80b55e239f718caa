// Operator clustering: blocks to hyper-operators, so that the dynamic program has few of them (Parmesan, section 4.2).
//
// Again and again the two adjacent hyper-operators of least cost
//   cost(u, v) = c_u(u) + c_u(v) - alpha x c_m(u, v)     (equation 4)
// become one, unless that would make a cycle or fit on no device. Small ones come first, so they stay of similar time;
// alpha says how much a long transfer between them counts.
//
// The paper looks at all pairs in every step, O(|V| |E|). Here a queue holds them; times only grow, so the costs in it
// are at most too low and are corrected when they come up, and a pair that is not convex is looked at again only after
// one of the two has changed. Convexity: core/graph/contracting_dag.h. 100,000 operators take about a second.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_CLUSTERING_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_CLUSTERING_H_

#include <cstdint>
#include <vector>

#include "core/base/limits.h"
#include "core/partition/search/allowed_devices.h"
#include "core/partition/search/block_instance.h"

namespace planwright {

struct ClusteringOptions {
  // K of the paper.
  int32_t max_clusters = 256;
  // The factor of equation 4.
  double alpha = 0.001;
};

// A label 0, 1, ... for every block. At most max_clusters of them, or as few as no valid pair leaves, or as many as
// there are when the limits end it. The precedence between labels is acyclic; the blocks of a label are supported by
// one pool, fit there, and have a device in common in `allowed` (by block; empty: all). Ties go to the smaller block
// numbers.
std::vector<int32_t> ClusterBlocks(const BlockInstance& instance, const ClusteringOptions& options,
                                   const SolveLimits& limits, const std::vector<DeviceSet>& allowed = {});

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_CLUSTERING_H_
