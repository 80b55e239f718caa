// Which layers of a stage are computed again so that it fits: a multiple-choice knapsack.
#ifndef PLANWRIGHT_CORE_JOINT_STAGES_RECOMPUTATION_H_
#define PLANWRIGHT_CORE_JOINT_STAGES_RECOMPUTATION_H_

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/joint/cost/layer_price.h"
#include "core/model/joint.h"

namespace planwright {

// Above every time and every number of bytes; three of them can be added up.
inline constexpr int64_t kBeyondAll = std::numeric_limits<int64_t>::max() / 4;

// A number of layers that are alike.
struct LayerGroup {
  int32_t count = 0;
  // What each of them takes in each mode; modes that must not be chosen are unset.
  LayerModes modes;
};

struct RecomputationChoice {
  // No choice that fits takes less.
  int64_t bound_ps = 0;
  // What this choice takes; more than the bound only where the proof was cut off.
  int64_t extra_ps = 0;
  // By group: how many of its layers have which mode.
  std::vector<std::array<int32_t, kNumRecomputations>> counts;
};

// No choice whose layers keep at most `budget_bytes` together takes less; nullopt: there is none. The fractional
// relaxation: O(groups).
std::optional<int64_t> LeastExtraPs(const std::vector<LayerGroup>& groups, int64_t budget_bytes);

// The least extra time such that `in_flight` times what is kept takes at most `budget_bytes`, and at most
// `full_budget_bytes` where a layer is computed again whole (which needs room itself; not more than the former).
// nullopt: nothing fits. Where one group has a choice: exact in O(count); more: branch and bound on the lower hulls
// (Kellerer, Pferschy, Pisinger 2004, section 11.3) of what no other way to mix a group's modes beats, cut off after
// some thousand nodes.
std::optional<RecomputationChoice> ChooseRecomputation(const std::vector<LayerGroup>& groups, int64_t in_flight,
                                                       int64_t budget_bytes, int64_t full_budget_bytes);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_STAGES_RECOMPUTATION_H_
