// Judges the placements that an enumeration comes to, and tells it where to go on.
#ifndef PLANWRIGHT_CORE_PARTITION_ENUMERATION_PLACEMENT_JUDGE_H_
#define PLANWRIGHT_CORE_PARTITION_ENUMERATION_PLACEMENT_JUDGE_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/base/limits.h"
#include "core/base/polling.h"
#include "core/base/units.h"
#include "core/partition/search.h"
#include "core/partition/search_record.h"

namespace planwright {

// Keeps the best placement in `record`. One thread.
class PlacementJudge {
 public:
  // What is handed over outlives the judge.
  PlacementJudge(const SearchRequest& request, const SolveLimits& limits, int64_t max_work, SearchRecord& record)
      : request_(request), limits_(limits), poller_(limits), max_work_(max_work), record_(record) {}

  // Counts a step of the search: one partial placement. False from the first step on that the limits do not allow.
  bool Step();
  bool has_stopped() const { return has_stopped_; }
  // Whether it was the work that ended.
  bool is_out_of_work() const { return record_.work() >= max_work_; }

  // Whether a placement that takes at least `floor` can be better than what is there.
  bool CanImprove(Picoseconds floor) const { return !record_.has_placement() || floor < record_.objective(); }

  // The longest time that is better than what is there; nullopt: any is.
  std::optional<Picoseconds> LongestBetter() const {
    if (!record_.has_placement()) return std::nullopt;
    return record_.objective() - Picoseconds(1);
  }

  // Whether anything better than `bound` was passed over cannot be told.
  void NoteUnproven(Picoseconds bound) {
    is_unproven_ = true;
    least_misjudged_ = std::min(least_misjudged_, bound);
  }
  bool is_unproven() const { return is_unproven_; }

  const SolveLimits& limits() const { return limits_; }

  // Some part of a placement did not fit into its device.
  void NoteOverfull() { overfull_ = true; }
  bool has_overfull() const { return overfull_; }

  // Takes a placement that obeys every rule but, perhaps, memory, if it fits and is better. O(CostPlan).
  void Judge(Placement placement);

  // No placement takes less, once the search is over. REQUIRES: there is a placement.
  Picoseconds ProvenBound() const { return std::min(record_.objective(), least_misjudged_); }

 private:
  const SearchRequest& request_;
  const SolveLimits& limits_;
  Poller poller_;
  const int64_t max_work_;
  SearchRecord& record_;
  bool has_stopped_ = false;
  bool overfull_ = false;
  bool is_unproven_ = false;
  // No placement that was passed over takes less. Beside NoteUnproven: the least that a placement takes by the costs of
  // the request, of those that truly take something else: where the cluster of the request is an irregular part of a
  // hierarchy, its links are no slower than the true ones.
  Picoseconds least_misjudged_ = Picoseconds(kMaxQuantity);
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_ENUMERATION_PLACEMENT_JUDGE_H_
