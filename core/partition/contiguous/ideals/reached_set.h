// The ideals that a number of devices can hold with max load T, and the question whether one more device reaches a
// given ideal from any of them.
//
// The load of the stage between ideals I' and I on a device that pays for transfers separates into a part of I, a part
// of I' and a correction for the nets that both boundaries touch:
//   load(I \ I') = [p(I) + b(I)] + [b(I') - p(I')] - c(I', I),
//   c(I', I) = sum over nets h cut by I of w_h ([h touches I'] + [h and I inside I']),
// p the time, b the border. c only grows with I'. Large sets are kept as a tree over the codes, whose nodes know the
// lane-wise least and greatest code and the extremes of the separable parts, so that whole nodes are refuted or
// accepted at once. A device that does not pay has b = c = 0.
//
// On R devices the load of the stage may be R times as large. What else the load rule asks for (an all-reduce, loads
// that are no sums) is decided start by start; the tree then works with what it allows at most.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_REACHED_SET_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_REACHED_SET_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/base/polling.h"
#include "core/partition/contiguous/ideals/chain_code.h"
#include "core/partition/contiguous/ideals/ideal_enumeration.h"
#include "core/partition/contiguous/ideals/lane_prefix_sums.h"
#include "core/partition/search/block_instance.h"

namespace planwright {

// What stage queries need to know of the instance. Any thread.
template <std::size_t W>
class StageCosts {
 public:
  // Both outlive the object.
  StageCosts(const BlockInstance& instance, const ChainLayout& layout);

  const BlockInstance& instance() const { return instance_; }
  const ChainLayout& layout() const { return layout_; }
  // Lane by lane the first position of a block of `net`; the largest lane value where it has none.
  const ChainCode<W>& FirstPins(int32_t net) const { return first_pins_[static_cast<std::size_t>(net)]; }

  // Time on `pool` of all blocks below `code`.
  int64_t TimeOf(const ChainCode<W>& code, std::size_t pool) const { return times_[pool].Below(layout_, code); }
  // Bytes to reduce of all blocks below `code`.
  int64_t ParametersOf(const ChainCode<W>& code) const { return parameters_.Below(layout_, code); }
  // Load of the stage between two ideals on `replicas` devices of `pool`.
  int64_t Load(const IdealTable<W>& table, std::size_t from, std::size_t to, std::size_t pool, int64_t replicas) const;

  // Whether the blocks between two ideals may share a device of `pool`: supported, and within its memory.
  bool Fits(const IdealTable<W>& table, std::size_t from, std::size_t to, std::size_t pool) const;
  // Whether Fits can fail for `pool` at all.
  bool IsConstrained(std::size_t pool) const { return memory_binds_[pool] || !instance_.pools[pool].supports_all; }
  // Whether the memory of any pool can bind: the tables must hold memory sums.
  bool NeedsMemory() const;
  // Whether Fits has refused a stage for its memory so far.
  bool has_refused_memory() const { return has_refused_memory_.load(std::memory_order_relaxed); }

 private:
  // Calls `visit` for every net that the stage between two ideals cuts.
  template <typename Visit>
  void ForEachCutNet(const IdealTable<W>& table, std::size_t from, std::size_t to, Visit visit) const;
  int64_t CutBuffers(const IdealTable<W>& table, std::size_t from, std::size_t to) const;
  int64_t LargestWorkspace(const ChainCode<W>& from, const ChainCode<W>& to) const;

  const BlockInstance& instance_;
  const ChainLayout& layout_;
  std::vector<ChainCode<W>> first_pins_;
  // By pool; backward times only where the passes are told apart.
  std::vector<LanePrefixSums> times_;
  std::vector<LanePrefixSums> backward_times_;
  LanePrefixSums parameters_;
  std::vector<bool> memory_binds_;
  // Blocks with workspace, the largest first.
  std::vector<int32_t> blocks_by_workspace_;
  mutable std::atomic<bool> has_refused_memory_{false};
};

// One ideal as the end of a stage on devices of one pool. Not thread-safe.
template <std::size_t W>
class StageQuery {
 public:
  // The arguments outlive the query.
  StageQuery(const StageCosts<W>& costs, const IdealTable<W>& table, std::size_t ideal, std::size_t pool,
             int64_t replicas = 1);

  const ChainCode<W>& code() const { return table_.codes[ideal_]; }
  std::size_t ideal() const { return ideal_; }
  std::size_t pool() const { return pool_; }
  int64_t replicas() const { return replicas_; }
  int64_t time() const { return table_.times[pool_][ideal_]; }
  // 0 on a pool that does not pay.
  int64_t border() const { return border_; }
  // p(I) + b(I).
  int64_t base() const { return time() + border_; }
  // c(I', I); `from` need not be an ideal of the table. REQUIRES: `from` is below I.
  int64_t Correction(const ChainCode<W>& from);

 private:
  struct CutNet {
    int64_t weight;
    const ChainCode<W>* first_pins;
    // Lane by lane one past the last block of the net inside the ideal.
    ChainCode<W> inside;
  };

  void PrepareNets();

  const StageCosts<W>& costs_;
  const IdealTable<W>& table_;
  const std::size_t ideal_;
  const std::size_t pool_;
  const int64_t replicas_;
  int64_t border_ = 0;
  // Prepared when first needed: most queries are answered without.
  bool is_prepared_ = false;
  // I' below this touches no cut net.
  ChainCode<W> untouched_;
  absl::InlinedVector<CutNet, 8> nets_;
};

// Ideals reached with one number of devices. Filled once, then read from any thread.
template <std::size_t W>
class ReachedSet {
 public:
  // `ideals`: positions in `table`, ascending. `table` outlives the set and has spatial ranks. O(n). Useless when
  // `poller` was interrupted.
  ReachedSet(const StageCosts<W>& costs, const IdealTable<W>& table, std::vector<uint32_t> ideals, Poller& poller);
  ReachedSet() = default;

  const std::vector<uint32_t>& ideals() const { return ideals_; }
  int64_t Bytes() const;

  // Whether a stage from one of the ideals to the one of `query` has load <= max_load and fits. `min_weight`: no
  // lighter start can do. REQUIRES: the ideal of `query` is not in the set.
  bool Reaches(const StageCosts<W>& costs, const IdealTable<W>& table, StageQuery<W>& query, int64_t max_load,
               int64_t min_weight) const;

  // The start with the least load of the stage (ties: the first), if any is at most max_load and fits.
  std::optional<uint32_t> BestStart(const StageCosts<W>& costs, const IdealTable<W>& table, StageQuery<W>& query,
                                    int64_t max_load) const;

 private:
  // Extremes over the entries of a node, for one pool.
  struct Extremes {
    int64_t min_offset;
    int64_t max_time;
    int64_t max_time_plus_border;
    int64_t min_border;

    void Include(const Extremes& other);
  };
  struct Node {
    ChainCode<W> meet;
    ChainCode<W> join;
  };
  struct Probe;

  void BuildTree(const StageCosts<W>& costs, const IdealTable<W>& table);
  // Appends the nodes above the nodes [begin, end).
  void AddLevel(std::size_t begin, std::size_t end, uint64_t top_bits);
  bool ReachesFromTree(Probe& probe) const;
  bool ReachesFromRange(Probe& probe, std::size_t begin, std::size_t end) const;

  std::vector<uint32_t> ideals_;
  // Entries in tree order (without a tree: in order of `ideals_`).
  std::vector<uint32_t> entries_;
  std::vector<ChainCode<W>> codes_;
  // By pool: b(I') - p(I') of each entry.
  std::vector<std::vector<int64_t>> offsets_;
  // Level by level, leaves first: node i of a level covers nodes 2i and 2i + 1 of the level below, or the entries
  // i x leaf size and on. level_start_[l] is the first node of level l; the root is the last node.
  std::vector<Node> nodes_;
  std::vector<std::size_t> level_start_;
  // By pool, then node.
  std::vector<std::vector<Extremes>> extremes_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEALS_REACHED_SET_H_
