// The best pipeline of consecutive units on consecutive devices of a sequence.
//
// A dynamic program from the last stage to the first. Its states are borders between two stages: which units lie
// behind, where the devices of the stage behind end in the sequence and where those of the stage before it begin, so
// that a stage's transfers on both sides go over the links that they will have. States keep all pairs of (slowest
// stage, filling of the pipeline) that no other pair beats in both: what is in flight behind decides how much memory a
// stage needs and how long a step takes, and more of it is never better. Pairs are kept apart by the number of stages
// where that is fixed.
//
// For a chain, one number of replicas, one speed of links and an objective of one maximum (no GPIPE, no step with an
// all-reduce) the pipeline found is the best along the order and the sequence; without replicas also for any links.
// Elsewhere estimates take the place of costs: the slowest link of a team stands for all of them, neighbours are taken
// to have as many replicas, and what several stages read is counted once. So cost what is found.
//
// Complexity O(units^2 x states x numbers of replicas x pairs). Source: ours; the program along a linear order is that
// of Tarnawski et al., Efficient algorithms for device placement of DNN graph operators, 2020, 5.1.2.
#ifndef PLANWRIGHT_CORE_PARTITION_SEQUENCE_SEQUENCE_PROGRAM_H_
#define PLANWRIGHT_CORE_PARTITION_SEQUENCE_SEQUENCE_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/limits.h"
#include "core/base/units.h"
#include "core/cost/device_load.h"
#include "core/cost/pipeline_fill.h"
#include "core/model/problem.h"
#include "core/partition/search/search.h"
#include "core/partition/sequence/device_teams.h"
#include "core/partition/sequence/interval_table.h"

namespace planwright {

// What the stages of a pipeline are worth to the program along a sequence of devices: one number for each stage, of
// which the greatest counts, and how far the pipeline is filled behind it (docs/cost-model.md sections 3, 14, 20).
//
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

struct SequenceOptions {
  // Numbers of replicas that a stage may have, ascending; one of them where all stages have the same.
  std::vector<int32_t> replicas = {1};
  // Whether a stage may leave any number of devices before the next one unused; else only those up to the next border
  // of a group of devices.
  bool skips_any = false;
  // Nothing is looked for whose estimate is not below.
  int64_t bound = kMaxQuantity;
  // How many pipelines are handed back at most.
  std::size_t most_found = 4;
};

struct SequenceFinding {
  // Picoseconds for each micro-batch.
  int64_t estimate = 0;
  Placement placement;
};

struct SequenceOutcome {
  // The best first, with different estimates.
  std::vector<SequenceFinding> found;
  // Stages looked at with one pair behind each; never more than limits.work.
  int64_t work = 0;
  // By the limits.
  bool is_interrupted = false;
};

// `first_begin_of` as of DeviceTeams.
SequenceOutcome RunSequenceProgram(const SearchRequest& request, const IntervalTable& table, const SequenceRule& rule,
                                   const DeviceSequence& sequence,
                                   const std::vector<std::vector<std::size_t>>& first_begin_of,
                                   const SequenceOptions& options, const SolveLimits& limits);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEQUENCE_SEQUENCE_PROGRAM_H_
