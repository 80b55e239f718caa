// What a stage and its chunks take at least with so many of the layers that are dealt out.
//
// A device keeps as often as chunks are in flight what its largest chunk keeps, so what a chunk takes depends on how
// many layers it has and on how many all chunks of its stage have.
#ifndef PLANWRIGHT_CORE_JOINT_DEALING_DEALT_STAGES_H_
#define PLANWRIGHT_CORE_JOINT_DEALING_DEALT_STAGES_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "core/base/polling.h"
#include "core/joint/dealing/interleaving.h"
#include "core/joint/dealing/like_layers.h"
#include "core/joint/slots/cut_shifts.h"
#include "core/joint/stages/recomputation.h"
#include "core/joint/stages/stage_table.h"

namespace planwright {

// What a choice of recomputation takes.
inline constexpr int64_t kUnitsPerChoice = 256;

struct ChunkOfStage {
  int32_t stage = 0;
  // Of all chunks of the stage, and of this one.
  int32_t stage_layers = 0;
  int32_t layers = 0;
  // Whether an end of the model is in it besides.
  bool has_end = false;
  // With room to compute a layer again whole.
  bool again = false;

  friend bool operator==(const ChunkOfStage& a, const ChunkOfStage& b) = default;
  template <typename H>
  friend H AbslHashValue(H hash, const ChunkOfStage& chunk) {
    return H::combine(std::move(hash), chunk.stage, chunk.stage_layers, chunk.layers, chunk.has_end, chunk.again);
  }
};

// Times in ps; kDoesNotFit. Not thread-safe.
class DealtStages {
 public:
  using TimeOfStage = absl::FunctionRef<int64_t(int32_t stage, int32_t layers)>;

  // `table`, `alike` and `poller` outlive the object. REQUIRES: at least two stages and chunks, and a layer for each
  // chunk.
  DealtStages(const StageTable& table, const LikeLayers& alike, const Interleaving& interleaving, Poller& poller);

  const ModelEnd& EndOf(int32_t stage) const;
  // That a stage has at least; it may have more of all where others have fewer.
  int32_t FewestLayers(int32_t stage) const;
  int32_t Average() const;
  // Both ends of a chunk of the stage. `has_end`: one of them is the end of the model.
  int64_t CutsOf(int32_t stage, bool has_end) const;
  // What the passes of all chunks of a stage receive and send at least, one way.
  int64_t OneWayCutsPs(int32_t stage) const;

  // Passes, transfers and what is computed again, remembered. Interrupted: 0.
  int64_t ChunkPs(const ChunkOfStage& chunk);
  // Of the longest chunk, which so has as few layers as can be. `beside_end`: of the chunk with the end of the model
  // how many then, if not null. Interrupted: 0.
  int64_t LongestChunkPs(int32_t stage, int32_t layers, int32_t* beside_end);
  // The passes of its chunks, of which an end of the model lies in one; empty: they do not fit, or interrupted.
  std::vector<LayerPasses> PassesOf(int32_t stage, const std::vector<int32_t>& layers);
  // What all chunks take. `is_precise`: what each computes again counts by itself, which is some ten times as slow; if
  // not, as if they shared what is left of the device. Interrupted: less than could be.
  int64_t StagePs(int32_t stage, int32_t layers, bool is_precise);
  // Ways to divide more layers of a stage among its chunks take too long to look through.
  bool MayBePrecise() const;

  // The least cap under which the stages hold all layers, each as many as its times allow, which are written to
  // `layers_by_stage` if not null. `least_of`: what any stage with so many layers takes at least. Interrupted: 0.
  int64_t LeastCap(TimeOfStage time_of, absl::FunctionRef<int64_t(int32_t layers)> least_of,
                   std::vector<int32_t>* layers_by_stage) const;
  // What the stages hold beyond all layers is given back, a layer at a time, by that of which `time_of` is most.
  void GiveBack(TimeOfStage time_of, std::vector<int32_t>& layers_by_stage) const;
  // LeastCap of the longest chunk.
  int64_t LeastChunkCap(std::vector<int32_t>* layers_by_stage);
  // What all passes of a micro-batch take the busiest stage at least. Interrupted: 0, or less than could be.
  int64_t LeastBusiestPs();

 private:
  // What is left of a device for `layers` layers in flight. `again`: with room to compute one again.
  int64_t RoomOf(int32_t stage, int32_t layers, bool again) const;
  // So many of the layers, with the end of the model if any.
  std::vector<LayerGroup> GroupsOf(int32_t layers, const ModelEnd* end) const;
  int64_t PassesPs(int32_t layers, const ModelEnd* end) const;
  int64_t NewChunkPs(const ChunkOfStage& chunk) const;
  // `beside_end`: layers in the chunk with the end of the model; others are in the other chunks, as evenly as can be.
  int64_t LongestChunkPs(int32_t stage, int32_t layers, int32_t beside_end, bool again);
  // What all chunks of a stage take at least: as if they shared what is left of the device.
  int64_t SharedRoomPs(int32_t stage, int32_t layers) const;
  // The same where each has its part of it, over all ways to divide the layers among them. Interrupted: 0, or less than
  // could be. O(chunks x layers^2).
  int64_t LeastSumPs(int32_t stage, int32_t layers, bool again);

  const StageTable& table_;
  const LikeLayers& alike_;
  Interleaving interleaving_;
  Poller& poller_;
  // StagePs by stage and layers, where it is precise.
  std::map<std::pair<int32_t, int32_t>, int64_t> sums_;
  absl::flat_hash_map<ChunkOfStage, int64_t> chunks_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_DEALING_DEALT_STAGES_H_
