#include "core/planner/devices/device_search.h"

#include <algorithm>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/base/known.h"
#include "core/base/limits.h"
#include "core/base/status_macros.h"
#include "core/model/device_selection.h"
#include "core/partition/search/search_record.h"
#include "core/planner/devices/device_choices.h"
#include "core/planner/devices/device_subset_search.h"

namespace planwright {
namespace {

using Choices = std::vector<std::vector<DeviceId>>;

// Searches several sets of devices for the best plan on any one of them.
class BestOfChoices {
 public:
  BestOfChoices(SolveFunction solve, const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                const SearchCallbacks& callbacks)
      : solve_(solve), request_(request), limits_(limits), arena_(arena), callbacks_(callbacks) {}

  absl::StatusOr<SearchOutcome> Run(const Choices& choices) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      Search(choices[i], choices.size() - i);
      if (!limits_.stop.stop_requested()) continue;
      if (i + 1 < choices.size()) bound_ = Bound();
      stop_reason_ = StopReason::kCancelled;
      break;
    }
    return Finish();
  }

 private:
  // One set, of `choices_left`.
  void Search(const std::vector<DeviceId>& devices, std::size_t choices_left) {
    std::stop_source stop;
    const std::stop_callback forward(limits_.stop, [&stop] { stop.request_stop(); });
    SolveLimits limits = ShareOfRemainingTime(limits_, choices_left);
    limits.stop = stop.get_token();
    Bound bound;
    SearchCallbacks listening = callbacks_;
    listening.on_bound = [&](const Bound& proven) {
      if (proven.scope != BoundScope::kProblem || proven.value <= bound.value) return;
      bound = proven;
      if ((best_.has_value() && bound.value >= best_->objective) || IsAboveTarget(bound.value)) stop.request_stop();
    };
    listening.on_incumbent = [&](const SearchOutcome& so_far, int64_t work, std::string_view algorithm) {
      Hear(so_far, work, algorithm);
    };
    const absl::StatusOr<SearchOutcome> outcome = SolveOnSubset(solve_, request_, devices, limits, arena_, listening);
    Conclude(outcome, std::move(bound));
  }

  bool IsAboveTarget(Picoseconds bound) const { return request_.target.has_value() && bound > *request_.target; }

  // What is proven so far is proven for one set only.
  static SearchOutcome WithoutProof(SearchOutcome outcome) {
    outcome.bounds.clear();
    outcome.stop_reason = StopReason::kCancelled;
    return outcome;
  }

  void Hear(const SearchOutcome& so_far, int64_t work, std::string_view algorithm) {
    if (best_.has_value() && so_far.objective >= best_->objective) return;
    best_ = WithoutProof(so_far);
    callbacks_.on_incumbent(*best_, work, algorithm);
  }

  void Conclude(const absl::StatusOr<SearchOutcome>& outcome, Bound bound) {
    if (!outcome.ok()) {
      const bool is_infeasible = InfeasibilityOf(outcome.status()).has_value();
      if (is_infeasible) bound.value = Picoseconds(kMaxQuantity);
      if (error_.ok() || (!is_infeasible && InfeasibilityOf(error_).has_value())) error_ = outcome.status();
    } else if (!best_.has_value() || outcome->objective <= best_->objective) {
      best_ = WithoutProof(*outcome);
    }
    if (bound_.has_value() && bound.value >= bound_->value) return;
    bound_ = std::move(bound);
    stop_reason_ = outcome.ok() ? outcome->stop_reason : StopReason::kExhausted;
  }

  absl::StatusOr<SearchOutcome> Finish() {
    if (!best_.has_value()) {
      if (bound_.has_value() && !bound_->method.empty()) callbacks_.on_bound(*bound_);
      return error_;
    }
    SearchOutcome outcome = *std::move(best_);
    outcome.stop_reason = stop_reason_;
    Bound& bound = Known(bound_);
    bound.value = std::min(bound.value, outcome.objective);
    if (!bound.method.empty()) {
      outcome.bounds = {bound};
      callbacks_.on_bound(bound);
    }
    if (bound.value == outcome.objective) {
      outcome.stop_reason = StopReason::kOptimal;
    } else if (RelativeGap(outcome.objective, bound.value) <= request_.options.relative_gap) {
      outcome.stop_reason = StopReason::kGapReached;
    }
    return outcome;
  }

  SolveFunction solve_;
  const SearchRequest& request_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const SearchCallbacks& callbacks_;
  std::optional<SearchOutcome> best_;
  // The least of all sets searched, and why the search of that set ended.
  std::optional<Bound> bound_;
  StopReason stop_reason_ = StopReason::kExhausted;
  // Why the first set without a plan has none; an error without a proof takes the place of one with a proof.
  absl::Status error_;
};

}  // namespace

absl::StatusOr<SearchOutcome> SolveOnAllowedDevices(SolveFunction solve, const SearchRequest& request,
                                                    const SolveLimits& limits, TaskArena& arena,
                                                    const SearchCallbacks& callbacks) {
  const ResolvedProblem& problem = request.problem;
  if (problem.devices_to_use.empty() && request.device_limits.empty()) return solve(request, limits, arena, callbacks);
  const std::vector<DeviceId> selected = SelectedDevices(request.cluster, problem.devices_to_use);
  std::vector<DeviceLimit> device_limits = request.device_limits;
  if (problem.devices_to_use.max_devices.has_value()) {
    device_limits.push_back({selected, *problem.devices_to_use.max_devices});
  }
  ASSIGN_OR_RETURN(const LimitedSearch search, WithinLimits(request, selected, std::move(device_limits)));
  const Choices& choices = search.choices;
  if (choices.empty()) {
    return InfeasibleError({.shortages = {{.resource = "devices", .subject = "", .description = "no device is left"}}});
  }
  if (choices.size() == 1) return SolveOnSubset(solve, search.request, choices.front(), limits, arena, callbacks);
  return BestOfChoices(solve, search.request, limits, arena, callbacks).Run(choices);
}

}  // namespace planwright
