// Pipelines with one spread for all stages under orders whose closed form has the longest forward and the longest
// backward pass of a stage apart (GPIPE, ZERO_BUBBLE_H1): one pass over the layers from the last to the first, with
// labels that keep them apart.
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_PHASE_PASS_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_PHASE_PASS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/polling.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/search/labels.h"
#include "core/joint/search/pipeline_ends.h"
#include "core/joint/search/places.h"
#include "core/joint/search/stage_pass.h"
#include "core/model/joint.h"

namespace planwright {

// What the pipelines of one pass have in common.
struct PhaseQuestion {
  // kGpipe or kZeroBubble.
  PipelineOrder order = PipelineOrder::kGpipe;
  int64_t micro_batches = 1;
  // nullopt: any number; kZeroBubble needs one, which is at most `micro_batches`.
  std::optional<int32_t> num_stages;
};

struct PhasePipeline {
  StagePipeline pipeline;
  int64_t step_ps = 0;
};

// What layers before a boundary, and the places behind one, leave at least and at most, whatever the pipeline.
struct PhaseBounds {
  // O(layers x tables + devices).
  PhaseBounds(const Places& places, int32_t num_layers, PipelineOrder order, const SpreadOption& option);

  // By layer boundary: of the layers before it, least passes of any class, summed up, and the longest of one layer.
  std::vector<LongestPasses> rest;
  std::vector<LongestPasses> longest_layer;
  int64_t end = 0;
  // The same where there are several stages.
  int64_t end_of_several = 0;
  // By depth: how many blocks lie beyond it at most.
  std::vector<int64_t> blocks_left;
};

class PhasePass {
 public:
  // All outlive the object. `bounds`: of the same places, layers, order and option.
  PhasePass(const Places& places, int32_t num_layers, const PhaseQuestion& question, const SpreadOption& option,
            const PhaseBounds& bounds, Poller& poller);

  // No pipeline takes less. O(layers).
  int64_t StepBound() const;
  // No step takes less task by task, either: the busiest stage works through all micro-batches.
  int64_t BusiestBound() const;

  // The pipeline of the least closed form below `limit`, exact within ALIGNED_PLACES; nullopt: there is none, or the
  // poller ended it.
  //
  // Labels at a layer boundary: depth, stages behind, sum, end, longest forward pass, backward pass and gradients of
  // weights; one is dropped for one at the same kind of place that is at most it in all of them, or where even evenly
  // divided the layers before it reach the limit. Limits grow until something is found. O(layers^2 x labels).
  std::optional<PhasePipeline> Least(int64_t limit);

  // No pipeline's step takes less task by task; `limit` where nothing is below it, 0 where the poller ended it.
  // GPIPE: the first stage ends its last backward pass when the closed form without the end of the step says.
  // ZERO_BUBBLE_H1: stage s of S waits for the first forward pass of those before it, has done S - s forward passes
  // when the first gradient comes back from behind it, and has all its other work left then.
  int64_t LeastSimulated(int64_t limit);

  int64_t labels() const { return labels_; }

 private:
  struct Label {
    int64_t depth = 0;
    int32_t behind = 0;
    // Forward and backward passes of the stages from here on, without gradients of weights.
    int64_t sum = 0;
    int64_t end = 0;
    LongestPasses longest;
    // When the stages from here on end if nothing is before them (LeastSimulated).
    int64_t busy = 0;
    PlacedStage stage = {};
    int32_t next = -1;
    // How far this stage and the one before it are apart.
    int32_t tier = 0;
    PipelineEnds::Distance ends = {};
  };
  using Front = std::vector<Label>;
  // What one stage takes.
  struct Cost {
    LongestPasses passes;
    int64_t end = 0;
  };

  void Begin();
  // Whether labels that begin at `first` may make pipelines of less than `limit`.
  template <typename Value>
  bool Run(int64_t limit, Value value);
  template <typename Value>
  void Extend(PlacedStage stage, const Label& behind, int32_t next, int64_t limit, Value value, Front& found);
  void KeepUnbeaten(Front& front);
  Label Joined(const Label& behind, const Cost& cost, const PlacedStage& stage, int32_t next) const;
  // The closed form of what a label becomes where the layers before `first` are divided evenly; kDoesNotFit: they have
  // no devices left.
  int64_t StepBoundOf(const Label& label, int32_t first) const;
  int64_t SimulatedBoundOf(const Label& label, int32_t first) const;
  int64_t StepPs(int64_t sum_ps, const LongestPasses& longest, int64_t end_ps) const;
  int64_t StagesLeft(const Label& label) const;
  int64_t LeastEndPs() const { return question_.num_stages.value_or(1) > 1 ? bounds_.end_of_several : bounds_.end; }
  StagePipeline Trace(const Label& label) const;

  const Places& places_;
  int32_t num_layers_;
  PhaseQuestion question_;
  const SpreadOption& option_;
  const PhaseBounds& bounds_;
  Poller& poller_;
  PipelineEnds ends_;
  // Whether values are those of LeastSimulated, else closed forms.
  bool is_simulated_ = false;
  std::vector<Front> fronts_;
  LabelRoom room_;
  int64_t labels_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_PHASE_PASS_H_
