// Which layers between the first and the last one of a model are alike, or nearly, and what any of them takes at least.
#ifndef PLANWRIGHT_CORE_JOINT_DEALING_LIKE_LAYERS_H_
#define PLANWRIGHT_CORE_JOINT_DEALING_LIKE_LAYERS_H_

#include <cstddef>
#include <cstdint>

#include "core/joint/cost/layer_price.h"
#include "core/joint/slots/cut_shifts.h"
#include "core/joint/stages/recomputation.h"
#include "core/joint/stages/stage_table.h"

namespace planwright {

// The first or the last layer of the model.
struct ModelEnd {
  bool exists = false;
  LayerPrice price;
  LayerGroup group;
};

// Dealt out are the most layers between the ends that are nearly alike, such as where each was measured for itself,
// each as what any of them takes and holds at least. The others may lie anywhere between the ends and take no memory;
// in the step their passes count, as does what those that are dealt out take beyond the least. Unless all are of one
// kind, times are bounds only.
struct LikeLayers {
  ModelEnd first;
  ModelEnd last;
  // How many are dealt out.
  int32_t count = 0;
  // Whether these are all that lie between the ends.
  bool are_all = true;
  // Of all between the ends.
  std::size_t num_kinds = 0;
  // What any of those that are dealt out takes and holds at least; of the group without count.
  LayerPrice price;
  LayerGroup group;
  // What passes of a micro-batch through all between the ends take beyond as many of `price`.
  LayerPasses beyond;
  // The longest of those that are dealt out.
  int64_t longest_forward_ps = 0;

  bool are_of_one_kind() const { return num_kinds == 1; }
  // Both passes.
  int64_t layer_ps() const { return price.forward_ps + price.backward_ps; }
  int64_t beyond_ps() const { return beyond.forward + beyond.backward; }
};

// O(layers log layers). REQUIRES: at least two layers.
LikeLayers FindLikeLayers(const StageTable& table, int32_t num_layers);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_DEALING_LIKE_LAYERS_H_
