// Judges the placements that an enumeration comes to, and tells it where to go on.
#ifndef PLANWRIGHT_CORE_PARTITION_ENUMERATION_PLACEMENT_JUDGE_H_
#define PLANWRIGHT_CORE_PARTITION_ENUMERATION_PLACEMENT_JUDGE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/limits.h"
#include "core/base/units.h"
#include "core/cost/plan_costing.h"
#include "core/partition/search/search.h"
#include "core/partition/search/search_record.h"

namespace planwright {

// Keeps the best placement in `record`. One thread.
class PlacementJudge {
 public:
  // What is handed over outlives the judge.
  PlacementJudge(const SearchRequest& request, const SolveLimits& limits, int64_t max_work, SearchRecord& record)
      : request_(request), limits_(limits), max_work_(max_work), record_(record) {}

  // Counts a step of the search: one partial placement. False from the first step on that the limits do not allow.
  bool Step() {
    record_.AddWork(1);
    return !ShouldStop();
  }
  // To be asked where a search may go on for long without a step; counts no work, looks at the clock now and then.
  bool ShouldStop() {
    if (is_out_of_work() || ++calls_ % kCallsPerLook == 0) LookAtLimits();
    return has_stopped_;
  }
  // Looks at once.
  void LookAtLimits() { has_stopped_ = has_stopped_ || is_out_of_work() || CheckInterruption(limits_).has_value(); }
  bool has_stopped() const { return has_stopped_; }

  // Work of searches within a step, and how much of it the limits still allow.
  void AddWork(int64_t work) { record_.AddWork(work); }
  int64_t work_left() const { return std::max<int64_t>(0, max_work_ - record_.work()); }
  // Whether it was the work that ended.
  bool is_out_of_work() const { return work_left() == 0; }

  // Whether a placement that takes at least `floor` can be better than what is there.
  bool CanImprove(Picoseconds floor) const { return !record_.has_placement() || floor < record_.objective(); }

  // The longest time that is better than what is there; nullopt: any is.
  std::optional<Picoseconds> LongestBetter() const {
    if (!record_.has_placement()) return std::nullopt;
    return record_.objective() - Picoseconds(1);
  }

  // Something was passed over of which no more is known than that it takes `bound` at least.
  void NoteUnproven(Picoseconds bound) {
    is_unproven_ = true;
    least_unproven_ = std::min(least_unproven_, bound);
  }
  bool is_unproven() const { return is_unproven_; }

  const SolveLimits& limits() const { return limits_; }

  // Some part of a placement did not fit into its device.
  void NoteOverfull() { overfull_ = true; }
  bool has_overfull() const { return overfull_; }

  // Takes a placement that obeys every rule but, perhaps, memory, if it fits and is better. Looks at the limits, but
  // goes on. O(CostPlan).
  void Judge(Placement placement) {
    LookAtLimits();
    const Plan plan = CostPlan(request_, placement);
    ++record_.counters()["placements"];
    for (const DeviceUsage& usage : plan.devices) {
      if (usage.memory_limit_bytes.has_value() && usage.memory_bytes > *usage.memory_limit_bytes) return NoteOverfull();
    }
    if (CanImprove(plan.objective)) record_.Offer(std::move(placement), "enumeration");
  }

  // No placement takes less, once the search is over. REQUIRES: there is a placement.
  Picoseconds ProvenBound() const { return std::min(record_.objective(), least_unproven_); }

 private:
  static constexpr uint32_t kCallsPerLook = 16;

  const SearchRequest& request_;
  const SolveLimits& limits_;
  const int64_t max_work_;
  SearchRecord& record_;
  uint32_t calls_ = 0;
  bool has_stopped_ = false;
  bool overfull_ = false;
  bool is_unproven_ = false;
  Picoseconds least_unproven_ = Picoseconds(kMaxQuantity);
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_ENUMERATION_PLACEMENT_JUDGE_H_
