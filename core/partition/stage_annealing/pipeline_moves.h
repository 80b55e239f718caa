// Random changes of a pipeline that keep its invariants.
//
//   shift      a block, with all that must go with it, to the next stage or any other
//   exchange   the same between two stages, in both directions
//   split      a part of a stage to idle devices, or to some of its own replicas
//   merge      two neighbours, on the devices of either of them or of both
//   regroup    merge, and split another stage on the devices that become idle
//   relocate   a replica to another device, which may be another stage's; teams of two stages exchanged; a team to idle
//              devices
//   resize     a replica more, one less, or one from another stage; another number for all stages alike
//   reorder    two neighbours, two copies, a part of a ring
//
// The busiest stage is changed more often than others, and blocks near its borders more often than those inside.
#ifndef PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_MOVES_H_
#define PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_MOVES_H_

#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "core/partition/stage_annealing/pipeline_state.h"
#include "core/partition/stage_annealing/pipeline_tables.h"

namespace planwright {

// For one thread; what it is given outlives it.
class PipelineMoves {
 public:
  PipelineMoves(const PipelineTables& tables, PipelineState& state, RandomStream& random);

  // Begins a trial with one change. False: what was drawn does not fit the pipeline; undo the trial.
  bool Propose();

 private:
  bool Shift();
  bool Exchange();
  bool Split();
  bool Merge();
  bool Regroup();
  bool Relocate();
  bool ExchangeTeams();
  bool MoveTeam();
  bool Grow();
  bool Shrink();
  bool Transfer();
  bool ResizeAll();
  bool ReorderStages();
  bool ReorderCopies();
  bool ReverseRing();

  int32_t Below(int32_t bound) { return static_cast<int32_t>(random_.Below(static_cast<uint64_t>(bound))); }
  bool Chance(double probability) { return random_.Unit() < probability; }
  // A slot: the busiest stage, or any.
  int32_t ChooseStage();
  // A position other than `position`, mostly next to it.
  int32_t ChooseTarget(int32_t position);
  // A block of the stage, mostly near the border that faces later or earlier stages.
  int32_t ChooseBlock(int32_t slot, bool faces_later);
  // Fills moved_ with the block and what must go with it to a stage at `target`; with a target of its own position,
  // what must go with it out of the stage in the direction. False: too many.
  bool Collect(int32_t block, int32_t target, bool goes_later);
  bool MoveFrom(int32_t slot, int32_t target);
  bool SplitOnto(int32_t slot, std::vector<int32_t> devices);
  void MergeInto(int32_t from, int32_t to);
  // Gives each stage of `slots` so many devices, its own before idle ones and those of stages that have lost their
  // blocks. False: there are not enough of one class.
  bool GiveReplicas(const std::vector<int32_t>& slots, int32_t replicas);
  // As many idle devices of one class, near each other or anywhere; empty: there are none.
  std::vector<int32_t> ChooseIdle(int32_t count);
  // Likewise of the class; -1: none.
  int32_t ChooseIdleOf(int32_t device_class);
  int32_t NumReplicas(int32_t slot) const { return static_cast<int32_t>(state_.stage(slot).devices.size()); }
  int32_t ClassOf(int32_t slot) const { return tables_.class_of(state_.stage(slot).devices.front()); }

  const PipelineTables& tables_;
  PipelineState& state_;
  RandomStream& random_;
  const bool resizes_teams_;
  const bool resizes_all_;
  const bool orders_copies_;
  std::vector<int32_t> moved_;
  std::vector<uint64_t> seen_;
  uint64_t round_ = 0;
  std::vector<int32_t> idle_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_MOVES_H_
