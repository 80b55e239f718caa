// Labels of a pass over the layers (stage_pass.h, phase_pass.h): which ones are kept, and the stages that one stands
// for.
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_LABELS_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_LABELS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/limits.h"

namespace planwright {

// Drops the labels that others of their kind beat, and returns how many pairs were compared. `key` orders labels of one
// kind such that none beats an earlier one unless they are equal in all that `beats` looks at. O(labels^2) at worst.
template <typename Label, typename Kind, typename Key, typename Beats>
int64_t KeepUnbeaten(std::vector<Label>& front, Kind kind, Key key, Beats beats) {
  const auto place = [&](const Label& label) { return std::pair(kind(label), key(label)); };
  std::sort(front.begin(), front.end(), [&](const Label& a, const Label& b) { return place(a) < place(b); });
  std::size_t kept = 0;
  std::size_t same_kind = 0;
  int64_t compared = 0;
  for (const Label& label : front) {
    if (kept > 0 && kind(front[kept - 1]) != kind(label)) same_kind = kept;
    // The newest are the likeliest to beat it.
    bool is_beaten = false;
    for (std::size_t other = kept; other > same_kind && !is_beaten; --other) {
      is_beaten = beats(front[other - 1], label);
      ++compared;
    }
    if (!is_beaten) front[kept++] = label;
  }
  front.resize(kept);
  // Where most are beaten, the room that they took is as large as what stays of the whole pass.
  if (front.capacity() > kept + kept / 4) front.shrink_to_fit();
  return compared;
}

// How many labels of a pass fit the memory that its tables may take. Of each front what it has room for counts, whether
// labels are there or not.
class LabelRoom {
 public:
  LabelRoom(const SolveLimits& limits, std::size_t label_bytes)
      : most_(static_cast<std::size_t>(std::max<int64_t>(limits.memory_bytes, 0)) / label_bytes) {}

  void Clear() { kept_ = 0; }
  template <typename Label>
  void Keep(const std::vector<Label>& front) {
    kept_ += front.capacity();
  }
  template <typename Label>
  bool Holds(const std::vector<Label>& more) const {
    return kept_ + more.capacity() <= most_;
  }

 private:
  std::size_t most_;
  std::size_t kept_ = 0;
};

// The stage of `label` and those behind it; `fronts`: by the layer at which labels begin.
template <typename Label>
auto StagesOf(const Label& label, const std::vector<std::vector<Label>>& fronts) {
  std::vector<decltype(label.stage)> stages;
  for (const Label* at = &label; at->next >= 0;) {
    stages.push_back(at->stage);
    at = &fronts[static_cast<std::size_t>(at->stage.end_layer)][static_cast<std::size_t>(at->next)];
  }
  return stages;
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_LABELS_H_
