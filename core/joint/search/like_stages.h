// How the layers of a model are dealt out to stages that hold several runs of layers each (INTERLEAVED), where the
// layers between the first and the last of the model are alike.
//
// What a chunk takes depends on how many layers it has and on what its stage may keep of them: a device keeps as often
// as chunks are in flight what its largest chunk keeps. So for each stage the least time of its longest chunk is known
// for every number of layers, and the least cap under which the stages together hold all layers is the optimum, up to
// chunks whose forward passes and chunks whose backward passes are longest not being the same ones.
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_LIKE_STAGES_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_LIKE_STAGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/polling.h"
#include "core/joint/search/recomputation.h"
#include "core/joint/search/stage_table.h"

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
};

// Layers of other kinds between the ends, and the ends of a model that has such, count as nothing: then times are
// bounds only.
class LikeStages {
 public:
  // `table` and `poller` outlive the object. REQUIRES: at least two stages and chunks, and a layer for each chunk.
  LikeStages(const StageTable& table, int32_t num_layers, const Interleaving& interleaving, Poller& poller);

  // Whether what is not the first or the last layer is of one kind.
  bool are_alike() const { return are_alike_; }
  // No division has a longest chunk that takes less, passes and transfers; kDoesNotFit. Interrupted: 0.
  int64_t LeastChunkPs();
  // No division's step takes less, task by task (StepPs below); kDoesNotFit. Interrupted: 0.
  int64_t LeastStepPs();
  // Where the chunks of the best division begin, and behind the last one. Interrupted: none. REQUIRES: are_alike();
  // LeastChunkPs() fits.
  std::vector<int32_t> BestCuts();

 private:
  struct End {
    bool exists = false;
    LayerPrice price;
    LayerGroup group;
  };
  // Least times of one stage by its number of layers, from 0; kDoesNotFit.
  using Times = std::vector<int64_t>;

  const End& EndOf(int32_t stage) const;
  // Both ends of a chunk of the stage. `has_end`: one of them is the end of the model.
  int64_t CutsOf(int32_t stage, bool has_end) const;
  int64_t InFlightOf(int32_t stage) const;
  // What is left of a device for `layers` layers in flight. `again`: with room to compute one again.
  int64_t RoomOf(int32_t stage, int32_t layers, bool again) const;
  std::optional<int64_t> ChunkPs(int32_t stage, int32_t layers, bool has_end, int64_t room, bool again) const;
  // How many layers lie beside the end of the model in its chunk; others are in the other chunks, as evenly as can be.
  int64_t LongestChunkPs(int32_t stage, int32_t layers, int32_t beside_end, bool again) const;
  int64_t BestLongestChunkPs(int32_t stage, int32_t layers, int32_t* beside_end) const;
  int64_t StagePs(int32_t stage, int32_t layers) const;
  // What no step takes less than in which stage k of S, counted from 0, has so many of the layers that are dealt out:
  // its passes of all M micro-batches, what must be done before they begin, and the longer of its own end of the step
  // and the backward passes of the last micro-batch through the stages before it, in their first chunks.
  //
  // Before its first pass the first chunks of the stages before it have done a forward pass each. Or its first backward
  // pass waits for the forward pass of the whole model and the backward passes of the stages behind it in their last
  // chunks; by then it has done (chunks - 1) S + r of its own forward passes, r = 2 (S - 1 - k) + 1: where r <= S those
  // are S of each chunk but S - r of the last one. Each chunk has a layer at least.
  int64_t StepPs(int32_t stage, int32_t layers) const;
  int64_t ForwardPs(int32_t stage, int32_t layers) const;
  int32_t FewestLayers(int32_t stage) const;
  int32_t Average() const;
  // The least cap under which the stages hold all layers, each as many as its times allow. `least_of`: what any stage
  // with so many layers takes at least.
  template <typename TimeOf, typename LeastOf>
  int64_t LeastCap(TimeOf time_of, LeastOf least_of, std::vector<int32_t>* layers_by_stage) const;
  int64_t LeastChunkCap(std::vector<int32_t>* layers_by_stage) const;

  const StageTable& table_;
  int32_t num_layers_;
  Interleaving interleaving_;
  Poller& poller_;
  bool are_alike_ = true;
  // Layers of the kind that is dealt out.
  int32_t dealt_ = 0;
  LayerPrice price_;
  LayerGroup group_;
  End none_;
  End first_;
  End last_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_LIKE_STAGES_H_
