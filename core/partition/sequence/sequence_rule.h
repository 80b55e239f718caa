// What the stages of a pipeline are worth to the program along a sequence of devices: one number for each stage, of
// which the greatest counts, and how far the pipeline is filled behind it (docs/cost-model.md sections 3, 14, 20).
#ifndef PLANWRIGHT_CORE_PARTITION_SEQUENCE_SEQUENCE_RULE_H_
#define PLANWRIGHT_CORE_PARTITION_SEQUENCE_SEQUENCE_RULE_H_

#include <cstdint>

#include "core/base/units.h"
#include "core/cost/device_load.h"
#include "core/cost/pipeline_fill.h"
#include "core/model/problem.h"

namespace planwright {

// Micro-batches in flight, of all replicas together, in a pipeline whose stages are made from the last to the first.
struct PipelineFill {
  // In this stage and all behind it, without the slots of its own transfers.
  int64_t held = 0;
  // What the stage before counts as behind it.
  int64_t counted = 0;
};

// Immutable; any thread. `problem` outlives it.
class SequenceRule {
 public:
  // `forward_share`, GPIPE only: the sum of the greatest forward and the greatest backward load is looked for where the
  // first is this part of it. 0: both passes of a stage are added. `through_host`: transfers lead through host memory.
  SequenceRule(const ResolvedProblem& problem, bool through_host, double forward_share);

  // `behind`: PipelineFill::counted of the stage behind, 0 of the last one.
  PipelineFill FillOf(int64_t behind, int32_t replicas, const MicroBatchWork& work) const;
  // Micro-batches that a replica stores something of.
  int32_t InFlight(const PipelineFill& fill, int32_t replicas) const;

  // What the stage is worth: picoseconds for each micro-batch of its devices in the limit of many.
  int64_t ValueOf(const MicroBatchWork& work, int32_t replicas, Picoseconds allreduce) const;
  // The least value of work whose compute time alone is known.
  static int64_t LeastValue(int64_t compute, int32_t replicas) { return compute / replicas; }
  // The time per micro-batch where the slowest stage is worth `value`, and `held` is PipelineFill::held of the first
  // stage, or of a later one for a lower estimate. `common`: a number that divides all numbers of replicas.
  int64_t Estimate(int64_t value, int64_t held, int32_t common) const;

 private:
  const ResolvedProblem& problem_;
  const TransferTurns turns_;
  const double forward_share_;
  // Whether the filling counts, for memory or for the time of a step.
  const bool counts_fill_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEQUENCE_SEQUENCE_RULE_H_
