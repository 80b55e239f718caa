// The portfolio behind MapStages: annealing and exact searches take turns on one incumbent and one bound.
//
// Annealing runs in batches (mapping_annealing.h). Exact rounds are made of tasks of equal work:
//   proving     filters and complete cover searches that raise the bound (load_prover.h)
//   diving      cover searches in random order at targets between bound and value (replica_cover_search.h)
//   repairing   a few replicas placed anew (replica_repair.h)
// Where loads and all-reduces both count, the best mappings found for either of the paper's two instantiations are what
// annealing starts from: the answer is never worse than those.
// Large machines that consist of equal small ones are offered mappings of one of those first (machine_tiles.h).
// Tasks run in parallel; what they found is taken in their order, so the answer does not depend on the number of
// threads. Rounds grow from milliseconds to tenths of a second. Where rings count, only proving is left of them. No
// engine wins everywhere (docs/mapping.md).
#ifndef PLANWRIGHT_CORE_MAPPING_MAPPING_SEARCH_H_
#define PLANWRIGHT_CORE_MAPPING_MAPPING_SEARCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/mapping/anneal/mapping_annealing.h"
#include "core/mapping/mapping.h"
#include "core/mapping/problem/mapping_tables.h"
#include "core/mapping/problem/stage_kinds.h"
#include "core/mapping/prove/device_symmetry.h"
#include "core/mapping/prove/load_prover.h"
#include "core/mapping/prove/machine_tiles.h"
#include "core/mapping/prove/replica_cover_search.h"
#include "core/mapping/prove/replica_model.h"
#include "core/mapping/prove/replica_repair.h"
#include "core/mapping/prove/ring_bounds.h"

namespace planwright {

// For one call of Run. What it is given outlives it.
class MappingSearch {
 public:
  MappingSearch(const MappingInstance& instance, const KindAssignment& kinds, const MappingOptions& options,
                const SolveLimits& limits, TaskArena& arena, const MappingCallback& on_improvement);

  MappingOutcome Run();

 private:
  // A mapping that a task of a round came by.
  using Findings = std::optional<Mapping>;
  enum class Task { kProve, kDive, kRepair };
  // What work has brought lately: the gap that it closed, relative to the value, and itself; both fade with every turn.
  struct Yield {
    double gap = 0;
    double work = 0;

    void Add(double gap_closed, int64_t work_done);
    double PerWork() const { return work > 0 ? gap / work : 0; }
  };

  void CountWork();
  void TakeIncumbent();
  void OfferBound(double value_ms, const std::string& method);
  void OfferLoadBound();
  bool IsDone();
  void BoundRings();
  void CloseRings();
  bool IsExact() const;
  bool IsExactTurn() const;
  double RelativeGap() const;
  double LoadShare(double value_ms) const { return value_ms - rings_apart_ms_; }
  void StartProving();
  void OfferInstantiations();
  void OfferTiles();
  void RunAnnealing();
  void RunRound();
  Findings RunTask(std::size_t slot, int64_t work);
  Findings Prove(int64_t work);
  Findings Dive(std::size_t slot, int64_t work, RandomStream& random);
  Findings Repair(int64_t work, RandomStream& random);
  Mapping RepeatOn(const MachineTiles& tiles, const Mapping& of_first) const;
  ReplicaPlaces PlacesOf(const Mapping& mapping) const;
  Mapping MappingOf(const ReplicaPlaces& replicas) const;

  const MappingInstance& instance_;
  const KindAssignment& kinds_;
  const MappingOptions& options_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const MappingCallback& on_improvement_;
  MappingTables tables_;
  MappingAnnealing annealing_;
  ReplicaModel model_;
  DeviceSymmetry symmetry_;
  // The least that any mapping adds to its largest load for its largest all-reduce, where the objective adds them.
  double rings_apart_ms_ = 0;
  std::unique_ptr<RingBounds> rings_;
  // The value that CloseRings looked at last.
  double last_closed_ms_ = 0;
  std::vector<double> surcharge_ms_;
  std::vector<double> star_loads_;
  std::unique_ptr<LoadProver> prover_;
  // By task; only divers have one.
  std::vector<std::unique_ptr<ReplicaCoverSearch>> divers_;
  std::unique_ptr<ReplicaRepair> repair_;
  // The least load that no filter has refuted: as of the last round, so that tasks do not watch each other.
  double dive_floor_ms_ = 0;
  std::vector<Task> tasks_;
  std::vector<int32_t> all_devices_;
  int64_t round_ = 0;
  // The work that each task gets in the next round, and that all tasks had so far.
  int64_t round_work_ = 0;
  int64_t exact_work_ = 0;
  // The work that exact rounds have earned by annealing.
  int64_t exact_due_ = 0;
  Yield exact_yield_;
  Yield annealing_yield_;
  // The work of set-up, of bounds, and of searches for the paper's instantiations and for tiles.
  int64_t other_work_ = 0;
  MappingOutcome outcome_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_MAPPING_SEARCH_H_
