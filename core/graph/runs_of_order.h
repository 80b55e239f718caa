// Consecutive runs of a linear order, cut where little crosses.
#ifndef PLANWRIGHT_CORE_GRAPH_RUNS_OF_ORDER_H_
#define PLANWRIGHT_CORE_GRAPH_RUNS_OF_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace planwright {

// For every position of an order the number 0, 1, ... of its run, ascending; at most `max_runs` runs, and about as many
// where there are enough positions. The order is divided into buckets of equal weight, and in each bucket the border
// that the least crosses is kept. `weights`: of each position; the mean weight is spread evenly on top, so that
// positions of no weight count for something. `borders[i]`: what crosses between the positions i - 1 and i.
// REQUIRES: max_runs >= 1; weights >= 0; one border for each position. O(positions).
std::vector<int32_t> RunsOfOrder(std::span<const double> weights, std::span<const int64_t> borders,
                                 std::size_t max_runs);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_GRAPH_RUNS_OF_ORDER_H_
