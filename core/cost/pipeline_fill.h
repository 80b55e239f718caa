// How full a pipeline must be to keep its pace, how long it takes to fill and drain (docs/cost-model.md section 20).
//
// A pipeline keeps a pace of one micro-batch every T if each replica of a stage with R of them gets through one forward
// and one backward pass every R x T. What a stage exchanges with earlier stages takes turns of its own beside the
// devices, its *slots*, unless devices do the sending themselves (SERIAL). Counted in micro-batches from the last stage
// to the first, a stage holds those on their way through it and everything behind it. The proof that 1F1B with these
// counts keeps the pace stands in docs/cost-model.md section 20.
#ifndef PLANWRIGHT_CORE_COST_PIPELINE_FILL_H_
#define PLANWRIGHT_CORE_COST_PIPELINE_FILL_H_

#include <cstdint>
#include <span>

#include "core/base/units.h"
#include "core/cost/device_load.h"
#include "core/model/problem.h"

namespace planwright {

// How transfers run beside the devices.
struct TransferTurns {
  Overlap overlap = Overlap::kSerial;
  // GPIPE: forward passes first, then backward passes.
  bool has_phases = false;
  // Tensors are copied out to host memory and in again.
  bool through_host = false;

  static TransferTurns Of(const ResolvedProblem& problem, bool through_host) {
    return {problem.overlap, problem.schedule == ScheduleKind::kGpipe, through_host};
  }

  // Slots of a stage whose undivided work is `work`: turns that what it receives from earlier stages and the gradients
  // that it gives back take beside its own. At most 2.
  int32_t SlotsOf(const MicroBatchWork& work) const;
  // Turns that a stage with others behind it holds its own copies to and from host memory for.
  int32_t SlotsOfSending() const;
};

// What the fill of a pipeline depends on, of one stage.
struct StageTurns {
  int32_t replicas = 1;
  int32_t slots = 0;
};

// Walks a pipeline from its last stage to its first.
class FillFromEnd {
 public:
  explicit FillFromEnd(const TransferTurns& turns) : turns_(turns) {}
  // In the middle: `behind` micro-batches are in the stages walked so far.
  FillFromEnd(const TransferTurns& turns, int64_t behind) : turns_(turns), behind_(behind) {}

  // Micro-batches that the stages walked so far hold; 0 before the last stage.
  int64_t behind() const { return behind_; }

  // Micro-batches that each replica of the next stage towards the front holds.
  int64_t HeldBy(int32_t replicas) const;
  void Add(const StageTurns& stage) { behind_ = (HeldBy(stage.replicas) + stage.slots) * stage.replicas; }

 private:
  TransferTurns turns_;
  int64_t behind_ = 0;
};

// Micro-batches of one step of all replicas together. REQUIRES: micro_batches is set; `replicas` of each stage where
// the replication is UNIFORM.
int64_t MicroBatchesOfStep(const ResolvedProblem& problem, int32_t replicas);

// Whether backward passes begin before all forward passes are done, so that a stage keeps activations by its place.
inline bool DrainsEarly(ScheduleKind schedule) {
  return schedule == ScheduleKind::kOneFOneB || schedule == ScheduleKind::kPipedreamAsync;
}

// Micro-batches whose activations one of `replicas` replicas keeps where it holds `held` (FillFromEnd::HeldBy):
//   ONE_F_ONE_B, PIPEDREAM_ASYNC   `held`, but no more than it does in a step, where micro_batches is set
//   otherwise                      all that it does in a step; 1 where micro_batches is unset
int32_t InFlightMicroBatches(const ResolvedProblem& problem, int64_t held, int32_t replicas);

// As above, for a pipeline without slots whose stages all have equally many replicas: it holds stages_behind + 1.
int32_t InFlightMicroBatches(const ResolvedProblem& problem, std::size_t stages_behind);

// Turns that a step takes: g x `count` times the load of a stage, shared among its replicas, is time enough for all of
// its micro-batches, filling and draining included. g is the greatest common divisor of the numbers of replicas: so
// many micro-batches go through side by side.
struct StepTurns {
  int64_t count = 0;
  int64_t side_by_side = 1;

  // What `load`, undivided, of a stage with so many replicas, a multiple of side_by_side, makes of the step. Rounded up
  // once.
  Picoseconds TimeOf(Picoseconds load, int32_t replicas) const;
};

// `stages` in pipeline order, at least one. REQUIRES: micro_batches is set.
StepTurns TurnsOfStep(const ResolvedProblem& problem, const TransferTurns& turns, std::span<const StageTurns> stages);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_PIPELINE_FILL_H_
