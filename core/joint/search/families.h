// The search space in parts: all pipelines with one division of the batch and one sharding, spread in one way or, where
// stages may differ, in several. Each part has a bound that costs microseconds.
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_FAMILIES_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_FAMILIES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/polling.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/search/places.h"
#include "core/joint/search/stage_pass.h"
#include "core/joint/stages/stage_table.h"
#include "core/model/joint.h"

namespace planwright {

// What the searches of one request share. All outlive the object.
struct JointSpace {
  const LayerPricer& pricer;
  const Places& places;
  const SegmentNumbers& segments;
  // Resolved (ResolveJoint).
  const JointSettings& settings;
  // Bytes reserved on every device, on top of what the classes of the row may use.
  int64_t reserved_bytes = 0;

  int32_t num_layers() const { return static_cast<int32_t>(pricer.kinds().size()); }
};

struct PipelineFamily {
  Sharding sharding = Sharding::kNone;
  // Samples of a micro-batch on one rank of the data degree; where stages may differ, on all ranks together.
  int64_t samples = 1;
  int64_t micro_batches = 1;
  // At least one.
  std::vector<Degrees> degrees = {};
  // Its pipelines under 1F1B take at least so long, and under GPIPE no less.
  int64_t step_bound_ps = 0;
  // Under any order: the busiest stage works through all micro-batches, and no stage's end of the step is hidden.
  int64_t busiest_bound_ps = 0;
  // As busiest_bound_ps without the end of the step: task by task, a stage with less to do may have the longest end.
  int64_t busiest_passes_ps = 0;
  // Under 1F1B, what they take at least beside the longest stage of all micro-batches but one; and times devices, what
  // one micro-batch takes in all stages together.
  int64_t once_ps = 0;
  int64_t work_ps = 0;
  // They hold at most so many stages.
  int64_t most_stages = 0;
  // They take at least so many devices, or memory is short.
  int64_t fewest_devices = 1;
  // Every stage computes so many of its first numbered layers again whole and nothing else; nullopt: each what it takes
  // to fit.
  std::optional<int32_t> first_layers_again = std::nullopt;

  // Samples of a micro-batch on one rank of a stage so spread.
  int64_t SamplesOf(const Degrees& spread, bool per_stage) const { return per_stage ? samples / spread.data : samples; }
};

// 160 hours. Steps for which the work of one device takes longer are not looked for: sums leave 63 bits.
inline constexpr int64_t kLongestStepPs = 576'000'000'000'000'000;

// All families of which not even the bound is infeasible, the least bound first. Families whose parameters, gradients
// and optimizer exceed all memory are left out, since nothing of them fits, and those beyond kLongestStepPs.
// O(families x kinds).
std::vector<PipelineFamily> ListFamilies(const JointSpace& space, Poller& poller);

// Whether any are left out for their time alone, or transfers may take as long.
bool AreSomeTooLong(const JointSpace& space, Poller& poller);

// Each of `families` once for every number of first layers that all its stages compute again, the least bound first.
// O(families x (kinds + layers)).
std::vector<PipelineFamily> WithFirstLayersAgain(const JointSpace& space, const std::vector<PipelineFamily>& families,
                                                 Poller& poller);

// What no pipeline of `families` beats under any order, whatever a search of them came to: in its closed form, and task
// by task. Saturates where there are none.
int64_t LeastBusiestBound(const std::vector<PipelineFamily>& families);
int64_t LeastBusiestPasses(const std::vector<PipelineFamily>& families);

// Visits every class of the row and, in each, every distance of devices: visit(number, tier, can_be), whether a block
// of ranks so spread may be there.
template <typename Visit>
void ForEachSite(const JointSpace& space, const Degrees& degrees, Visit visit) {
  const int64_t devices = degrees.devices();
  for (int32_t number = 0; number < space.places.row().num_classes(); ++number) {
    const int32_t least = space.places.LeastTier(number, devices);
    const int32_t most = least == 0 ? 0 : space.places.num_tiers() - 1;
    const bool has_blocks = space.places.row().At(number).BlocksOf(devices) > 0;
    for (int32_t tier = 0; tier < space.places.num_tiers(); ++tier) {
      visit(number, tier, has_blocks && least <= tier && tier <= most);
    }
  }
}

// The layers of a stage of `family` so spread, on devices of a class that are `tier` apart; empty: the degrees do not
// divide the model.
std::vector<LayerPrice> PricesAt(const JointSpace& space, const PipelineFamily& family, const Degrees& degrees,
                                 int32_t number, int32_t tier);

// The ways to spread a stage of `family`; empty: none is possible on any class.
std::vector<SpreadOption> OptionsOf(const JointSpace& space, const PipelineFamily& family);

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

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_FAMILIES_H_
