// How far the first and the last stage of a pipeline are apart, in passes over the layers from the last to the first:
// labels of the last stage count on one distance each, which the first stage must keep.
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_PIPELINE_ENDS_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_PIPELINE_ENDS_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/joint/search/places.h"

namespace planwright {

// Immutable.
class PipelineEnds {
 public:
  // `matter`: the distance costs something (LayerPrice::ends_bytes); else there is one for all. `places` outlives the
  // object.
  PipelineEnds(const Places& places, bool matter) : places_(places), matter_(matter) {}

  bool matter() const { return matter_; }

  struct Distance {
    // No farther (TrainingCluster).
    int32_t tier = 0;
    // The depth of a device of the last stage.
    int32_t last = -1;
  };

  struct Stage {
    // Depth behind its block, and how far its devices are apart.
    int64_t end = 0;
    int32_t tier = 0;
    bool is_first = false;
    bool is_last = false;
  };

  // Visits the distances that labels of a stage, in front of one with `behind`, may count on.
  template <typename Visit>
  void ForEachDistance(const Stage& stage, const Distance& behind, Visit visit) const {
    const bool are_one = stage.is_first && stage.is_last;
    if (!matter_ || are_one) return visit(Distance{});
    if (stage.is_last) {
      for (int32_t tier = stage.tier; tier < places_.num_tiers(); ++tier) {
        visit(Distance{tier, static_cast<int32_t>(stage.end - 1)});
      }
      return;
    }
    const bool is_kept = std::max(stage.tier, places_.TierBetween(behind.last, stage.end - 1)) <= behind.tier;
    if (!stage.is_first || is_kept) visit(behind);
  }

  // Whether the first stage may keep the distance if a block begins at `depth`.
  bool MayBeKept(const Distance& distance, int64_t depth) const {
    if (!matter_ || !places_.are_in_order() || depth >= places_.size()) return true;
    return places_.TierBetween(distance.last, depth) <= distance.tier;
  }

  // What comes before two labels at the same kind of place keeps the distances of both or of neither if these are of
  // one kind: distances are an ultrametric, and where places are not in order, the last stages the same.
  std::pair<int32_t, int32_t> KindOf(const Distance& distance) const {
    return {distance.tier, places_.are_in_order() ? 0 : distance.last};
  }

 private:
  const Places& places_;
  bool matter_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_PIPELINE_ENDS_H_
