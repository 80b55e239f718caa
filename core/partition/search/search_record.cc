#include "core/partition/search/search_record.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "core/base/infeasibility.h"

namespace planwright {

SearchRecord::SearchRecord(std::string_view algorithm, double relative_gap, const SearchCallbacks& callbacks)
    : callbacks_(callbacks), relative_gap_(relative_gap) {
  outcome_.algorithm = algorithm;
}

void SearchRecord::RaiseBound(Bound bound) {
  const auto same = std::find_if(outcome_.bounds.begin(), outcome_.bounds.end(), [&](const Bound& known) {
    return known.method == bound.method && known.scope == bound.scope;
  });
  if (same == outcome_.bounds.end()) {
    outcome_.bounds.push_back(bound);
  } else {
    same->value = std::max(same->value, bound.value);
  }
  if (bound.scope != BoundScope::kProblem || bound.value <= lower_bound_) return;
  lower_bound_ = bound.value;
  callbacks_.on_bound(bound);
}

bool SearchRecord::Offer(Placement placement, std::string_view made_by) {
  const Picoseconds objective = callbacks_.objective(placement);
  if (has_placement_ && objective >= outcome_.objective) return false;
  has_placement_ = true;
  outcome_.placement = std::move(placement);
  outcome_.objective = objective;
  made_by_ = made_by;
  callbacks_.on_incumbent(SoFar(), work_, made_by_);
  return true;
}

void SearchRecord::ReportWork() {
  outcome_.work = work_;
  outcome_.counters["work"] = work_;
}

void SearchRecord::Adopt(const SearchOutcome& other) {
  outcome_.work = other.work;
  outcome_.counters = other.counters;
}

bool SearchRecord::is_settled() const {
  return has_placement_ && RelativeGap(outcome_.objective, lower_bound_) <= relative_gap_;
}

void SearchRecord::NameFallback() {
  if (made_by_ != outcome_.algorithm) outcome_.fallback = made_by_;
}

SearchOutcome SearchRecord::SoFar() const {
  SearchOutcome outcome = outcome_;
  outcome.stop_reason = StopReason::kCancelled;
  if (made_by_ != outcome.algorithm) outcome.fallback = made_by_;
  return Settled(std::move(outcome));
}

absl::StatusOr<SearchOutcome> SearchRecord::Finish(std::string_view if_exhausted) && {
  if (!has_placement_) return NothingFound(if_exhausted);
  return Settled(std::move(outcome_));
}

SearchOutcome SearchRecord::Settled(SearchOutcome outcome) const {
  if (outcome.objective <= lower_bound_) {
    outcome.stop_reason = StopReason::kOptimal;
  } else if (RelativeGap(outcome.objective, lower_bound_) <= relative_gap_) {
    outcome.stop_reason = StopReason::kGapReached;
  }
  std::stable_sort(outcome.bounds.begin(), outcome.bounds.end(),
                   [](const Bound& a, const Bound& b) { return a.value < b.value; });
  return outcome;
}

absl::Status SearchRecord::NothingFound(std::string_view if_exhausted) const {
  switch (outcome_.stop_reason) {
    case StopReason::kCancelled:
      return absl::CancelledError("cancelled before a plan was found");
    case StopReason::kIdealLimit:
    case StopReason::kMemoryLimit:
      return absl::ResourceExhaustedError(
          "no plan was found within the limits on ideals and memory, and none was proven impossible; raise "
          "options.ideal_limit or the memory budget of the server");
    case StopReason::kExhausted:
      return NoPlanFoundError(std::string(if_exhausted));
    case StopReason::kWorkLimit:
      return NoPlanFoundError(
          "no plan was found within the work limit, and none was proven impossible; allow more work, or devices with "
          "more memory",
          SpentLimit::kWork);
    default:
      return NoPlanFoundError(
          "no plan was found in time, and none was proven impossible; allow more time, or devices with more memory",
          SpentLimit::kTime);
  }
}

StopReason StopReasonOf(const SolveLimits& limits, StopReason otherwise) {
  const std::optional<Interruption> interruption = CheckInterruption(limits);
  if (!interruption.has_value()) return otherwise;
  return *interruption == Interruption::kCancelled ? StopReason::kCancelled : StopReason::kTimeLimit;
}

}  // namespace planwright
