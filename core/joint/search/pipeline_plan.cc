#include "core/joint/search/pipeline_plan.h"

#include <cstddef>
#include <cstdint>

namespace planwright {

std::vector<LayerRecomputation> ModesThatFit(const StageTable& table, const PlacedStage& stage,
                                             const HeldMicroBatches& held) {
  return table.Modes(stage.first_layer, stage.end_layer, held);
}

JointPlan PlanOfPipeline(const PipelineFamily& family, PipelineOrder order, bool per_stage,
                         const StagePipeline& pipeline, const Places& places, const std::vector<SpreadOption>& options,
                         const ModesOfStage& modes_of) {
  JointPlan plan{.order = order,
                 .sharding = family.sharding,
                 .per_stage = per_stage,
                 .micro_batch_samples = family.samples,
                 .micro_batches = family.micro_batches};
  const auto num_stages = static_cast<int64_t>(pipeline.stages.size());
  int64_t from_end = num_stages;
  for (const PlacedStage& placed : pipeline.stages) {
    JointStage& stage = plan.stages.emplace_back();
    const SpreadOption& option = options[static_cast<std::size_t>(placed.option)];
    stage.degrees = option.degrees;
    stage.first_slot = static_cast<int32_t>(places.SlotOf(placed.end));
    const int32_t number = places.row().ClassOf(stage.first_slot);
    const StageTable& table = *option.At(number, places.TierOf(placed.end, option.degrees.devices()));
    stage.chunks.push_back(
        {placed.first_layer, modes_of(table, placed, HeldBy(order, family.micro_batches, from_end, num_stages, 1))});
    --from_end;
  }
  return plan;
}

}  // namespace planwright
