// The ideals that lie inside the load windows, each exactly once, with the sums that stage costs are made of.
//
// Branching on "the next free block is in / is out": the blocks taken so far are a lower end, the largest ideal without
// the excluded blocks an upper end, and a branch whose range of weights meets no window is cut. Where only one lane is
// left to decide, the search goes along it from window to window at once. No hash table is needed, and the work is
// proportional to the ideals found times the width of the graph.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_IDEAL_ENUMERATION_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_IDEAL_ENUMERATION_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/contiguous/ideals/chain_code.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/load_windows.h"

namespace planwright {

// Ideals as parallel arrays, ascending by weight, ties by code.
template <std::size_t W>
struct IdealTable {
  std::vector<ChainCode<W>> codes;
  std::vector<int64_t> weights;
  // By pool: sum of times of the supported blocks, and the number of unsupported blocks (empty where there are none).
  std::vector<std::vector<int64_t>> times;
  std::vector<std::vector<int32_t>> unsupported;
  // Total weight of the nets that the ideal cuts.
  std::vector<int64_t> borders;
  // Cut nets of ideal i: cut_nets[cut_start[i] .. cut_start[i + 1] - 1].
  std::vector<int64_t> cut_start;
  std::vector<int32_t> cut_nets;
  // Empty unless memory can bind.
  std::vector<MemorySums> memory;
  // Rank of each ideal in an order that keeps similar codes together: repeated halving along the widest lane.
  std::vector<uint32_t> spatial_ranks;

  std::size_t size() const { return codes.size(); }
  std::span<const int32_t> CutNets(std::size_t ideal) const {
    return std::span(cut_nets).subspan(static_cast<std::size_t>(cut_start[ideal]),
                                       static_cast<std::size_t>(cut_start[ideal + 1] - cut_start[ideal]));
  }
  // Bytes that the arrays hold.
  int64_t Bytes() const;
};

enum class EnumerationEnd {
  kComplete,
  // More than max_ideals ideals, or more than max_bytes bytes.
  kTooMany,
  kTooLarge,
  kInterrupted
};

struct EnumerationLimits {
  int64_t max_ideals = std::numeric_limits<int64_t>::max();
  int64_t max_bytes = std::numeric_limits<int64_t>::max();
};

// Fills `table` with the ideals of which at least one window admits weight and border. The empty ideal is always there,
// and comes first; so is the full one, and comes last, when the windows are those of a max load of at least the work
// bound. On any end but kComplete the contents are unspecified. Deterministic for any arena.
// REQUIRES: layout.num_words() <= W.
template <std::size_t W>
EnumerationEnd EnumerateIdeals(const BlockInstance& instance, const ChainLayout& layout,
                               const LoadWindows& load_windows, std::span<const LoadWindow> windows, bool with_memory,
                               const EnumerationLimits& enumeration_limits, const SolveLimits& limits, TaskArena& arena,
                               IdealTable<W>& table);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_IDEAL_ENUMERATION_H_
