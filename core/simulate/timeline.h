// When every task ran.
#ifndef PLANWRIGHT_CORE_SIMULATE_TIMELINE_H_
#define PLANWRIGHT_CORE_SIMULATE_TIMELINE_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace planwright {

struct Timeline {
  // By task.
  std::vector<Picoseconds> starts;
  std::vector<Picoseconds> ends;
  // All tasks in the order in which they started; of each resource, the order in which it ran them.
  std::vector<int32_t> sequence;
};

// What happens to transfers that want the same link at the same time: one after the other, first come, first served;
// or all at once, each at an equal share of the bandwidth.
enum class Contention { kExclusive, kFairShare };

// Exchanges inside the layers of a plan of the joint search: parts of the passes, or tasks on the links that they use.
enum class Collectives { kInPasses, kOnLinks };

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SIMULATE_TIMELINE_H_
