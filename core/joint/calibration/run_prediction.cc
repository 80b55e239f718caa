#include "core/joint/calibration/run_prediction.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "core/joint/cost/layer_modes.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/cost/transformer_pricer.h"

namespace planwright {
namespace {

// Layers of each chunk with embedding and head: these are chunks' layers like others where only then all chunks are
// alike (as trainers with interleaving do), else they come on top of the first and the last chunk.
std::vector<int32_t> ChunkSizes(int32_t layers, int32_t chunks) {
  if (layers % chunks != 0 && (layers + 2) % chunks == 0) {
    return std::vector<int32_t>(static_cast<std::size_t>(chunks), (layers + 2) / chunks);
  }
  std::vector<int32_t> sizes(static_cast<std::size_t>(chunks), layers / chunks);
  // The middle takes what is left over.
  const int32_t rest = layers % chunks;
  const auto first = static_cast<std::size_t>((chunks - rest) / 2);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rest); ++i) ++sizes[first + i];
  ++sizes.front();
  ++sizes.back();
  return sizes;
}

// Chunk k is on stage k mod the number of stages.
void AddStages(const TrainingRun& run, const LayerPricer& pricer, const std::vector<LayerPrice>& prices,
               LayerRecomputation recomputation, JointPlan& plan) {
  plan.stages.resize(static_cast<std::size_t>(run.num_stages));
  int32_t slot = 0;
  for (JointStage& stage : plan.stages) {
    stage.degrees = run.degrees;
    stage.first_slot = slot;
    slot += static_cast<int32_t>(run.degrees.devices());
  }
  int32_t layer = 0;
  const std::vector<int32_t> sizes = ChunkSizes(run.shape.layers, run.num_stages * run.chunks);
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    JointChunk chunk{.first_layer = layer, .recomputation = {}};
    for (int32_t i = 0; i < sizes[c]; ++i, ++layer) {
      const int32_t kind = pricer.kinds()[static_cast<std::size_t>(layer)];
      const LayerPrice& price = prices[static_cast<std::size_t>(kind)];
      chunk.recomputation.push_back(ModeOf(price, recomputation, {}).value_or(LayerRecomputation::kNone));
    }
    plan.stages[c % plan.stages.size()].chunks.push_back(std::move(chunk));
  }
}

// Whether the step may leave 62 bits of picoseconds: every layer as long as the longest, with its output on the way to
// the next.
bool IsTooLong(const TrainingRun& run, const std::vector<LayerPrice>& prices, const JointPlan& plan) {
  constexpr double kMost = 1e18;
  const double bandwidth = std::min(run.inside.bytes_per_second, run.between.bytes_per_second);
  double longest = 0;
  for (const LayerPrice& price : prices) {
    const double passes = static_cast<double>(price.forward_ps) + static_cast<double>(price.backward_ps);
    const double transfer = static_cast<double>(price.output_bytes) / bandwidth * kPicosecondsPerSecond;
    longest = std::max(longest, 2 * passes + 4 * transfer);
  }
  return !(longest * (run.shape.layers + 2) * static_cast<double>(plan.micro_batches) < kMost);
}

int64_t DataBatch(const TrainingRun& run) { return run.global_batch / run.degrees.data; }

}  // namespace

std::optional<RunPrediction> PredictRun(const TrainingRun& run, const TrainingEfficiency& efficiency,
                                        const RunSetting& setting) {
  if (run.global_batch % run.degrees.data != 0 || DataBatch(run) % setting.micro_batch != 0) return std::nullopt;
  if (int64_t{run.num_stages} * run.chunks > run.shape.layers + 2) return std::nullopt;
  Cluster cluster;
  cluster.device_classes = {run.device};
  cluster.device_classes.front().training = efficiency;
  const TrainingCluster training{
      .classes = {{.device_class = DeviceClassId(0),
                   .nodes = static_cast<int32_t>(CeilDivide(run.devices, run.devices_per_node)),
                   .devices_per_node = run.devices_per_node,
                   .memory_bytes = run.device.memory_bytes.value_or(0)}},
      .devices = {},
      .inside = run.inside,
      .between = run.between};
  const DeviceRow row(training);
  const TransformerPricer pricer(run.shape, cluster, run.inside, run.between, run.options);
  JointPlan plan{.order = run.chunks > 1 ? PipelineOrder::kInterleaved : PipelineOrder::kOneFOneB,
                 .chunks = run.chunks,
                 .sharding = run.sharding,
                 .micro_batch_samples = setting.micro_batch,
                 .micro_batches = DataBatch(run) / setting.micro_batch,
                 .stages = {},
                 .uniform_configurations = {},
                 .worth = {}};
  const std::vector<LayerPrice> prices = pricer.Price({.device_class = DeviceClassId(0),
                                                       .degrees = run.degrees,
                                                       .samples = setting.micro_batch,
                                                       .sharding = run.sharding,
                                                       .devices_per_node = run.devices_per_node});
  if (prices.empty() || IsTooLong(run, prices, plan)) return std::nullopt;
  AddStages(run, pricer, prices, setting.recomputation, plan);
  CostJointPlan(pricer, row, run.reserved_bytes, plan);
  RunPrediction prediction{.step_seconds = static_cast<double>(plan.step.count()) / kPicosecondsPerSecond};
  for (const JointStage& stage : plan.stages) {
    prediction.memory_bytes = std::max(prediction.memory_bytes, stage.memory.total());
  }
  prediction.fits = prediction.memory_bytes <= run.device.memory_bytes.value_or(prediction.memory_bytes);
  return prediction;
}

RunSetting AssumedSetting(const TrainingRun& run, const TrainingEfficiency& efficiency) {
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size <= 16; size *= 2) {
    if (DataBatch(run) % size == 0) sizes.push_back(size);
  }
  if (run.micro_batch.has_value()) sizes = {*run.micro_batch};
  std::vector<LayerRecomputation> modes = {LayerRecomputation::kNone, LayerRecomputation::kSelective,
                                           LayerRecomputation::kFull};
  if (run.recomputation.has_value()) modes = {*run.recomputation};
  // Where no scores are stored, trainers mean different parts by it: nothing and everything stand for them.
  if (run.recomputation == LayerRecomputation::kSelective && !run.shape.stores_scores) {
    modes = {LayerRecomputation::kNone, LayerRecomputation::kFull};
  }
  RunSetting best{.micro_batch = sizes.front(), .recomputation = modes.back()};
  double least = 0;
  for (const int64_t size : sizes) {
    for (const LayerRecomputation mode : modes) {
      const RunSetting setting{.micro_batch = size, .recomputation = mode};
      const auto prediction = PredictRun(run, efficiency, setting);
      if (!prediction.has_value() || !prediction->fits) continue;
      if (least > 0 && prediction->step_seconds >= least) continue;
      least = prediction->step_seconds;
      best = setting;
    }
  }
  return best;
}

}  // namespace planwright
