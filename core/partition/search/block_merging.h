// Merges blocks that cost nothing into a neighbour, which shrinks the number of ideals and loses no optimum.
//
// A block v without time, memory and parameters to reduce may join block u when
//   1. every pool that supports u supports v,
//   2. every net of v holds u as well, and no one else if v sends it to its readers while what goes in and out is
//      weighed apart (FULL_DUPLEX), and
//   3. u is the only predecessor of v, or the only successor of v (or v has no neighbours at all).
// Proof: take any feasible split and move v to the stage of u. By 3 the order of stages stays valid. By 2 no device
// pays more: a net of v was already cut at u's device, in the same direction where that matters, and at v's old device
// it is cut at most where it was before. By 1 and the missing time and memory nothing else changes. (The "trivial node"
// step of the program of device-placement lacks conditions 1 and 2 and the memory part, and can lose
// feasibility.)
//
// MergeRule::kIgnoreMemory drops the condition on memory. A split of the merged blocks is still a split of the graph,
// and the least load of the merged blocks without memory limits is that of the graph without them: a bound proven
// without ever refusing a stage for its memory holds for the graph. It merges what kExact merges and then more.
#ifndef PLANWRIGHT_CORE_PARTITION_SEARCH_BLOCK_MERGING_H_
#define PLANWRIGHT_CORE_PARTITION_SEARCH_BLOCK_MERGING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/partition/search/block_instance.h"

namespace planwright {

// The block that each block of `instance` joins, by repeated merging: labels 0, 1, ... by smallest member.
// O(blocks x degree x log) for the sparse graphs of DNNs.
std::vector<int32_t> MergeFreeBlocks(const BlockInstance& instance, MergeRule rule);

// Long linear orders with few places to cut, so that the linearized program stays quick on huge graphs.
//
// The program takes the square of the number of positions. A cut is worth considering where little is sent across it,
// and loads need no finer steps than a small share of a stage: the order is divided into buckets of equal time, and in
// each bucket the position that the least weight of nets crosses is kept. Blocks between two kept positions move as a
// unit. The split found is one of the fine order, not always its best.
//
// For every block the number 0, 1, ... of its run of `order`, ascending along it; at most `max_runs` runs, and about as
// many where there are enough blocks. `order`: all blocks, topologically. REQUIRES: max_runs >= 1.
// O(blocks + pins).
std::vector<int32_t> RunsOf(const BlockInstance& instance, const std::vector<int32_t>& order, std::size_t max_runs);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEARCH_BLOCK_MERGING_H_
