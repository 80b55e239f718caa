// How the layers of a model are dealt out to stages that hold several runs of layers each (INTERLEAVED), where the
// layers between the first and the last of the model are alike, or nearly.
//
// What a chunk takes depends on how many layers it has and on what its stage may keep of them: a device keeps as often
// as chunks are in flight what its largest chunk keeps. Where nothing has to be computed again, chunks of as many
// layers or one more, the larger ones side by side, take least or hardly more (EvenCuts). Else bounds follow from what
// a stage and a chunk take at least, over all ways to deal layers out, and cuts from layers dealt out one by one.
#ifndef PLANWRIGHT_CORE_JOINT_DEALING_LIKE_STAGES_H_
#define PLANWRIGHT_CORE_JOINT_DEALING_LIKE_STAGES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/polling.h"
#include "core/base/units.h"
#include "core/joint/slots/chunk_slots.h"
#include "core/joint/slots/cut_shifts.h"
#include "core/joint/slots/stage_levels.h"
#include "core/joint/stages/recomputation.h"
#include "core/joint/stages/stage_table.h"
#include "core/joint/waits/chunk_waits.h"

namespace planwright {

struct Interleaving {
  int32_t num_stages = 2;
  // How many each stage has.
  int32_t chunks = 2;
  int64_t micro_batches = 1;
  // What a chunk pays at least at each of its ends that is no end of the model: towards the neighbouring stage, and
  // from the last stage back to the first one.
  int64_t cut_ps = 0;
  int64_t wrap_ps = 0;

  SlotShape shape() const { return {num_stages, chunks, micro_batches}; }
};

// Dealt out are the most layers between the ends that are nearly alike, such as where each was measured for itself,
// each as what any of them takes and holds at least. The others may lie anywhere between the ends and take no memory;
// in the step their passes count, as does what those that are dealt out take beyond the least (MayHoldOthersBy). Unless
// all are of one kind, times are bounds only.
class LikeStages {
 public:
  // `table` and `poller` outlive the object. REQUIRES: at least two stages and chunks, and a layer for each chunk.
  LikeStages(const StageTable& table, int32_t num_layers, const Interleaving& interleaving, Poller& poller);

  // Whether all that is not the first or the last layer is dealt out.
  bool are_alike() const { return are_alike_; }
  // Whether that is of one kind.
  bool are_of_one_kind() const { return num_kinds_ == 1; }
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
  // No division's step takes less, task by task (StepPs and MayEndBy below), as far as `needed`; kDoesNotFit.
  // Interrupted: 0, or less than could be.
  int64_t LeastStepPs(int64_t needed);
  // The same by what all layers between the ends wait for, dealt out in parts of layers (chunk_waits.h, which says what
  // it takes).
  int64_t LeastStepByWaitsPs(int64_t needed);
  // Where the chunks of a division with the least longest chunk begin, and behind the last one: where stages could hold
  // more layers than there are, those with the longest chunk have fewer, or, `by_step`, those whose work ends last.
  // Interrupted: none. REQUIRES: are_alike(); LeastChunkPs() fits.
  std::vector<int32_t> BestCuts(bool by_step);

 private:
  struct End {
    bool exists = false;
    LayerPrice price;
    LayerGroup group;
  };
  // Least times of one stage by its number of layers, from 0; kDoesNotFit.
  using Times = std::vector<int64_t>;

  // How many layers lie beside the ends of the model in their chunks; the others are dealt out evenly.
  struct EvenDeal {
    int64_t slots_ps = kDoesNotFit;
    // Of that, forward passes.
    int64_t forward_ps = 0;
    int32_t beside_first = 0;
    int32_t beside_last = 0;
    // Of each chunk between the ends, and how many have one more.
    int32_t layers = 0;
    int32_t larger = 0;
  };

  // Of `kinds`, each with one of its layers and how many there are, those with the most layers that are nearly alike.
  struct Kind {
    int32_t layer = 0;
    int32_t count = 0;
  };
  std::set<int32_t> MostAlike(const std::map<int32_t, Kind>& kinds) const;
  std::set<int32_t> AsLargeAsMost(std::vector<Kind> kinds) const;
  int64_t HeldBytesOf(const Kind& kind) const;
  void DealOut(int32_t layer);
  const End& EndOf(int32_t stage) const;
  // All that may take least, unordered. The last layer beside an end is better in another chunk where all of those take
  // no longer with one more than this chunk without it, and a layer of another chunk is as good beside an end whose
  // chunk takes no longer with it than all others then.
  std::vector<EvenDeal> EvenDeals() const;
  // Those, least slots first; made once.
  const std::vector<EvenDeal>& DealsBySlots();
  int32_t num_between() const { return static_cast<int32_t>(interleaving_.shape().num_chunks()) - 2; }
  // How many layers that are dealt out each chunk has; the larger ones follow each other from that one between the
  // ends.
  std::vector<int32_t> LayersOf(const EvenDeal& deal, int32_t first_larger) const;
  // Where the chunks then begin, and behind the last one.
  static std::vector<int32_t> CutsOfLayers(const std::vector<int32_t>& layers);
  // Whether both passes of the chunk with the end and so many layers take no longer, or no less long, than those of a
  // chunk between the ends of `layers`.
  bool IsBelow(const End& end, int32_t beside, int32_t layers) const;
  bool IsAbove(const End& end, int32_t beside, int32_t layers) const;
  // Of both kinds.
  LayerPasses EvenSlots(const EvenDeal& deal) const;
  // What no division's forward passes take less, whatever stages keep. Interrupted: 0.
  int64_t LeastForwardSlotsPs();
  // The same options without forward passes.
  std::vector<std::vector<StageOption>> BackwardOf(std::vector<std::vector<StageOption>> stages) const;
  int64_t least_cut_ps() const { return std::min(interleaving_.cut_ps, interleaving_.wrap_ps); }
  bool MayBePrecise() const;
  // What all passes of a micro-batch take the busiest stage at least; kDoesNotFit. Interrupted: 0, or less than could
  // be.
  int64_t LeastBusiestPs();
  // By stage, what it may hold without working for longer than `needed`. Interrupted: some lack. Empty: too many.
  std::vector<std::vector<StageOption>> OptionsBelow(int64_t needed);
  StageOption OptionOf(int32_t stage, int32_t layers, bool again, int64_t needed);
  // Both ends of a chunk of the stage. `has_end`: one of them is the end of the model.
  int64_t CutsOf(int32_t stage, bool has_end) const;
  int64_t InFlightOf(int32_t stage) const;
  // What is left of a device for `layers` layers in flight. `again`: with room to compute one again.
  int64_t RoomOf(int32_t stage, int32_t layers, bool again) const;
  std::optional<int64_t> ChunkPs(int32_t stage, int32_t layers, bool has_end, int64_t room, bool again) const;
  // How many layers lie beside the end of the model in its chunk; others are in the other chunks, as evenly as can be.
  int64_t LongestChunkPs(int32_t stage, int32_t layers, int32_t beside_end, bool again) const;
  int64_t BestLongestChunkPs(int32_t stage, int32_t layers, int32_t* beside_end) const;
  // What all chunks of a stage take at least: as if they shared what is left of the device.
  int64_t SharedRoomPs(int32_t stage, int32_t layers) const;
  // The same where each has its part of it, over all ways to divide the layers among them. Interrupted: 0, or less than
  // could be. O(chunks x layers^2).
  int64_t LeastSumPs(int32_t stage, int32_t layers, bool again) const;
  // The passes of its chunks, of which an end of the model lies in one; empty: they do not fit.
  std::vector<LayerPasses> PassesOf(int32_t stage, const std::vector<int32_t>& layers);
  // ChunkPs of a stage that has `layers` in all, remembered.
  int64_t KnownChunkPs(int32_t stage, int32_t layers, int32_t in_chunk, bool has_end, bool again);
  int64_t StagePs(int32_t stage, int32_t layers) const;
  // What no step takes less than in which stage k of S, counted from 0, has so many of the layers that are dealt out:
  // its passes of all M micro-batches, what must be done before they begin, and the longer of its own end of the step
  // and what must be done when they have ended.
  struct Load {
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
  // Each chunk has a layer at least, so that the first chunks of k stages have the first k layers of the model. Layers
  // of other kinds that the stage has count as nothing: M of their passes are no less than the S that are subtracted.
  Load LoadOf(int32_t stage, int32_t layers) const;
  int64_t StepPs(int32_t stage, int32_t layers) const;
  int64_t StepEndPs(int32_t stage, int32_t layers) const;
  // StepPs; where the end of the stage would be the longest of the step, more than any.
  int64_t UrgencyPs(int32_t stage, int32_t layers) const;
  // Of two chunks a stage: a stage and how many layers lie in those before it from the second one on, and in their
  // first chunks.
  struct TwoChunks {
    int32_t number = 1;
    int64_t layers = 0;
    int64_t before = 0;
    int64_t first_before = 0;
  };
  // How few of its layers the first chunk of a stage must have so that the step ends by `cap`; -1: it does not.
  //
  // Fewer in the first chunks are passed sooner, but more are in the second ones: the second stage does S forward
  // passes of its first chunk and one of the second, which all stages up to this one do after each other, and then this
  // stage has all of its work left but S forward passes of its own first chunk. And the longer its last chunk is, the
  // less it has done before its first backward pass, and has left behind its last forward pass (Load).
  int64_t FirstChunkLayers(const TwoChunks& stage, const Load& load, int64_t cap) const;
  // By stage and layers, as far as their passes take no more than `cap`.
  std::vector<std::vector<Load>> LoadsBy(int64_t cap) const;
  // Whether some division into two chunks a stage may end by then. With fewer layers in first chunks stages begin and
  // end no later, as backward passes take no less than forward ones, so the fewest are kept for each number of layers.
  bool MayEndBy(int64_t cap, const std::vector<std::vector<Load>>& loads) const;
  // Whether some division may end by then in which the stages have the time left for all layers of other kinds, or for
  // what layers nearly alike take beyond the least. A stage does all M passes of what it has of it; where it waits for
  // the whole model it has done S of them by then, or has S left.
  bool MayHoldOthersBy(int64_t cap, const std::vector<std::vector<Load>>& loads) const;
  // So much of a micro-batch; -1: it does not end by then without.
  int64_t LeftForOthersPs(const Load& load, int64_t cap) const;
  InterleavedWork WorkBetween() const;
  // The least cap of `may_end_by` from `least` to `needed`.
  template <typename MayEnd>
  int64_t LeastCapFrom(int64_t least, int64_t needed, MayEnd may_end_by) const;
  // One pass of the first chunks of so many stages from the front, and of the last ones of those at the end.
  int64_t FirstChunksPs(int32_t before, bool is_backward) const;
  int64_t LastChunksPs(int32_t behind, bool is_backward) const;
  // One pass through all chunks.
  int64_t WholePassPs(bool is_backward) const;
  // What the passes of all chunks of a stage receive and send at least, one way.
  int64_t OneWayCutsPs(int32_t stage) const;
  int32_t FewestLayers(int32_t stage) const;
  int32_t Average() const;
  // The least cap under which the stages hold all layers, each as many as its times allow. `least_of`: what any stage
  // with so many layers takes at least.
  template <typename TimeOf, typename LeastOf>
  int64_t LeastCap(TimeOf time_of, LeastOf least_of, std::vector<int32_t>* layers_by_stage) const;
  // What the stages hold beyond all layers is given back, a layer at a time, by that of which `time_of` is most.
  template <typename TimeOf>
  void GiveBack(TimeOf time_of, std::vector<int32_t>& layers_by_stage) const;
  int64_t LeastChunkCap(std::vector<int32_t>* layers_by_stage) const;

  const StageTable& table_;
  int32_t num_layers_;
  Interleaving interleaving_;
  Poller& poller_;
  std::size_t num_kinds_ = 0;
  bool are_alike_ = true;
  // What each chunk computes again counts by itself, which is some ten times as slow.
  bool is_precise_ = false;
  // By stage and layers, then.
  mutable std::map<std::pair<int32_t, int32_t>, int64_t> sums_;
  std::map<std::tuple<int32_t, int32_t, int32_t, bool, bool>, int64_t> chunks_;
  std::optional<std::vector<EvenDeal>> deals_;
  // Layers that are dealt out, and what passes of a micro-batch through all between the ends take beyond as many of
  // `price_`.
  int32_t dealt_ = 0;
  LayerPasses beyond_;
  // The longest of those that are dealt out.
  int64_t longest_forward_ps_ = 0;
  LayerPrice price_;
  LayerGroup group_;
  End none_;
  End first_;
  End last_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_DEALING_LIKE_STAGES_H_
