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

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SIMULATE_TIMELINE_H_
