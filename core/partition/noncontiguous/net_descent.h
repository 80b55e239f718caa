// Descent from an assignment that is good already: variable neighbourhoods around the two most loaded devices, which
// annealing, blind to which device is the fullest, tries rarely.
//
// First one group of such a device to any other; then two groups, the second from where the first goes (a swap, or an
// ejection to a third device) or a neighbour of the first from anywhere. The first pair that lowers the objective is
// taken, and the search begins anew with single groups.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_DESCENT_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_DESCENT_H_

#include <cstdint>
#include <vector>

#include "core/base/polling.h"
#include "core/base/random.h"
#include "core/partition/noncontiguous/net_state.h"
#include "core/partition/noncontiguous/net_tables.h"

namespace planwright {

struct DescentResult {
  NetAssignment assignment;
  // Its objective; never above that of the start.
  int64_t load = 0;
  // Groups moved on trial.
  int64_t moves = 0;
};

// Ends in a local optimum, after about `moves` groups moved on trial, or when `poller` says stop. O(degree + devices) a
// move. REQUIRES: `start` fits the memory.
DescentResult Descend(const NetTables& tables, NetAssignment start, int64_t moves, Poller& poller);

// Random clusters of groups that exchange much, for annealing that first moves whole clusters: without them it freezes
// in splits that cut through the middle of layers.
//
// Repeated random heavy-edge matching as in multilevel partitioning (Karypis, Kumar: A fast and high quality multilevel
// scheme for partitioning irregular graphs, 1998), on nets: two clusters attract each other by weight / (groups - 1) of
// the nets between them, times a random factor.
struct ClusterLimits {
  // A cluster takes at most this share of `load` on its fastest device, and of the memory of its largest one.
  double max_share = 0.5;
  int64_t load = 0;
  // Matching ends when there are no more clusters than this.
  int32_t enough_clusters = 1;
};

// A label 0, 1, ... for every group; every cluster has a device that may run it. O(rounds x pins x groups of small
// nets), at most kMaxRounds rounds.
std::vector<int32_t> RandomClusters(const NetTables& tables, const ClusterLimits& limits, RandomStream& random);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_DESCENT_H_
