// The energy of annealing towards a target value: what keeps a mapping from it.
//
// Every replica has a limit for its load and one for the link to the next replica of its ring. What is within its limit
// costs nothing; beyond, x costs 0.03 + 1 - limit / x: a *saturated* penalty, so that how many limits are broken counts
// more than how badly, and one hopeless replica does not keep the others from settling.
//
// Where the objective adds the all-reduce to the load, the target is split: each stage has a *ring budget* a, and its
// loads may take what is left of the target. The budget is the one of a few candidates, taken from the ring times and
// loads that the stage has, that costs least; Rebudget looks anew. With kLoadPlusLargestAllReduce all stages share one.
#ifndef PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_PENALTIES_H_
#define PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_PENALTIES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/mapping/problem/mapping_state.h"

namespace planwright {

// For one thread; the state outlives it.
class MappingPenalties {
 public:
  // Something beyond its limit.
  struct Violation {
    int32_t vertex = 0;
    // The link to the next replica of the ring, not the load.
    bool is_ring = false;
  };

  MappingPenalties(const MappingState& state, double target_ms);

  // Complexity O(replicas log replicas).
  void SetTarget(double target_ms);
  void Rebudget() { SetTarget(target_ms_); }

  double load_limit(int32_t stage) const { return limits_[Index(stage)].load; }
  double ring_limit(int32_t stage) const { return limits_[Index(stage)].ring; }
  std::size_t num_violations() const { return violated_.size(); }
  // In no particular order.
  Violation violation(std::size_t i) const;

  // What the changes of the state since its last Accept or Undo add to the energy.
  double Preview();
  // Takes over what Preview computed.
  void Accept();

  // Whether the mapping has a value below `value_ms` >= the target, latencies and bandwidths of different links in one
  // ring apart. False also where many limits are broken. Complexity O(1), where all-reduces are added O(replicas) at
  // worst.
  bool IsBelow(double value_ms) const;

 private:
  // Items: vertex v's load at v, its ring time at V + v.
  struct Change {
    std::size_t item = 0;
    double penalty = 0;
  };
  struct Limits {
    double load = 0;
    double ring = 0;
  };

  double TimeOf(std::size_t item) const;
  double LimitOf(std::size_t item) const;
  void PreviewItem(std::size_t item);
  void SetPenalty(std::size_t item, double penalty);
  void ChooseLimits();
  Limits SplitTarget(double ring_budget) const;
  double SumsOfStages() const;
  Limits ChooseSplit(const std::vector<int32_t>& vertices) const;
  double PenaltyUnder(const std::vector<int32_t>& vertices, const Limits& limits) const;

  const MappingState& state_;
  const MappingInstance& instance_;
  const std::size_t num_vertices_;
  // The target is split between loads and all-reduces.
  const bool adds_allreduce_;
  double target_ms_ = 0;
  std::vector<Limits> limits_;
  std::vector<double> penalty_;
  // Items beyond their limit, and where each is listed; -1: it is not.
  std::vector<std::size_t> violated_;
  std::vector<int32_t> place_;
  // What the last Preview changed; looked_at_ keeps items that changed twice from counting twice.
  std::vector<Change> changes_;
  std::vector<uint32_t> looked_at_;
  uint32_t look_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_PENALTIES_H_
