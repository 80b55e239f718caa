// What a stage of the joint search costs (docs/joint-search.md, section 2): the one definition that reports, baselines
// and searches share; core/verify has its own.
#ifndef PLANWRIGHT_CORE_JOINT_COST_STAGE_COST_H_
#define PLANWRIGHT_CORE_JOINT_COST_STAGE_COST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/training_cluster.h"
#include "core/model/joint.h"

namespace planwright {

// Micro-batches of which a stage keeps something at the worst moment.
struct HeldMicroBatches {
  // Between their forward and their backward pass.
  int64_t whole = 1;
  // Between the two parts of the backward pass, and those that pass from the one state to the other.
  int64_t deferred = 0;
  int64_t changing = 0;

  int64_t count() const { return whole + deferred + changing; }
  // Bytes held by a layer that keeps so much for the backward pass and for the gradients of weights; at most 2^61.
  int64_t BytesOf(int64_t kept_bytes, int64_t weights_kept_bytes) const;
  auto operator<=>(const HeldMicroBatches&) const = default;
};

// What is held by the stage that is the `from_end`-th from the end (the last: 1) of `num_stages`; under INTERLEAVED
// counted in chunks (Narayanan et al. 2021, section 2.2). Under ZERO_BUBBLE_H1 it is as many in all as under 1F1B in
// the first stage (Qi et al. 2023, section 2.1). REQUIRES: under ZERO_BUBBLE_H1 micro_batches >= num_stages.
HeldMicroBatches HeldBy(PipelineOrder order, int64_t micro_batches, int64_t from_end, int64_t num_stages,
                        int64_t chunks);

// What a stage holds of the tensors at its two ends (0: an end of the model): one in use and one under way of each.
int64_t BoundaryBufferBytes(int64_t input_bytes, int64_t output_bytes);

// Time of `bytes` over `link`, at most 2^58 (80 hours); of one tensor and of its gradient.
int64_t OneWayPs(int64_t bytes, const TrainingLink& link);
int64_t TransferPs(int64_t bytes, const TrainingLink& link);

// 1F1B: sum + (micro_batches - 1) x longest + end.
int64_t OneFOneBStepPs(int64_t sum_ps, int64_t longest_ps, int64_t end_ps, int64_t micro_batches);

// The longest of each part of the passes of any stage.
struct LongestPasses {
  int64_t forward_ps = 0;
  // Under ZERO_BUBBLE_H1 the gradients of inputs alone.
  int64_t backward_ps = 0;
  int64_t weights_ps = 0;
};

// GPIPE: sum + (micro_batches - 1) x (longest forward + longest backward pass) + end.
int64_t GpipeStepPs(int64_t sum_ps, const LongestPasses& longest, int64_t end_ps, int64_t micro_batches);

// ZERO_BUBBLE_H1: micro_batches x (f + b + w) + (stages - 1) x max(f, b, f + b - w) + end, what stages take of which
// each is as long as the longest (docs/joint-search.md, section 2). REQUIRES: micro_batches >= num_stages.
int64_t ZeroBubbleStepPs(const LongestPasses& longest, int64_t end_ps, int64_t micro_batches, int64_t num_stages);

// What the closed form of a step follows from.
struct StepSums {
  // What one micro-batch takes: in all stages together, and in the slowest one.
  int64_t sum_ps = 0;
  int64_t longest_ps = 0;
  // The longest passes of any stage.
  LongestPasses longest;
  // What comes once, at the end of the step, in the stage where it takes longest.
  int64_t end_ps = 0;
};

// The closed form of `order`, one of the above; saturates at kMaxQuantity. REQUIRES: not INTERLEAVED, whose closed form
// is that of slots (core/joint/slots).
int64_t StepPs(PipelineOrder order, const StepSums& sums, int64_t micro_batches, int64_t num_stages);

// What is stated of the speed of a plan whose step takes so long.
double SamplesPerSecond(int64_t global_batch, int64_t step_ps);

// Where the row of devices changes nodes and classes.
class DeviceRow {
 public:
  explicit DeviceRow(const TrainingCluster& cluster);

  int64_t size() const { return starts_.back(); }
  int32_t num_classes() const { return static_cast<int32_t>(cluster_.classes.size()); }
  // The class of a slot; num_classes() at the end.
  int32_t ClassOf(int64_t slot) const;
  int64_t StartOf(int32_t number) const { return starts_[static_cast<std::size_t>(number)]; }
  int64_t EndOf(int32_t number) const { return starts_[static_cast<std::size_t>(number) + 1]; }
  const TrainingClass& At(int32_t number) const { return cluster_.classes[static_cast<std::size_t>(number)]; }
  // Slots between `slot` and the end of its node; 0 where a node begins.
  int64_t RestOfNode(int64_t slot) const;
  // How far two slots are apart (TrainingCluster); of unlike classes as far as can be. O(classes + groups).
  int32_t TierBetween(int64_t a, int64_t b) const;
  // How far slots of [first, first + count) are apart at the most. O(nodes of it).
  int32_t TierOf(int64_t first, int64_t count) const;
  // The first slot from `slot` on at which a block of so many devices of a class may lie: inside a node, or on whole
  // ones; `is_closest`: as close together as it can be. -1: none is left.
  int64_t NextBlock(int32_t number, int64_t slot, int64_t devices, bool is_closest) const;
  const TrainingCluster& cluster() const { return cluster_; }
  // The devices of a stage, in rank order (TrainingClass::PerNodeOf).
  std::vector<DeviceId> DevicesOf(const JointStage& stage) const;

 private:
  const TrainingCluster& cluster_;
  std::vector<int64_t> starts_;
};

// Asks for prices of a stage so spread on nodes of `part`, `tier` apart at the most (TrainingCluster). `samples`: of a
// micro-batch on one rank of the data degree.
PriceQuery QueryOn(const TrainingCluster& cluster, const TrainingClass& part, int32_t tier, const Degrees& degrees,
                   int64_t samples, Sharding sharding);

// Of a stage of `plan`, placed in the row.
PriceQuery StageQuery(const DeviceRow& row, const JointPlan& plan, const JointStage& stage);

// The link between what runs before a boundary and what runs behind it: that of a node, a rack, ... only where both
// blocks are in one.
TrainingLink LinkBetween(const DeviceRow& row, const JointStage& a, const JointStage& b);

// Fills in what follows from the decisions of `plan` (order, chunks, sharding, micro-batches; of each stage chunks,
// degrees and place): passes, transfers, memory, in_flight, and the closed form of the step.
// kBeyondPrices, and nothing else, where a layer has no price on the links that it gets: its exchanges take days.
// REQUIRES: stages in pipeline order, placed on consecutive slots from the end of the row backwards or forwards.
inline constexpr Picoseconds kBeyondPrices = Picoseconds::max();
void CostJointPlan(const LayerPricer& pricer, const DeviceRow& row, int64_t reserved_bytes, JointPlan& plan);

// Whether what every stage of a costed plan holds is there on its devices, whose memory is without what is reserved.
bool IsHeld(const DeviceRow& row, int64_t reserved_bytes, const JointPlan& plan);

// A run of layers of one stage and micro-batch.
struct ChunkCost {
  // Without transfers between stages.
  int64_t forward_ps = 0;
  // Under ZERO_BUBBLE_H1 the gradients of inputs; else all of the pass.
  int64_t backward_ps = 0;
  // Under ZERO_BUBBLE_H1 alone.
  int64_t weights_ps = 0;
  // Time of the transfers, both ways: at the front of the run, and behind it.
  int64_t received_ps = 0;
  int64_t sent_ps = 0;
  // Behind the forward pass, while the gradients of inputs are made, and behind them (HeldMicroBatches).
  int64_t kept_bytes = 0;
  int64_t changing_bytes = 0;
  int64_t weights_kept_bytes = 0;
};

// What the decisions of `plan` cost, by stage, then by its chunks in the order of the layers.
std::vector<std::vector<ChunkCost>> CostChunks(const LayerPricer& pricer, const DeviceRow& row, const JointPlan& plan);

// Fills in simulated_step of a plan that CostJointPlan has costed: the last stage's end, each behind its step_end.
// O(stages x chunks x micro-batches).
void SimulateJointPlan(const LayerPricer& pricer, const DeviceRow& row, JointPlan& plan);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_STAGE_COST_H_
