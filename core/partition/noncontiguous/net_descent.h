// Descent from an assignment that is good already: variable neighbourhoods around the two most loaded devices, which
// annealing, blind to which device is the fullest, tries rarely.
//
// First one group of such a device to any other; then two groups, the second from where the first goes (a swap, or an
// ejection to a third device) or a neighbour of the first from anywhere. The first pair that lowers the objective is
// taken, and the search begins anew with single groups.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_DESCENT_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_DESCENT_H_

#include <cstdint>

#include "core/base/polling.h"
#include "core/partition/noncontiguous/net_state.h"

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

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_DESCENT_H_
