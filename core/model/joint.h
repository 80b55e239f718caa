// What the joint search chooses together, and what it answers with (proto: problem.proto, JointSearch; plan.proto,
// JointPlan). Plain values.
#ifndef PLANWRIGHT_CORE_MODEL_JOINT_H_
#define PLANWRIGHT_CORE_MODEL_JOINT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace planwright {

// What the backward pass of a layer computes again instead of keeping it.
enum class LayerRecomputation { kNone, kSelective, kFull };
inline constexpr int kNumRecomputations = 3;

// What the ranks that hold the same parameters divide among themselves; each includes the ones before.
enum class Sharding { kNone, kOptimizer, kGradients, kParameters };
inline constexpr int kNumShardings = 4;

// kInterleaved: several runs of layers per block of devices, in turn; the others: one. kGpipe: all forward passes, then
// all backward passes; takes no less than 1F1B and holds more. kZeroBubble: 1F1B with backward passes in two parts, of
// which that for the weights is done later (ZB-H1 of Qi et al. 2023).
enum class PipelineOrder { kOneFOneB, kInterleaved, kGpipe, kZeroBubble };

// How a stage is spread over its devices. Ranks are numbered tensor fastest, then context, then data.
struct Degrees {
  int32_t tensor = 1;
  int32_t context = 1;
  // Divides context x data: expert groups lie inside these ranks.
  int32_t expert = 1;
  int32_t data = 1;

  int64_t devices() const { return int64_t{tensor} * context * data; }
  bool operator==(const Degrees&) const = default;
};

// Empty lists: what people would choose (ResolveJoint).
struct JointSettings {
  // Samples of one step.
  int64_t global_batch = 0;
  std::vector<int32_t> tensor_degrees;
  std::vector<int32_t> context_degrees;
  std::vector<int32_t> expert_degrees;
  std::vector<int32_t> data_degrees;
  // Samples of a micro-batch on one rank of the data degree.
  std::vector<int64_t> micro_batch_samples;
  std::vector<LayerRecomputation> recomputation;
  std::vector<Sharding> shardings;
  std::vector<PipelineOrder> orders;
  // Stages may differ in their degrees; else one choice holds for all.
  bool per_stage = false;
  // Every stage computes the same number of its first numbered layers again whole, and nothing else again.
  bool first_layers_alike = false;
  std::optional<int32_t> num_stages;
  std::optional<int64_t> micro_batches;
  // Needed only for a graph without a transformer's shape; nullopt: unknown.
  std::optional<int64_t> tokens_per_sample;
  // What Objective::kMinDevices must reach; nullopt: a plan that fits is enough.
  std::optional<double> target_tokens_per_second;
};

// Bytes of one device.
struct JointMemory {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  // What all micro-batches in flight keep.
  int64_t activations = 0;
  int64_t workspace = 0;
  int64_t reserved = 0;

  int64_t total() const { return parameters + gradients + optimizer + activations + workspace + reserved; }
  bool operator==(const JointMemory&) const = default;
};

// A run of layers and what each of them computes again.
struct JointChunk {
  int32_t first_layer = 0;
  std::vector<LayerRecomputation> recomputation;

  int32_t end_layer() const { return first_layer + static_cast<int32_t>(recomputation.size()); }
};

struct JointStage {
  // One; of INTERLEAVED several, in the order of the layers.
  std::vector<JointChunk> chunks;
  Degrees degrees;
  // In the order of the device sequence (DeviceOrder): the block's devices are consecutive.
  int32_t first_slot = 0;
  // Most micro-batches whose activations it holds; of INTERLEAVED counted in chunks.
  int32_t in_flight = 1;
  // What one micro-batch takes in all chunks: computation and collectives, without transfers between stages.
  Picoseconds forward{0};
  Picoseconds backward{0};
  // Transfers both ways at both ends, and the part of them at the front.
  Picoseconds transfers{0};
  Picoseconds received{0};
  // What comes once a step: gradients, parameters and the optimizer.
  Picoseconds step_end{0};
  JointMemory memory;
  // Layers whose times were measured.
  int32_t measured_layers = 0;
};

// A way to run the step, in short.
struct JointConfiguration {
  PipelineOrder order = PipelineOrder::kOneFOneB;
  int32_t num_stages = 1;
  // Chunks of layers per stage.
  int32_t chunks = 1;
  // Every stage has them; under PER_STAGE they are those of the first one.
  Degrees degrees;
  Sharding sharding = Sharding::kNone;
  // The mode that most layers have.
  LayerRecomputation recomputation = LayerRecomputation::kNone;
  int64_t micro_batch_samples = 1;
  int64_t micro_batches = 1;
  Picoseconds step{0};
};

// What the step would take without one of the choices; nullopt: nothing fits then.
struct ChoiceWorth {
  std::string without;
  std::optional<Picoseconds> step;
};

struct JointPlan {
  PipelineOrder order = PipelineOrder::kOneFOneB;
  int32_t chunks = 1;
  Sharding sharding = Sharding::kNone;
  // Whether stages divide a micro-batch among their own ranks of data, so that their degrees may differ.
  bool per_stage = false;
  // What one rank of the data degree takes; if `per_stage`, all ranks together.
  int64_t micro_batch_samples = 1;
  int64_t micro_batches = 1;
  std::vector<JointStage> stages = {};
  // Names of the layers, where these are operators of a graph without a transformer (OperatorLayers); else empty.
  std::vector<std::string> layer_labels = {};
  // The closed form, and the least that any plan in scope can take by it.
  Picoseconds step{0};
  Picoseconds step_bound{0};
  // Task by task. Its bound holds for every plan.
  Picoseconds simulated_step{0};
  Picoseconds simulated_bound{0};
  double tokens_per_second = 0;
  // The model's FLOPs with causal attention, without what is computed again, over those of the devices in use and of
  // all.
  double peak_share_in_use = 0;
  double peak_share = 0;
  // Simple ways to run it, best first: equal stages, one choice for all.
  std::vector<JointConfiguration> uniform_configurations = {};
  std::vector<ChoiceWorth> worth = {};
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_JOINT_H_
