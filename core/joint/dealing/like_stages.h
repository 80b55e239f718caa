// How the layers of a model are dealt out to stages that hold several runs of layers each (INTERLEAVED), where the
// layers between the first and the last of the model are alike, or nearly (like_layers.h).
//
// Where nothing has to be computed again, even deals take least or hardly more (even_deals.h). Else bounds follow from
// what a stage and a chunk take at least (dealt_stages.h), over all ways to deal layers out, and cuts from layers dealt
// out one by one.
#ifndef PLANWRIGHT_CORE_JOINT_DEALING_LIKE_STAGES_H_
#define PLANWRIGHT_CORE_JOINT_DEALING_LIKE_STAGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/polling.h"
#include "core/joint/dealing/dealt_stages.h"
#include "core/joint/dealing/even_deals.h"
#include "core/joint/dealing/interleaving.h"
#include "core/joint/dealing/like_layers.h"
#include "core/joint/dealing/step_loads.h"
#include "core/joint/slots/stage_levels.h"
#include "core/joint/stages/stage_table.h"

namespace planwright {

class LikeStages {
 public:
  // `table` and `poller` outlive the object. REQUIRES: at least two stages and chunks, and a layer for each chunk.
  LikeStages(const StageTable& table, int32_t num_layers, const Interleaving& interleaving, Poller& poller);
  LikeStages(const LikeStages&) = delete;
  LikeStages& operator=(const LikeStages&) = delete;

  // Whether all that is not the first or the last layer is dealt out.
  bool are_alike() const { return alike_.are_all; }
  // Whether that is of one kind.
  bool are_of_one_kind() const { return alike_.are_of_one_kind(); }
  // No division has a longest chunk that takes less, passes and transfers; kDoesNotFit. Interrupted: 0.
  int64_t LeastChunkPs();
  // No division's slots take less, of both kinds; kDoesNotFit. `work_ps`: what all chunks take at least, with transfers
  // and what is computed again; `longest_ps`: what the longest does. Interrupted: less than could be.
  int64_t LeastSlotsPs(int64_t work_ps, int64_t longest_ps);
  // Nor less than this, by what each stage may keep of the layers that it has (stage_levels.h), as far as
  // `needed`, which is to be near. Interrupted, or where few are dealt out: 0.
  int64_t LeastDealtPs(int64_t needed);
  // Where the chunks of divisions begin, and behind the last one, that have chunks between the ends of as many layers,
  // or of one more: those that take least without recomputation, best first, each in two orders. REQUIRES: are_alike().
  std::vector<std::vector<int32_t>> EvenCuts(std::size_t count);
  // The same of a division whose stages keep what they may of their layers, dealt out one by one (layer_dealing.h);
  // empty: they do not hold them. REQUIRES: are_alike().
  std::vector<int32_t> DealtCuts();
  // Where the chunks of a division with the least longest chunk begin, and behind the last one: where stages could hold
  // more layers than there are, those with the longest chunk have fewer, or, `by_step`, those whose work ends last.
  // Interrupted: none. REQUIRES: are_alike(); LeastChunkPs() fits.
  std::vector<int32_t> BestCuts(bool by_step);
  // No division's step takes less, task by task (step_loads.h), as far as `needed`; kDoesNotFit. Interrupted: 0, or
  // less than could be.
  int64_t LeastStepPs(int64_t needed) { return loads_.LeastStepPs(needed); }
  // The same by what layers wait for. `again_ps`: what all stages compute again of a micro-batch at least, or 0.
  int64_t LeastStepByWaitsPs(int64_t again_ps, int64_t needed) { return loads_.LeastStepByWaitsPs(again_ps, needed); }

 private:
  // Made once. REQUIRES: are_alike().
  const EvenDeals& Deals();
  // What no division's forward passes take less, whatever stages keep. Interrupted: 0.
  int64_t LeastForwardSlotsPs();
  // By stage, what it may hold without working for longer than `needed`. Interrupted: some lack. Empty: too many.
  std::vector<std::vector<StageOption>> OptionsBelow(int64_t needed);
  // How many layers a stage may have then, in order.
  std::vector<int32_t> LayersBelow(int32_t stage, int64_t needed);
  StageOption OptionOf(int32_t stage, int32_t layers, bool again, int64_t needed);
  // The same options without forward passes.
  std::vector<std::vector<StageOption>> BackwardOf(std::vector<std::vector<StageOption>> stages) const;
  // By chunk, of stages with so many layers each, whose longest chunks have as few as can be.
  std::vector<int32_t> SizesOf(const std::vector<int32_t>& layers_by_stage);

  int32_t num_layers_;
  Interleaving interleaving_;
  Poller& poller_;
  LikeLayers alike_;
  DealtStages stages_;
  StepLoads loads_;
  std::optional<EvenDeals> deals_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_DEALING_LIKE_STAGES_H_
