// The portfolio of annealing runs for non-contiguous splits.
//
// Different graphs want different energies: a small lambda suits long chains of equal layers, a large one wide
// convolutional graphs. So ten arms (five settings, each from a flat and from a multilevel start) take turns in slices
// of growing length; each arm runs once, then the arm with the best mean end has every second slice, and every fourth
// slice reheats the incumbent instead. A slice that found a better assignment ends with a descent from it. With
// replication each slice starts from random teams. Slices run in batches of given sizes, each with a random stream of
// its own, and are merged in order: the outcome depends on the seed and on the work, not on the threads.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_ANNEALING_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_ANNEALING_H_

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/base/task_arena.h"
#include "core/partition/noncontiguous/net_annealer.h"
#include "core/partition/noncontiguous/net_tables.h"

namespace planwright {

// Not thread-safe; tables, limits and arena outlive it. limits.work counts groups moved on trial.
class NetAnnealing {
 public:
  NetAnnealing(const NetTables& tables, int64_t seed, const SolveLimits& limits, TaskArena& arena);

  // Bytes that the slices of a batch take at most, their coarse instances included.
  static int64_t BytesFor(const NetInstance& instance);

  // Makes `assignment` the incumbent if it is better than what is there. REQUIRES: it may be run and fits.
  void Offer(NetAssignment assignment);

  // One batch of slices. False: the work is used up, or the limits say stop.
  bool RunBatch();

  // Empty: none yet.
  const NetAssignment& incumbent() const { return incumbent_; }
  // Objective of the incumbent; without one, a load above any.
  int64_t incumbent_load() const { return incumbent_load_; }
  int64_t moves() const { return moves_; }
  int64_t slices() const { return slices_; }

 private:
  static constexpr std::size_t kArms = 10;
  struct Arm {
    AnnealingSettings settings;
    bool is_multilevel = false;
    double sum_of_ends = 0;
    int64_t runs = 0;
  };
  struct Slice {
    std::size_t arm = 0;
    bool reheats = false;
    int64_t moves = 0;
    uint64_t stream = 0;
    // At most for the descent from the best assignment.
    int64_t descent_moves = 0;
    AnnealingResult result;
  };

  std::vector<Slice> NextBatch();
  Slice NextSlice();
  std::size_t ChooseArm();
  int64_t SliceMoves() const;
  void Run(Slice& slice) const;
  NetAssignment Start(RandomStream& random) const;
  AnnealingResult RunMultilevel(const Slice& slice, RandomStream& random, Poller& poller) const;
  void Descend(Slice& slice, Poller& poller) const;
  void Merge(Slice& slice);

  const NetTables& tables_;
  const uint64_t seed_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  RandomStream choices_;
  std::array<Arm, kArms> arms_;
  NetAssignment flat_start_;
  NetAssignment incumbent_;
  int64_t incumbent_load_;
  int64_t moves_ = 0;
  int64_t planned_moves_ = 0;
  int64_t slices_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_ANNEALING_H_
