// One pass over the layers from the last to the first: the least sum of stage times of any pipeline whose stages take
// at most a cap each (docs/joint-search.md, section 3).
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_STAGE_PASS_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_STAGE_PASS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/index.h"
#include "core/base/polling.h"
#include "core/joint/search/labels.h"
#include "core/joint/search/pipeline_ends.h"
#include "core/joint/search/places.h"
#include "core/joint/stages/stage_table.h"
#include "core/model/joint.h"

namespace planwright {

// Sums of doubles may be wrong by so much of them.
inline constexpr double kRoundings = 1e-12;
// More than any row has.
inline constexpr double kManyDevices = 1e15;

// A way to spread a stage, and what stages so spread cost.
struct SpreadOption {
  Degrees degrees;
  // By class of the row, then by how far the devices of a block are apart (Places); nullptr: they cannot be there.
  std::vector<std::unique_ptr<StageTable>> tables;
  int32_t num_tiers = 2;

  // Whether the first and the last stage exchange anything, where they are two.
  bool AreEndsTied(int32_t num_layers) const {
    return std::any_of(tables.begin(), tables.end(), [&](const std::unique_ptr<StageTable>& table) {
      return table != nullptr && (table->PriceOf(0).ends_bytes > 0 || table->PriceOf(num_layers - 1).ends_bytes > 0);
    });
  }
  StageTable* At(int32_t number, int32_t tier) const { return tables[Index(number * num_tiers + tier)].get(); }
  // The table for the closest devices of a class; nullptr: not on that class.
  StageTable* ClosestAt(int32_t number) const {
    for (int32_t tier = 0; tier < num_tiers; ++tier) {
      if (At(number, tier) != nullptr) return At(number, tier);
    }
    return nullptr;
  }
};

struct PlacedStage {
  int32_t first_layer = 0;
  int32_t end_layer = 0;
  // Position in the options.
  int32_t option = 0;
  // Depth behind its block (Places).
  int64_t end = 0;
};

struct StagePipeline {
  // In pipeline order.
  std::vector<PlacedStage> stages;
  // What all stages take together, what the longest takes, and the longest end of the step.
  int64_t sum_ps = 0;
  int64_t longest_ps = 0;
  int64_t end_ps = 0;
};

class StagePass {
 public:
  // What a pass looks for. Plans that reach `limit` may be left out, and so may plans none of whose stages takes more
  // than `above`.
  struct Window {
    int64_t above = 0;
    int64_t cap = 0;
    int64_t limit = 0;
  };

  // What a stage is measured by, against caps.
  //
  // Of kStep. Let c = f + b be a stage's time, D what the stages behind it take together, M the micro-batches, and y
  // the least of these and of the stages from it to the end. It works for M c. Its first backward pass comes D behind
  // its first forward pass, and under 1F1B behind no more than y forward passes of its own. So (M - y) f + M b is left
  // to do: f + D + (M - y) f + M b = M c + D - (y - 1) f. In the same way its last forward pass comes behind M - 1
  // forward and M - y backward passes of its own, and is D before its last backward pass: M c + D - (y - 1) b. And
  // where y < M, its first backward pass is before its last forward pass, with M - y backward passes and as many
  // forward ones from the begin of the one to the end of the other: c + D + (M - y) c + D. The largest of these counts.
  // The stages before it pass the first micro-batch forward before all that, and the last one back behind it.
  enum class Measure {
    // What it takes of a micro-batch.
    kTime,
    // How long a step takes at least under 1F1B, task by task, from the begin of its first forward pass to the end of
    // its last backward pass.
    kStep,
    // Nothing: stages that fit take no time (LeastDevices).
    kNothing
  };

  // All outlive the object. `num_stages`: nullopt: any. REQUIRES: `options` are not empty, and each layer can run with
  // one of them on some class, as in every family (ListFamilies).
  StagePass(const Places& places, int32_t num_layers, int64_t micro_batches, std::optional<int32_t> num_stages,
            std::vector<SpreadOption>& options, Poller& poller, Measure measure = Measure::kTime);

  // The pipeline of least sum and end whose stages all take at most the cap; nullopt: none has a closed form of less
  // than `limit`. Exact within ALIGNED_PLACES. Where the poller says so it ends early, with nullopt.
  //
  // Labels at a layer boundary: depth, stages behind, sum, end; one is dropped only for one at the same kind of place
  // that is at most it in all four. O(layers x options x window x labels). Labels that would take more memory than the
  // limits leave stop the poller.
  std::optional<StagePipeline> LeastSum(const Window& window);

  // How few devices from the end of the row do.
  struct Fewest {
    // No pipeline of the window takes fewer devices, or less beside the longest stages; kDoesNotFit: there is none.
    int64_t devices_bound = kDoesNotFit;
    int64_t value_bound = kDoesNotFit;
    // One whose closed form is less than the limit, and how many devices it takes. Where the cap is above + 1 or
    // nothing is measured, these are the least.
    std::optional<StagePipeline> pipeline;
    int64_t devices = 0;
  };
  // Of the pipelines on at most `most_devices` devices. The depth of a label is how many devices it takes, so that what
  // LeastSum keeps answers for every number of devices. Where the poller says so it ends early, with nothing.
  // REQUIRES: the row is of one class.
  Fewest LeastDevices(const Window& window, int64_t most_devices);
  // What LeastDevices finds no less than, from sums alone; more than `most_devices`: nothing. O(log devices).
  int64_t DevicesBound(const Window& window, int64_t most_devices) const;

  // No step of a pipeline takes less, task by task: the least, over all pipelines, of the most that a stage measures
  // with the times of those before it, and of the first stage's end of the step; `limit` where nothing is below it.
  // nullopt: the poller ended it, or it takes more memory, or more work than is left (in the poller's units). Labels
  // keep the sum, and that most, apart: there are the fewer the closer the limit is to the least. REQUIRES: kStep.
  std::optional<int64_t> LeastSimulated(int64_t limit, int64_t& work_left);
  // As above with one label for each place and number of stages behind it, of the least sum and the least most, which
  // need not be those of one pipeline: less than LeastSimulated by some percent at the most as a rule, in time that is
  // bounded. Boundaries count the closest devices that they may have. O(layers x window x options x stages x places).
  // REQUIRES: kStep.
  std::optional<int64_t> LeastByPlace(int64_t limit, int64_t& work_left);

  // A lower bound on what all stages take together where each measures at most `cap`.
  int64_t SumBound(int64_t cap) const { return RestBound(num_layers_, cap, 0); }
  // Lower bounds, for every pipeline, on the longest stage of a micro-batch and on the end of the step.
  int64_t longest_bound() const { return longest_bound_; }
  int64_t end_bound() const { return end_bound_; }
  // No stage takes more.
  int64_t longest_possible() const { return longest_possible_; }
  bool has_one_stage() const { return num_stages_ == 1; }
  int64_t labels() const { return labels_; }

 private:
  struct Label {
    int32_t depth = 0;
    int32_t behind = 0;
    int64_t sum = 0;
    int64_t end = 0;
    // The longest stage; of LeastSimulated, what the stages from here on take at least, step and all.
    int64_t longest = 0;
    // How it came to be: the stage that begins here, and the label behind it.
    PlacedStage stage = {};
    int32_t next = -1;
    // How far this stage and the one before it are apart.
    int32_t tier = 0;
    PipelineEnds::Distance ends = {};
  };
  using Front = std::vector<Label>;
  // A stage of one option on one class.
  struct Site {
    Places::Span span;
    // By how far its devices are apart.
    StageTable* const* tables = nullptr;
    // What a boundary before each layer costs the stage behind it, by layer, then by how far it is to the next stage.
    std::vector<int64_t> transfers;
  };

  void SetSites();
  const Site& SiteOf(int32_t option, int32_t number) const { return sites_[Index(option * num_classes_ + number)]; }
  void SetBounds();
  // Whether no stage can hold all layers.
  bool HasSeveralStages() const;
  void SetDuals();
  void SetWeights();
  // What the layers before `layer` take at least in stages of at most `cap` on the devices beyond `depth`; kDoesNotFit:
  // these cannot do it.
  int64_t RestBound(int32_t layer, int64_t cap, int64_t depth) const;
  void Begin();
  // Fills fronts_ with the labels of pipelines on at most `most_devices` devices from the end of the row; whether the
  // poller let it.
  bool RunWindow(const Window& window, int64_t most_devices);
  bool is_step() const { return measure_ == Measure::kStep; }
  bool MayHave(int64_t stages, int32_t first_layer) const;
  // At least so many stages are before `stages` ones.
  int64_t StagesLeft(int64_t stages) const { return num_stages_.has_value() ? *num_stages_ - stages : 0; }
  static int64_t BaseOf(const SpreadOption& option, int32_t first, int32_t end);
  // Limits on a stage's measure, on its passes without transfers and recomputation, and on the sum over all stages.
  struct Most {
    int64_t cap = 0;
    int64_t base = 0;
    int64_t sum = 0;
  };
  // Without transfers; kDoesNotFit.
  int64_t StagePs(StageTable& table, const PlacedStage& stage, int64_t in_flight) const;
  // Of kStep, where `forward` of `cost` is forward, before so many stages that take `sum` together.
  int64_t StepMeasureOf(int64_t stages, int64_t sum, int64_t cost, int64_t forward) const;
  // The measure of a stage that takes `cost`, `transfers` of it, before those of the label `behind`.
  int64_t MeasureOf(const StageTable& table, const PlacedStage& stage, const Label& behind, int64_t cost,
                    int64_t transfers) const;
  // Whether there was room and work for all of them, and the poller let it.
  template <typename Combine>
  bool Extend(int32_t first, const Most& most, Combine combine, Front& found, int64_t& work_left);
  void SetSizes();
  // Of LeastByPlace.
  struct Ways;
  class WayLister;
  class PlacePass;
  // How far a stage whose block ends at `end` may be from one before it that begins at `depth`, as bits.
  uint32_t TiersBefore(const PlacedStage& stage, int64_t end, int64_t depth) const;
  // Whether a stage whose block ends at `end` is so far from the one behind as that one was told.
  bool IsSoFarFrom(const PlacedStage& stage, int64_t end, const Label& behind) const {
    return num_tiers_ == 2 || behind.next < 0 ||
           places_.TierOfBoth(behind.stage.end, DevicesOf(behind.stage), behind.depth, end, DevicesOf(stage)) ==
               behind.tier;
  }
  int64_t DevicesOf(const PlacedStage& stage) const {
    return options_[static_cast<std::size_t>(stage.option)].degrees.devices();
  }
  template <typename Combine>
  void ExtendBy(const PlacedStage& stage, const Label& behind, int32_t next, const Most& most, Combine combine,
                Front& found);
  // Returns how many pairs of labels were compared.
  int64_t KeepUnbeaten(Front& front);
  StagePipeline Trace(const Label& label) const;

  const Places& places_;
  int32_t num_layers_;
  int64_t micro_batches_;
  std::optional<int32_t> num_stages_;
  std::vector<SpreadOption>& options_;
  Poller& poller_;
  // Devices of a stage, each number once.
  std::vector<int64_t> sizes_;
  int64_t smallest_ = 1;
  int32_t num_classes_;
  int32_t num_tiers_;
  // By option and class, and the tables of all.
  std::vector<Site> sites_;
  std::vector<StageTable*> tables_;
  // By class: how much one of its devices does, in devices of the fastest class. By depth: the sum of all beyond it.
  std::vector<double> weights_;
  std::vector<double> left_;
  // By layer boundary: least time of the layers before it in any spread, and least time times devices so weighted.
  std::vector<int64_t> rest_;
  std::vector<double> work_;
  // The same: how many devices hold them at least.
  std::vector<int64_t> holders_;
  // Prices of a device, as a share of a layer's time, and, by layer boundary and price, what the layers before it take
  // at least with what they pay.
  std::vector<double> prices_;
  std::vector<double> priced_rest_;
  int64_t longest_bound_ = 0;
  int64_t longest_possible_ = 0;
  int64_t end_bound_ = 0;
  Measure measure_;
  PipelineEnds ends_;
  std::vector<Front> fronts_;
  LabelRoom room_;
  int64_t labels_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_STAGE_PASS_H_
