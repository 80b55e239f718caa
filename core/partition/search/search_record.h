// What a search has found so far: its best placement, its bounds, its work.
#ifndef PLANWRIGHT_CORE_PARTITION_SEARCH_SEARCH_RECORD_H_
#define PLANWRIGHT_CORE_PARTITION_SEARCH_SEARCH_RECORD_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/base/units.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/partition/search/search.h"

namespace planwright {

// Keeps the best of what it is offered and tells the callbacks of every improvement. One thread at a time.
class SearchRecord {
 public:
  // `algorithm`: the stable name of what was asked for. `callbacks` outlives the record.
  SearchRecord(std::string_view algorithm, double relative_gap, const SearchCallbacks& callbacks);

  // Keeps the best bound of each method and scope. Only bounds of scope PROBLEM count as the lower bound.
  void RaiseBound(Bound bound);

  // Takes `placement`, which is feasible, if its true objective is better than what is there. Returns whether it was.
  bool Offer(Placement placement, std::string_view made_by);

  bool has_placement() const { return has_placement_; }
  // REQUIRES: has_placement().
  const Placement& placement() const { return outcome_.placement; }
  Picoseconds objective() const { return outcome_.objective; }
  // Name of the method that made placement(); empty: there is none.
  std::string_view made_by() const { return made_by_; }
  // The best bound of scope PROBLEM; 0: none.
  Picoseconds lower_bound() const { return lower_bound_; }
  // The placement is optimal, or within the gap that was asked for.
  bool is_settled() const;

  int64_t work() const { return work_; }
  void AddWork(int64_t work) { work_ += work; }
  // Has the outcome, and its counters, say what was spent so far.
  void ReportWork();
  // Has the outcome say what another search, of which this is the record, counted.
  void Adopt(const SearchOutcome& other);
  std::map<std::string, int64_t>& counters() { return outcome_.counters; }

  // Why the search ended. What the bound says goes before it: OPTIMAL, GAP_REACHED.
  void set_stop_reason(StopReason reason) { outcome_.stop_reason = reason; }
  StopReason stop_reason() const { return outcome_.stop_reason; }
  // The algorithm could not finish: the method that made the placement is the fallback if it is another one.
  void NameFallback();

  // The outcome if the search were cancelled now. REQUIRES: has_placement().
  SearchOutcome SoFar() const;
  // The outcome; without a placement the error that fits the stop reason, with `if_exhausted` as the message where the
  // search ended by itself.
  absl::StatusOr<SearchOutcome> Finish(std::string_view if_exhausted) &&;

 private:
  SearchOutcome Settled(SearchOutcome outcome) const;
  absl::Status NothingFound(std::string_view if_exhausted) const;

  const SearchCallbacks& callbacks_;
  const double relative_gap_;
  SearchOutcome outcome_;
  Picoseconds lower_bound_{0};
  bool has_placement_ = false;
  std::string made_by_;
  int64_t work_ = 0;
};

// What a search that is an object is given, and what it has found. All that is handed over outlives it.
class RecordedSearch {
 protected:
  RecordedSearch(std::string_view algorithm, const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                 const SearchCallbacks& callbacks)
      : request_(request),
        limits_(limits),
        arena_(arena),
        callbacks_(callbacks),
        record_(algorithm, request.options.relative_gap, callbacks) {}

  void OfferStarts() {
    for (const SearchStart& start : request_.starts) record_.Offer(start.placement, start.made_by);
  }

  const SearchRequest& request_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const SearchCallbacks& callbacks_;
  SearchRecord record_;
};

// TIME_LIMIT or CANCELLED if the limits say stop, else `otherwise`.
StopReason StopReasonOf(const SolveLimits& limits, StopReason otherwise);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEARCH_SEARCH_RECORD_H_
