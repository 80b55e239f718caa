// What a pipeline costs, from what its stages cost.
#ifndef PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_COSTS_H_
#define PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_COSTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.h"
#include "core/cost/device_load.h"
#include "core/cost/pipeline_fill.h"
#include "core/model/problem.h"

namespace planwright {

// One stage on its devices.
struct PipelineStageCosts {
  // What a replica would spend that did every micro-batch: the greatest of each phase.
  PhaseLoads undivided;
  // What a replica spends, in the limit of many micro-batches.
  PhaseLoads replica;
  Picoseconds allreduce{0};
  StageTurns turns;
  // Memory without activations, activations of one micro-batch, and what the smallest device has.
  int64_t fixed_bytes = 0;
  int64_t kept_bytes = 0;
  int64_t limit_bytes = 0;
  // Pairs of a block and a device that do not go together.
  int64_t misplaced = 0;
};

struct PipelineCosts {
  Picoseconds objective{0};
  // The objective with a norm in place of the greatest load: it knows of every stage, the busiest first. Picoseconds.
  double smooth = 0;
  // Bytes beyond the limits, as shares of the limits.
  double overflow = 0;
  int64_t misplaced = 0;
  // Position of the busiest stage.
  std::size_t busiest = 0;
};

// For one thread; the problem outlives it.
class PipelineCosting {
 public:
  // `memory_varies`: that of a stage depends on its place.
  PipelineCosting(const ResolvedProblem& problem, const TransferTurns& turns, bool memory_varies)
      : problem_(problem), turns_(turns), memory_varies_(memory_varies) {}

  // REQUIRES: at least one stage. O(stages).
  PipelineCosts CostsOf(std::span<const PipelineStageCosts* const> stages);

 private:
  // What each phase of the stage counts in the objective: the load of a replica, or what it makes of a step.
  PhaseLoads LoadsOf(const PipelineStageCosts& stage) const;
  void AddMemory(std::span<const PipelineStageCosts* const> stages, PipelineCosts& costs) const;

  const ResolvedProblem& problem_;
  const TransferTurns turns_;
  const bool memory_varies_;
  // Turns of the pipeline that is being costed, where micro-batches are counted.
  std::vector<StageTurns> stage_turns_;
  StepTurns step_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_COSTS_H_
