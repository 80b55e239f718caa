// What a layer costs on one rank, whoever says so: a model of it, or measurements.
//
// Times are whole picoseconds of one micro-batch, bytes those of one device. Everything that a stage costs is a sum or
// a maximum of these over its layers (stage_cost.h), so searches need prefix sums only.
#ifndef PLANWRIGHT_CORE_JOINT_COST_LAYER_PRICE_H_
#define PLANWRIGHT_CORE_JOINT_COST_LAYER_PRICE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/known.h"
#include "core/model/joint.h"

namespace planwright {

// What a layer takes besides where it is computed again.
struct LayerMode {
  // In the backward pass.
  int64_t extra_ps = 0;
  // What each micro-batch in flight keeps.
  int64_t kept_bytes = 0;
};

// By LayerRecomputation; nullopt: the layer has no such mode.
using LayerModes = std::array<std::optional<LayerMode>, kNumRecomputations>;

struct LayerPrice {
  // What it has in common with the first layer of the model (a tied embedding), as it counts in the fields below.
  struct Shared {
    int64_t parameter_bytes = 0;
    int64_t gradient_bytes = 0;
    int64_t optimizer_bytes = 0;
    int64_t step_end_ps = 0;

    int64_t state_bytes() const { return parameter_bytes + gradient_bytes + optimizer_bytes; }
  };

  // Collectives of every micro-batch are included, as far as they are not hidden.
  int64_t forward_ps = 0;
  int64_t backward_ps = 0;
  // The part of backward_ps that makes the gradients of weights, which no other layer waits for (zero bubble).
  int64_t weights_ps = 0;
  // What they still need of a micro-batch whose other gradients are made.
  int64_t weights_kept_bytes = 0;
  LayerModes modes;
  // While the layer is computed again whole: what it then keeps.
  int64_t recomputed_bytes = 0;
  // While it runs.
  int64_t workspace_bytes = 0;
  int64_t parameter_bytes = 0;
  int64_t gradient_bytes = 0;
  int64_t optimizer_bytes = 0;
  // Only for Sharding::kParameters: the whole layer, which is gathered while it runs.
  int64_t gathered_bytes = 0;
  // What comes once a step: the exchange of gradients and parameters, and the optimizer's update.
  int64_t step_end_ps = 0;
  // What the first and the last stage add up once a step where they are two, as if links were used fully: what
  // collectives do not reach of the bandwidth counts as bytes.
  int64_t ends_bytes = 0;
  // Of the last layer alone: a stage that holds all layers has it, and works on it once a step, once.
  Shared shared = {};
  // What one rank sends to the next stage.
  int64_t output_bytes = 0;
  // The times were measured.
  bool is_measured = false;
  // Where the layer cannot run on ranks so spread, of all this output_bytes alone counts: what goes through a boundary.
  bool can_run = true;

  // REQUIRES: the layer has the mode.
  const LayerMode& InMode(LayerRecomputation mode) const { return Known(modes[static_cast<std::size_t>(mode)]); }
  int64_t state_bytes() const { return parameter_bytes + gradient_bytes + optimizer_bytes; }
  // In any stage.
  int64_t least_state_bytes() const { return state_bytes() - shared.state_bytes(); }
  int64_t least_step_end_ps() const { return step_end_ps - shared.step_end_ps; }
};

// What a device holds once for all its layers, of which one runs at a time.
struct HeldOnce {
  // One layer gathered whole, of which two are there at a time: the next one is under way.
  int64_t gathered_bytes = 0;
  int64_t workspace_bytes = 0;
  int64_t recomputed_bytes = 0;

  void Add(const LayerPrice& price) {
    gathered_bytes = std::max(gathered_bytes, price.gathered_bytes);
    workspace_bytes = std::max(workspace_bytes, price.workspace_bytes);
    recomputed_bytes = std::max(recomputed_bytes, price.recomputed_bytes);
  }
  // `again`: some layer is computed again whole.
  int64_t Bytes(bool again) const { return 2 * gathered_bytes + workspace_bytes + (again ? recomputed_bytes : 0); }
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_LAYER_PRICE_H_
