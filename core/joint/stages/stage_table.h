// Times of every stage [first, end) of one way to spread it, for every number of micro-batches in flight, made as they
// are asked for. Stages with the same layers by kind, between the same neighbours, share an entry.
#ifndef PLANWRIGHT_CORE_JOINT_STAGES_STAGE_TABLE_H_
#define PLANWRIGHT_CORE_JOINT_STAGES_STAGE_TABLE_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/limits.h"
#include "core/joint/cost/layer_price.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/slots/cut_shifts.h"
#include "core/joint/stages/recomputation.h"
#include "core/model/joint.h"

namespace planwright {

// Above every time that can be: the stage does not fit.
inline constexpr int64_t kDoesNotFit = std::numeric_limits<int64_t>::max() / 8;

// How many layers of a kind a stage holds.
struct KindCount {
  int32_t kind = 0;
  int32_t count = 0;
};

// Numbers stages by how many layers of each kind they hold and by what they receive and send, those of as many layers
// one after the other. O(layers^2) memory and, where all layers are unlike, O(layers^3).
class SegmentNumbers {
 public:
  explicit SegmentNumbers(const std::vector<int32_t>& kinds);

  int32_t num_layers() const { return num_layers_; }
  // REQUIRES: first < end.
  int32_t Of(int32_t first, int32_t end) const {
    return numbers_[static_cast<std::size_t>(first) * static_cast<std::size_t>(num_layers_) +
                    static_cast<std::size_t>(end - 1)];
  }
  // Of the kinds that it holds, in order.
  const std::vector<KindCount>& CountsOf(int32_t segment) const { return counts_[static_cast<std::size_t>(segment)]; }

 private:
  int32_t num_layers_ = 0;
  std::vector<int32_t> numbers_;
  std::vector<std::vector<KindCount>> counts_;
};

// nullopt: there was no time.
std::optional<SegmentNumbers> NumberSegments(const std::vector<int32_t>& kinds, const SolveLimits& limits);

// How many first layers of every stage, not counting the ends of the model, are computed again whole, as far as they
// can be; no others are.
struct FirstLayers {
  int32_t count = 0;
  // Layers at either end.
  int32_t ends = 0;
};

// One way to spread a stage on one class. Not thread-safe.
class StageTable {
 public:
  // `allowed`: modes (AllowedModes). `prices`: by kind. `memory_bytes`: of a device, without what is reserved.
  // `first_layers_again`: nullopt: whatever fits in the least time is computed again.
  StageTable(const SegmentNumbers& segments, const std::vector<int32_t>& kinds, std::vector<LayerPrice> prices,
             const std::vector<LayerRecomputation>& allowed, int64_t memory_bytes,
             std::optional<FirstLayers> first_layers_again = std::nullopt);

  // Passes of a stage without recomputation and transfers; kDoesNotFit where a layer cannot run so. O(1).
  int64_t BasePs(int32_t first, int32_t end) const {
    if (end > next_barred_[static_cast<std::size_t>(first)]) return kDoesNotFit;
    return base_[static_cast<std::size_t>(end)] - base_[static_cast<std::size_t>(first)];
  }
  // BasePs by parts; `is_split`: gradients of weights apart, else in the backward pass. O(1).
  LongestPasses PassesPs(int32_t first, int32_t end, bool is_split) const;
  int64_t StepEndPs(int32_t first, int32_t end) const {
    return step_end_[static_cast<std::size_t>(end)] - step_end_[static_cast<std::size_t>(first)] -
           (HoldsAll(first, end) ? shared().step_end_ps : 0);
  }
  // What the stage takes besides, at the end of a step, to add up what the stage at the other end of the pipeline has
  // as well, which is `link` away; 0 where there is none. O(1).
  int64_t EndsPs(int32_t first, int32_t end, const TrainingLink& link) const {
    const bool has_first = first == 0;
    if (has_first == (end == segments_.num_layers())) return 0;
    return OneWayPs(PriceOf(has_first ? first : end - 1).ends_bytes, link);
  }
  int64_t StateBytes(int32_t first, int32_t end) const {
    return state_[static_cast<std::size_t>(end)] - state_[static_cast<std::size_t>(first)] -
           (HoldsAll(first, end) ? shared().state_bytes() : 0);
  }
  // The same of all layers together where they are in several stages.
  int64_t StepEndOfSeveralPs() const { return step_end_.back(); }
  int64_t StateBytesOfSeveral() const { return state_.back(); }
  // Of the last layer, what counts once in a stage that holds all.
  const LayerPrice::Shared& shared() const { return PriceOf(segments_.num_layers() - 1).shared; }
  // What computing a layer again can take at most. O(1).
  int64_t MostExtraPs(int32_t layer) const;
  // With recomputation such that `in_flight` micro-batches fit, without transfers; kDoesNotFit.
  int64_t TimePs(int32_t first, int32_t end, int64_t in_flight);
  // As above, where micro-batches are held in several ways.
  int64_t TimePs(int32_t first, int32_t end, const HeldMicroBatches& held);
  // Whether TimePs is not kDoesNotFit. O(kinds).
  bool Fits(int32_t first, int32_t end, int64_t in_flight) const;
  // The time with one mode for all layers that have it, the others as little as they can; not shared, O(kinds).
  int64_t TimeInModePs(int32_t first, int32_t end, const HeldMicroBatches& held, LayerRecomputation mode) const;
  // The modes of the layers then.
  std::vector<LayerRecomputation> ModesInMode(int32_t first, int32_t end, LayerRecomputation mode) const;
  // What a layer takes of a device's memory at least, as a share of it; `may_share`: the last one may be in a stage
  // that holds all.
  double LeastShareOf(int32_t layer, bool may_share) const;
  // What all layers of the model take more at least where together they keep so much; nullopt: they cannot.
  std::optional<int64_t> LeastExtraOfAllPs(int64_t kept_bytes) const;
  // What a boundary before `layer` costs the stage behind it, and before it; 0 at the two ends of the model.
  int64_t TransferBeforePs(int32_t layer, const TrainingLink& link) const;
  // The modes of the stage's layers. REQUIRES: TimePs is not kDoesNotFit.
  std::vector<LayerRecomputation> Modes(int32_t first, int32_t end, const HeldMicroBatches& held) const;
  // As Modes for each of several runs of layers that one device holds, of which `in_flight` are in flight at the most;
  // empty: they do not fit.
  std::vector<std::vector<LayerRecomputation>> ModesOfRuns(const std::vector<LayerRun>& runs, int64_t in_flight) const;

  int64_t memory_bytes() const { return memory_bytes_; }
  int32_t KindOf(int32_t layer) const { return kinds_[static_cast<std::size_t>(layer)]; }
  // Modes that may be chosen for a layer; without count.
  const LayerGroup& GroupOf(int32_t layer) const { return groups_[static_cast<std::size_t>(KindOf(layer))]; }
  const LayerPrice& PriceOf(int32_t layer) const {
    return prices_[static_cast<std::size_t>(kinds_[static_cast<std::size_t>(layer)])];
  }

 private:
  bool HoldsAll(int32_t first, int32_t end) const { return first == 0 && end == segments_.num_layers(); }
  // By layer, where the first ones are computed again.
  std::vector<LayerRecomputation> FirstLayersAgain(int32_t first, int32_t end) const;
  // Extra time then; kDoesNotFit.
  int64_t FirstLayersExtraPs(int32_t first, int32_t end, const HeldMicroBatches& held) const;
  struct Budget {
    int64_t bytes = 0;
    int64_t full_bytes = 0;
  };
  std::vector<LayerGroup> GroupsOf(int32_t first, int32_t end) const;
  std::optional<RecomputationChoice> Choose(int32_t first, int32_t end, const HeldMicroBatches& held) const;
  // In extra_.
  int64_t& KnownExtraPs(int64_t in_flight, int32_t segment);
  // Extra time of a stage as it is chosen; kDoesNotFit.
  int64_t ChosenExtraPs(int32_t first, int32_t end, const HeldMicroBatches& held) const;
  std::vector<LayerRecomputation> ModesOf(int32_t first, int32_t end, const RecomputationChoice& choice) const;
  // What a device that holds the runs has left for activations: at all, and where a layer is computed again whole.
  Budget BudgetOf(const std::vector<LayerRun>& runs) const;

  const SegmentNumbers& segments_;
  const std::vector<int32_t>& kinds_;
  std::vector<LayerPrice> prices_;
  // Modes that may be chosen, by kind.
  std::vector<LayerGroup> groups_;
  int64_t memory_bytes_;
  std::optional<FirstLayers> first_layers_again_;
  // By layer, the first one from it on that cannot run so; behind the last layer, none is.
  std::vector<int32_t> next_barred_;
  std::vector<int64_t> base_;
  std::vector<int64_t> forward_;
  std::vector<int64_t> weights_;
  std::vector<int64_t> step_end_;
  std::vector<int64_t> state_;
  // Extra time by micro-batches in flight and segment, in pages that are made when one of theirs is asked for; -1: it
  // was not.
  std::vector<std::vector<std::vector<int64_t>>> extra_;
  // Extra time where micro-batches are held in several ways, by segment: of few of them it is asked for.
  std::map<HeldMicroBatches, absl::flat_hash_map<int32_t, int64_t>> extra_held_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_STAGES_STAGE_TABLE_H_
