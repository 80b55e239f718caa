// What a pipeline costs, from what its stages cost.
#ifndef PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_COSTS_H_
#define PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_COSTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/cost/device_load.h"
#include "core/model/problem.h"

namespace planwright {

// One stage on its devices.
struct StageCosts {
  // Of a replica that did every micro-batch: the greatest of each phase.
  PhaseLoads undivided;
  Picoseconds allreduce{0};
  int32_t replicas = 1;
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

// REQUIRES: at least one stage. O(stages).
PipelineCosts CostsOf(const PlanningProblem& problem, const std::vector<const StageCosts*>& stages);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_COSTS_H_
