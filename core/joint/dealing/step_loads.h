// What no step takes less, task by task, in which a stage has so many of the layers that are dealt out: bounds of the
// simulated step of interleaved pipelines.
#ifndef PLANWRIGHT_CORE_JOINT_DEALING_STEP_LOADS_H_
#define PLANWRIGHT_CORE_JOINT_DEALING_STEP_LOADS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/polling.h"
#include "core/base/units.h"
#include "core/joint/dealing/dealt_stages.h"
#include "core/joint/dealing/interleaving.h"
#include "core/joint/dealing/like_layers.h"
#include "core/joint/stages/stage_table.h"
#include "core/joint/waits/chunk_waits.h"

namespace planwright {

// Of stage k of S, counted from 0: its passes of all M micro-batches, what must be done before they begin, and the
// longer of its own end of the step and what must be done when they have ended.
struct StepLoad {
  int64_t passes = kDoesNotFit;
  // The stages before it pass the first micro-batch through their first chunks, and the last one back through them.
  int64_t front = 0;
  int64_t back = 0;
  // With r = 2 (S - 1 - k) + 1: S - r. Where that is more than 0:
  //
  // Its first backward pass waits for the forward pass of the whole model and the backward passes of the stages
  // behind it in their last chunks; by then it has done S of its own forward passes of each chunk but the last, and r
  // of that. After its last forward pass the last micro-batch goes on through the stages behind it and back through
  // the whole model, while it has S backward passes of each chunk but the last, and r of that, left.
  int64_t spared = 0;
  int64_t whole_front = 0;
  int64_t whole_back = 0;

  int64_t StepPs() const { return SaturatingAdd(passes, std::max(front, whole_front) + std::max(back, whole_back)); }
};

class StepLoads {
 public:
  // `table`, `alike`, `stages` and `poller` outlive the object.
  StepLoads(const StageTable& table, int32_t num_layers, const LikeLayers& alike, const Interleaving& interleaving,
            DealtStages& stages, Poller& poller);

  // No division's step takes less, as far as `needed`; kDoesNotFit. Interrupted: 0, or less than could be.
  int64_t LeastStepPs(int64_t needed);
  // The same by what all layers between the ends wait for, dealt out in parts of layers (chunk_waits.h, which says what
  // it takes). `again_ps`: what all stages compute again of a micro-batch at least.
  int64_t LeastStepByWaitsPs(int64_t again_ps, int64_t needed);
  // The step of a stage with so many layers; where its end would be the longest of the step, more than any.
  int64_t UrgencyPs(int32_t stage, int32_t layers);

 private:
  // By stage and layers, from 0.
  using LoadTable = std::vector<std::vector<StepLoad>>;
  // Of two chunks a stage: a stage and how many layers lie in those before it from the second one on, and in their
  // first chunks.
  struct TwoChunks {
    int32_t number = 1;
    int64_t layers = 0;
    int64_t before = 0;
    int64_t first_before = 0;
  };

  // Each chunk has a layer at least, so that the first chunks of k stages have the first k layers of the model. Layers
  // of other kinds that the stage has count as nothing: M of their passes are no less than the S that are subtracted.
  StepLoad LoadOf(int32_t stage, int32_t layers, bool is_precise);
  int64_t StepEndPs(int32_t stage, int32_t layers) const;
  // As far as their passes take no more than `cap`.
  LoadTable LoadsBy(int64_t cap, bool is_precise);
  // How few of its layers the first chunk of a stage must have so that the step ends by `cap`; -1: it does not.
  int64_t FirstChunkLayers(const TwoChunks& stage, const StepLoad& load, int64_t cap) const;
  // Whether some division into two chunks a stage may end by then. With fewer layers in first chunks stages begin and
  // end no later, as backward passes take no less than forward ones, so the fewest are kept for each number of layers.
  bool MayEndBy(int64_t cap, const LoadTable& loads) const;
  // By how many layers the stages from the second one on have: how few of them their first chunks can have;
  // kDoesNotFit. Interrupted: empty.
  std::vector<int64_t> FewestInFirstChunks(int64_t cap, const LoadTable& loads) const;
  // Whether some division may end by then in which the stages have the time left for all layers of other kinds, or for
  // what layers nearly alike take beyond the least. A stage does all M passes of what it has of it; where it waits for
  // the whole model it has done S of them by then, or has S left.
  bool MayHoldOthersBy(int64_t cap, const LoadTable& loads) const;
  // So much of a micro-batch; -1: it does not end by then without.
  int64_t LeftForOthersPs(const StepLoad& load, int64_t cap) const;
  InterleavedWork WorkBetween() const;
  // One pass of the first chunks of so many stages from the front, and of the last ones of those at the end.
  int64_t FirstChunksPs(int32_t before, bool is_backward) const;
  int64_t LastChunksPs(int32_t behind, bool is_backward) const;
  // One pass through all chunks.
  int64_t WholePassPs(bool is_backward) const;

  const StageTable& table_;
  int32_t num_layers_;
  const LikeLayers& alike_;
  Interleaving interleaving_;
  DealtStages& stages_;
  Poller& poller_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_DEALING_STEP_LOADS_H_
