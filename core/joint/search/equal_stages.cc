#include "core/joint/search/equal_stages.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "core/base/units.h"
#include "core/joint/cost/stage_cost.h"

namespace planwright {
namespace {

// Blocks one after the other towards the front of the row.
class EqualStageGrid {
 public:
  EqualStageGrid(const JointSpace& space, PipelineOrder order, const PipelineFamily& family, const SpreadOption& option)
      : space_(space), order_(order), family_(family), option_(option) {}

  // `depth`: where the last stage begins.
  std::optional<EqualStagePipeline> Make(int32_t num_stages, LayerRecomputation mode, int64_t depth) const {
    EqualStagePipeline made{.family = family_, .num_stages = num_stages, .recomputation = mode, .pipeline = {}};
    const int32_t each = (space_.num_layers() - 2) / num_stages;
    int32_t tier = 0;
    LongestPasses longest;
    for (int32_t behind = 0; behind < num_stages; ++behind) {
      PlacedStage stage{.first_layer = 1 + (num_stages - 1 - behind) * each,
                        .end_layer = 1 + (num_stages - behind) * each,
                        .option = 0,
                        .end = space_.places.EndOf(depth, option_.degrees.devices())};
      if (behind == 0) stage.end_layer = space_.num_layers();
      if (behind == num_stages - 1) stage.first_layer = 0;
      const int64_t next = behind == num_stages - 1 ? stage.end : NextBlock(stage.end);
      if (stage.end < 0 || next < 0) return std::nullopt;
      const int32_t next_tier = behind == num_stages - 1 ? 0 : TierBefore(stage.end, next);
      if (!Add(stage, depth, {tier, next_tier}, behind, made, longest)) return std::nullopt;
      depth = next;
      tier = next_tier;
    }
    std::reverse(made.pipeline.stages.begin(), made.pipeline.stages.end());
    AddEnds(made.pipeline);
    const auto& [stages, sum_ps, longest_ps, end_ps] = made.pipeline;
    made.step_ps = StepPs(order_, {sum_ps, longest_ps, longest, end_ps}, family_.micro_batches, num_stages);
    return made;
  }

 private:
  // Where the block before one that ends at `end` begins; -1: nowhere.
  int64_t NextBlock(int64_t end) const {
    if (end < 0) return -1;
    int64_t found = -1;
    space_.places.ForEachNext(end, [&](int64_t next) {
      if (found < 0 && space_.places.EndOf(next, option_.degrees.devices()) >= 0) found = next;
    });
    return found;
  }

  // How far the block that ends at `end` is from the next one.
  int32_t TierBefore(int64_t end, int64_t depth) const {
    const int64_t devices = option_.degrees.devices();
    return space_.places.TierOfBoth(end, devices, depth, space_.places.EndOf(depth, devices), devices);
  }

  // What the first and the last stage add up.
  void AddEnds(StagePipeline& pipeline) const {
    const int64_t devices = option_.degrees.devices();
    const PlacedStage& first = pipeline.stages.front();
    const PlacedStage& last = pipeline.stages.back();
    const int32_t tier = space_.places.TierOfBoth(last.end, devices, first.end - 1, first.end, devices);
    const TrainingLink& link = space_.places.row().cluster().LinkOf(tier);
    for (const PlacedStage& stage : {first, last}) {
      const StageTable& table =
          *option_.At(space_.places.ClassAt(stage.end - 1), space_.places.TierOf(stage.end, devices));
      pipeline.end_ps = std::max(pipeline.end_ps, table.StepEndPs(stage.first_layer, stage.end_layer) +
                                                      table.EndsPs(stage.first_layer, stage.end_layer, link));
    }
  }

  // How far the stages behind and before one are.
  struct Tiers {
    int32_t behind = 0;
    int32_t before = 0;
  };

  // Whether the stage fits.
  bool Add(const PlacedStage& stage, int64_t begin, const Tiers& tiers, int32_t behind, EqualStagePipeline& made,
           LongestPasses& longest) const {
    const int32_t own = space_.places.TierOf(stage.end, option_.degrees.devices());
    const StageTable* table = option_.At(space_.places.ClassAt(begin), own);
    if (table == nullptr) return false;
    const int64_t time =
        table->TimeInModePs(stage.first_layer, stage.end_layer,
                            HeldBy(order_, family_.micro_batches, behind + 1, made.num_stages, 1), made.recomputation);
    if (time == kDoesNotFit) return false;
    const TrainingCluster& cluster = space_.places.row().cluster();
    const int64_t transfers = table->TransferBeforePs(stage.end_layer, cluster.LinkOf(tiers.behind)) +
                              table->TransferBeforePs(stage.first_layer, cluster.LinkOf(tiers.before));
    const int64_t cost = time + transfers;
    LongestPasses passes = table->PassesPs(stage.first_layer, stage.end_layer, order_ == PipelineOrder::kZeroBubble);
    passes.forward_ps += transfers / 2;
    longest.forward_ps = std::max(longest.forward_ps, passes.forward_ps);
    longest.weights_ps = std::max(longest.weights_ps, passes.weights_ps);
    longest.backward_ps = std::max(longest.backward_ps, cost - passes.forward_ps - passes.weights_ps);
    StagePipeline& pipeline = made.pipeline;
    pipeline.sum_ps = SaturatingAdd(pipeline.sum_ps, cost);
    pipeline.longest_ps = std::max(pipeline.longest_ps, cost);
    pipeline.end_ps = std::max(pipeline.end_ps, table->StepEndPs(stage.first_layer, stage.end_layer));
    pipeline.stages.push_back(stage);
    return true;
  }

  const JointSpace& space_;
  PipelineOrder order_;
  const PipelineFamily& family_;
  const SpreadOption& option_;
};

// A recomputation that is wanted for all layers, and the one that most of them have then.
struct WantedMode {
  LayerRecomputation wanted = LayerRecomputation::kNone;
  LayerRecomputation most_have = LayerRecomputation::kNone;
};

LayerRecomputation MostFrequent(const std::vector<LayerRecomputation>& modes) {
  const auto fewer = [&](LayerRecomputation a, LayerRecomputation b) {
    return std::count(modes.begin(), modes.end(), a) < std::count(modes.begin(), modes.end(), b);
  };
  const std::initializer_list<LayerRecomputation> all = {LayerRecomputation::kNone, LayerRecomputation::kSelective,
                                                         LayerRecomputation::kFull};
  return std::max(all, fewer);
}

// The modes that differ for some layer.
std::vector<WantedMode> DifferingModes(const JointSpace& space, const SpreadOption& option) {
  const auto table =
      std::find_if(option.tables.begin(), option.tables.end(), [](const auto& t) { return t != nullptr; });
  std::vector<WantedMode> modes;
  std::vector<std::vector<LayerRecomputation>> known;
  for (const LayerRecomputation mode : space.settings.recomputation) {
    std::vector<LayerRecomputation> by_layer = (*table)->ModesInMode(0, space.num_layers(), mode);
    if (std::find(known.begin(), known.end(), by_layer) != known.end()) continue;
    modes.push_back({mode, MostFrequent(by_layer)});
    known.push_back(std::move(by_layer));
  }
  return modes;
}

void Insert(EqualStagePipeline made, std::size_t count, std::vector<EqualStagePipeline>& best) {
  const auto place = std::find_if(best.begin(), best.end(),
                                  [&](const EqualStagePipeline& other) { return made.step_ps < other.step_ps; });
  best.insert(place, std::move(made));
  if (best.size() > count) best.pop_back();
}

}  // namespace

std::vector<EqualStagePipeline> BestEqualStages(const JointSpace& space, PipelineOrder order,
                                                const std::vector<PipelineFamily>& families, std::size_t count,
                                                Poller& poller) {
  std::vector<EqualStagePipeline> best;
  const int32_t num_layers = space.num_layers() - 2;
  for (const PipelineFamily& family : families) {
    const bool is_zero_bubble = order == PipelineOrder::kZeroBubble;
    const int64_t bound = is_zero_bubble ? family.busiest_bound_ps : family.step_bound_ps;
    if (best.size() == count && bound >= best.back().step_ps) {
      // Sorted by the other bound.
      if (is_zero_bubble) continue;
      break;
    }
    if (poller.ShouldStop(1'000)) break;
    const std::vector<SpreadOption> options = OptionsOf(space, family);
    const EqualStageGrid grid(space, order, family, options.front());
    for (int32_t stages = 1; stages <= std::min<int64_t>(num_layers, family.most_stages); ++stages) {
      if (num_layers % stages != 0) continue;
      if (space.settings.num_stages.value_or(stages) != stages) continue;
      if (is_zero_bubble && stages > family.micro_batches) continue;
      for (const WantedMode& mode : DifferingModes(space, options.front())) {
        for (const int64_t depth : space.places.starts()) {
          if (poller.ShouldStop(int64_t{100} * stages)) break;
          std::optional<EqualStagePipeline> made = grid.Make(stages, mode.wanted, depth);
          if (made.has_value()) made->most_have = mode.most_have;
          if (made.has_value()) Insert(*std::move(made), count, best);
        }
      }
    }
  }
  return best;
}

}  // namespace planwright
