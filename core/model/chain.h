// A DNN as a chain of layers on equal devices: what memory-aware pipelines plan on (docs/cost-model.md section 9;
// MadPipe, section 3).
//
// Layer l passes everything that is alive behind it to layer l + 1; bytes that are kept and bytes that are sent are
// numbers of their own, because a layer keeps more than what it receives.
#ifndef PLANWRIGHT_CORE_MODEL_CHAIN_H_
#define PLANWRIGHT_CORE_MODEL_CHAIN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.h"

namespace planwright {

// Graphs are shortened to chains of so many layers: what searches cost grows with the square of the length.
inline constexpr std::size_t kMaxChainLayers = 256;

struct ChainLayer {
  Picoseconds forward{0};
  // 0 for INFERENCE.
  Picoseconds backward{0};
  // Bytes that do not depend on what is in flight: weights with their versions, gradients and optimizer state, or what
  // DECLARED memory says.
  int64_t static_bytes = 0;
  // Bytes kept for every micro-batch between the start of its forward and the end of its backward pass.
  int64_t stored_bytes = 0;
  // Scratch memory; a device has room for its largest one.
  int64_t workspace_bytes = 0;
  // Kept on top of stored_bytes by a stage that begins with this layer: with recomputation the tensors that come to it,
  // from which the forward pass runs again. 0 otherwise, and for the first layer.
  int64_t received_bytes = 0;
};

// Between layer i and layer i + 1; costs nothing where both are on one device.
struct ChainCut {
  // Time on the link for the activations and for their gradients.
  Picoseconds send_forward{0};
  Picoseconds send_backward{0};
  // Buffers at each of the two devices: 2 x bytes of what crosses.
  int64_t buffer_bytes = 0;
};

struct Chain {
  std::vector<ChainLayer> layers;
  // cuts[i] lies between layers i and i + 1; one fewer than the layers.
  std::vector<ChainCut> cuts;
  // There are backward passes and gradients, even if they take no time: TRAINING.
  bool has_backward = true;
};

// The equal devices that a chain runs on.
struct ChainDevices {
  int32_t count = 1;
  // What each device has left when its reserve is taken off. nullopt: it is unlimited.
  std::optional<int64_t> memory_bytes;
  // The two directions of a pair of devices are two links.
  bool full_duplex = false;
};

// Consecutive layers that run as one stage; stages in the order of the chain cover it. Two stages of one device may
// follow each other: they are scheduled apart, and the cut between them costs nothing.
struct ChainStage {
  int32_t first_layer = 0;
  int32_t last_layer = 0;
  // Position among the devices, from 0.
  int32_t device = 0;

  bool operator==(const ChainStage&) const = default;
};

using ChainAllocation = std::vector<ChainStage>;

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_CHAIN_H_
