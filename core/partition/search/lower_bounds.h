// Bounds on the max load that need no search.
#ifndef PLANWRIGHT_CORE_PARTITION_SEARCH_LOWER_BOUNDS_H_
#define PLANWRIGHT_CORE_PARTITION_SEARCH_LOWER_BOUNDS_H_

#include <cstdint>
#include <vector>

#include "core/model/plan.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/load_windows.h"

namespace planwright {

// A load that no split exceeds: everything on one device, every net paid twice, all parameters reduced by all devices.
int64_t TrivialLoadBound(const BlockInstance& instance);

// Proven lower bounds on the max load of any split, each with its method, PROBLEM scope:
//   "work"           all devices together have the capacity for all blocks only above it;
//   "largest_block"  every block runs somewhere, on the pool and the number of replicas where it takes the least time.
// REQUIRES: every block has a pool that supports it. O(blocks x pools (x devices with replication) + log).
std::vector<Bound> ElementaryBounds(const BlockInstance& instance, const LoadWindows& windows);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEARCH_LOWER_BOUNDS_H_
