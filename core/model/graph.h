// The DNN: operators and the tensors between them (proto: graph.proto). Plain values.
#ifndef PLANWRIGHT_CORE_MODEL_GRAPH_H_
#define PLANWRIGHT_CORE_MODEL_GRAPH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/transformer_shape.h"

namespace planwright {

enum class Pass { kForward, kBackward };

// Measured times on one class of devices, per micro-batch.
struct OperatorCost {
  // By name: a graph may know classes that the cluster lacks.
  std::string device_class;
  Picoseconds forward{0};
  Picoseconds backward{0};
  // Part of `backward` that zero-bubble schedules may delay.
  Picoseconds backward_weight{0};
};

// How an operator runs divided among tensor, context and expert ranks; of one rank and micro-batch.
struct OperatorVariant {
  // What the exchange of a tensor that the operator makes or reads carries beside it.
  struct BoundaryExchange {
    std::string tensor;
    // Beside the tensor, for each operator at its other end that is in another stage.
    int64_t bytes = 0;
  };

  // What computing it again in the backward pass costs and saves.
  struct Recomputation {
    Picoseconds extra{0};
    // Kept instead of those of the variant.
    int64_t activation_bytes = 0;
    // While it is computed again.
    int64_t workspace_bytes = 0;
  };

  int32_t tensor_degree = 1;
  int32_t context_degree = 1;
  // nullopt: the same for every expert degree, and what each rank of these has differs in nothing. Else its parameters
  // are those of experts, of which there are data x context / expert degree copies.
  std::optional<int32_t> expert_degree;
  // The layouts in which it wants what it reads, and leaves what it makes. Empty: as tensors are between layers.
  std::string input_layout;
  std::string output_layout;
  // Empty: every class without a variant of its own of these degrees.
  std::string device_class;
  // Samples of the micro-batch on one rank of the data degree; nullopt: OperatorGraph::samples_per_micro_batch.
  std::optional<int64_t> samples;
  Picoseconds forward{0};
  Picoseconds backward{0};
  int64_t parameter_bytes = 0;
  int64_t activation_bytes = 0;
  int64_t workspace_bytes = 0;
  // What a rank sends on of each tensor that it makes; nullopt: all of it.
  std::optional<int64_t> output_bytes;
  std::optional<Recomputation> recomputation;
  // They count only where replicas take micro-batches in turn (Piper's objective).
  std::vector<BoundaryExchange> boundary_exchanges = {};
};

// What the ranks of a stage exchange to bring a tensor from one layout to another, in each pass.
struct LayoutChange {
  std::string from;
  std::string to;
  // Bytes that a rank receives for each byte of the tensor.
  double share = 0;
};

struct Operator {
  std::string name;
  std::string type;
  std::string layer;
  Pass pass = Pass::kForward;
  // The forward operator of a BACKWARD one, which is placed on the same device.
  std::optional<OperatorId> forward_operator;
  std::vector<OperatorCost> costs;
  double forward_flops = 0;
  double backward_flops = 0;
  int64_t forward_bytes_accessed = 0;
  int64_t backward_bytes_accessed = 0;
  // Names of classes that cannot run it.
  std::vector<std::string> unsupported_device_classes;
  // Memory model DECLARED; nullopt: not declared.
  std::optional<int64_t> memory_bytes;
  int64_t parameter_bytes = 0;
  int64_t activation_bytes = 0;
  int64_t workspace_bytes = 0;
  // Same non-empty label: same device.
  std::string colocation_group;
  // Joint search: instead of the numbers above; empty: it runs whole on each tensor rank.
  std::vector<OperatorVariant> variants = {};
};

// Graph inputs are operators of this type and cost nothing.
inline constexpr char kInputOperatorType[] = "Input";

struct Tensor {
  std::string name;
  OperatorId producer;
  // Distinct, never the producer; ascending after validation is not guaranteed.
  std::vector<OperatorId> consumers;
  int64_t size_bytes = 0;
  // nullopt: from size_bytes and the bandwidth of the link.
  std::optional<Picoseconds> transfer;
};

struct OperatorGraph {
  std::string display_name;
  std::vector<Operator> operators;
  std::vector<Tensor> tensors;
  int64_t samples_per_micro_batch = 1;
  // Describes a language model whose layers are labelled "embedding", "layer.0" and so on, "head" and "loss": what they
  // cost at other degrees of parallelism.
  std::optional<TransformerShape> transformer = std::nullopt;
  // Between layouts of variants.
  std::vector<LayoutChange> layout_changes = {};
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_GRAPH_H_
