// The way between two devices by trying every simple path: for small sets of links only.
#ifndef PLANWRIGHT_TESTS_SUPPORT_WAY_SEARCH_H_
#define PLANWRIGHT_TESTS_SUPPORT_WAY_SEARCH_H_

#include <cstddef>

#include "core/base/units.h"
#include "core/model/cluster.h"

namespace planwright {

struct Way {
  double bandwidth_bytes_per_second = 0;
  Picoseconds latency{0};
};

// What the routing of `links` takes from `from` to another device `to`. Exponential.
Way BestWay(const LinksInterconnect& links, std::size_t num_devices, std::size_t from, std::size_t to);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_WAY_SEARCH_H_
