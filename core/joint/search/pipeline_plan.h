// From a pipeline of the search to a plan.
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_PIPELINE_PLAN_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_PIPELINE_PLAN_H_

#include <functional>
#include <vector>

#include "core/joint/cost/stage_cost.h"
#include "core/joint/search/families.h"
#include "core/joint/search/places.h"
#include "core/joint/search/stage_pass.h"
#include "core/joint/search/stage_table.h"
#include "core/model/joint.h"

namespace planwright {

// What the layers of a stage keep.
using ModesOfStage =
    std::function<std::vector<LayerRecomputation>(const StageTable&, const PlacedStage&, const HeldMicroBatches&)>;

// The cheapest recomputation that fits.
std::vector<LayerRecomputation> ModesThatFit(const StageTable& table, const PlacedStage& stage,
                                             const HeldMicroBatches& held);

// `pipeline` of `family` at its slots of the row, not costed. `options`: of the family.
JointPlan PlanOfPipeline(const PipelineFamily& family, PipelineOrder order, bool per_stage,
                         const StagePipeline& pipeline, const Places& places, const std::vector<SpreadOption>& options,
                         const ModesOfStage& modes_of);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_PIPELINE_PLAN_H_
