// Long linear orders with few places to cut, so that the linearized program stays quick on huge graphs.
//
// The program takes the square of the number of positions. A cut is worth considering where little is sent across it,
// and loads need no finer steps than a small share of a stage: the order is divided into buckets of equal time, and in
// each bucket the position that the least weight of nets crosses is kept. Blocks between two kept positions move as a
// unit. The split found is one of the fine order, not always its best.
#ifndef PLANWRIGHT_CORE_PARTITION_SEARCH_BLOCK_RUNS_H_
#define PLANWRIGHT_CORE_PARTITION_SEARCH_BLOCK_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/partition/search/block_instance.h"

namespace planwright {

// For every block the number 0, 1, ... of its run of `order`, ascending along it; at most `max_runs` runs, and about as
// many where there are enough blocks. `order`: all blocks, topologically. REQUIRES: max_runs >= 1.
// O(blocks + pins).
std::vector<int32_t> RunsOf(const BlockInstance& instance, const std::vector<int32_t>& order, std::size_t max_runs);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEARCH_BLOCK_RUNS_H_
