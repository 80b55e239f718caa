// The portfolio of annealing runs.
//
// Arms differ in heat, in where they begin and in what they aim at first; each goes on where its last slice ended.
// Where loads and all-reduces both count, single runs get stuck at either; so some arms first anneal one of the paper's
// two instantiations (equations (6) and (7)), order the rings, and only then anneal the objective itself. Slices run in
// batches of a given size, each with a random stream of its own, and are merged in order: the outcome depends on the
// seed and on the work, not on the threads.
#ifndef PLANWRIGHT_CORE_MAPPING_ANNEAL_MAPPING_ANNEALING_H_
#define PLANWRIGHT_CORE_MAPPING_ANNEAL_MAPPING_ANNEALING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/base/task_arena.h"
#include "core/mapping/anneal/mapping_annealer.h"
#include "core/mapping/problem/evaluation.h"
#include "core/mapping/problem/mapping_tables.h"
#include "core/mapping/problem/stage_kinds.h"

namespace planwright {

// Not thread-safe; tables, limits and arena outlive it. limits.work counts devices moved on trial.
class MappingAnnealing {
 public:
  // Starts from the simple mappings (simple_mappings.h). `kinds`: AssignKinds of the instance.
  MappingAnnealing(const MappingTables& tables, const KindAssignment& kinds, int64_t seed, const SolveLimits& limits,
                   TaskArena& arena);

  // Makes `mapping` the incumbent, with its rings put in order where they count, if it is better. Returns whether it
  // was.
  bool Offer(const Mapping& mapping);
  // The arm that first anneals this instantiation begins there. Nothing happens where there is none.
  void StartDetour(MappingObjective objective, const Mapping& mapping);
  // No mapping is better than this; annealing stops there.
  void RaiseBound(double bound_ms) { bound_ms_ = std::max(bound_ms_, bound_ms); }

  // One batch of slices of `most_moves` at most. False: the bound is reached, the work is used up, or the limits say
  // stop.
  bool RunBatch(int64_t most_moves = std::numeric_limits<int64_t>::max());

  const Mapping& incumbent() const { return incumbent_; }
  const MappingValue& value() const { return value_; }
  int64_t moves() const { return moves_; }

 private:
  // The paper's instantiation that an arm anneals first, and how far it got there.
  struct Detour {
    const MappingTables* tables = nullptr;
    Mapping mapping;
    MappingHeat heat;
  };
  struct Arm {
    MappingHeat heat;
    // Empty until its first slice.
    Mapping mapping;
    double value_ms = std::numeric_limits<double>::infinity();
    // Not from the incumbent: at random, and with detours, which spoil the incumbent, from the best simple mapping.
    bool starts_afresh = false;
    std::optional<Detour> detour;
    int64_t visits = 0;
  };
  // What one slice makes of a copy of its arm.
  struct Slice {
    std::size_t arm = 0;
    int64_t moves = 0;
    uint64_t stream = 0;
    Arm result;
    int64_t moves_made = 0;
  };

  void AddArms();
  void AddDetour(MappingObjective objective);
  std::vector<Slice> NextBatch(int64_t most_moves);
  std::size_t ChooseArm() const;
  void Run(Slice& slice) const;
  // REQUIRES: the detour is that of the arm of the slice.
  void RunDetour(Detour& detour, Slice& slice, RandomStream& random) const;
  void Anneal(Slice& slice, const Mapping& start, int64_t moves, RandomStream& random) const;
  Mapping StartOf(const Arm& arm, RandomStream& random) const;
  void Merge(Slice& slice);
  bool IsDone() const;

  const MappingTables& tables_;
  const KindAssignment kinds_;
  const uint64_t seed_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  // The instances and tables of the detours; their addresses stay.
  std::vector<std::unique_ptr<const MappingInstance>> other_instances_;
  std::vector<std::unique_ptr<const MappingTables>> other_tables_;
  std::vector<Arm> arms_;
  // The best simple mapping.
  Mapping start_;
  Mapping incumbent_;
  MappingValue value_;
  double bound_ms_ = 0;
  int64_t moves_ = 0;
  int64_t planned_moves_ = 0;
  int64_t slices_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_ANNEAL_MAPPING_ANNEALING_H_
