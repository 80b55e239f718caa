// One run of simulated annealing over pipelines.
//
// The energy is the objective, in part with a norm in place of the greatest load, so that it says of pipelines of equal
// objective which one is nearer to a better one; memory beyond the limits, blocks on devices that may not hold them and
// other numbers of stages than asked for cost more and more of it as the run goes on. Source of the method:
// Kirkpatrick, Gelatt, Vecchi: Optimization by simulated annealing, 1983.
#ifndef PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_ANNEALER_H_
#define PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_ANNEALER_H_

#include <cstdint>
#include <optional>

#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/base/units.h"
#include "core/partition/stage_annealing/pipeline_tables.h"

namespace planwright {

struct PipelineHeat {
  // Temperature of the first move, as a share of the objective.
  double hot = 0.1;
  // Share of the norm in the energy.
  double smoothness = 0.3;
  // Pipelines with as many stages as the start cost less than others: few stages with little to send, and many with
  // little to do, lie far apart.
  bool keeps_stages = false;
};

struct PipelineRun {
  // The best feasible pipeline below the objective to beat; nullopt: none.
  std::optional<Pipeline> best;
  Picoseconds objective{0};
  int64_t moves = 0;
  // As PipelineState::work, and 10 for each move.
  int64_t work = 0;
};

// Ends after `moves`, or when the work is used up or the limits say stop. REQUIRES: that of PipelineState.
PipelineRun AnnealPipeline(const PipelineTables& tables, const Pipeline& start, Picoseconds to_beat,
                           const PipelineHeat& heat, int64_t moves, int64_t work, RandomStream& random,
                           const SolveLimits& limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_ANNEALER_H_
