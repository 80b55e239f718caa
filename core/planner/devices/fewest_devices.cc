#include "core/planner/devices/fewest_devices.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/interruption.h"
#include "core/base/known.h"
#include "core/base/limits.h"
#include "core/model/device_selection.h"
#include "core/planner/devices/device_choices.h"
#include "core/planner/devices/device_subset_search.h"

namespace planwright {
namespace {

// The time that all operators need on whichever of the classes in use is fastest for them.
Picoseconds LeastWork(const SearchRequest& request, const std::vector<DeviceId>& devices) {
  std::set<DeviceClassId> classes;
  for (const DeviceId device : devices) classes.insert(request.cluster.devices[device.index()].device_class);
  Picoseconds sum{0};
  for (std::size_t i = 0; i < request.graph.operators.size(); ++i) {
    std::optional<Picoseconds> least;
    for (const DeviceClassId device_class : classes) {
      const OperatorTime& time = request.costs.time(OperatorId(i), device_class);
      if (time.supported) least = std::min(least.value_or(time.total()), time.total());
    }
    sum += least.value_or(Picoseconds(0));
  }
  return sum;
}

class FewestDevices {
 public:
  FewestDevices(SolveFunction solve, const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                const SearchCallbacks& callbacks)
      : solve_(solve),
        request_(request),
        options_(request.options),
        limits_(limits),
        arena_(arena),
        callbacks_(callbacks),
        target_(Known(request.problem.target_period)),
        selected_(SelectedDevices(request.cluster, request.problem.devices_to_use)),
        counted_(CountedDevices(request.cluster, selected_)),
        others_(static_cast<int64_t>(selected_.size() - counted_.size())) {
    options_.relative_gap = 0;
  }

  absl::StatusOr<SearchOutcome> Run() {
    DecidedSearch all = Ask(static_cast<int64_t>(counted_.size()), limits_);
    if (all.decision != Decision::kReached) return WhyNot(std::move(all));
    problem_bounds_ = all.outcome->bounds;
    try {
      Take(*std::move(all.outcome));
      StartFromWork();
      Narrow();
    } catch (const Interrupted&) {
      // What is known stands.
      return Finish();
    }
    return Finish();
  }

 private:
  // Too few devices for the work of the graph.
  void StartFromWork() {
    const Picoseconds work = LeastWork(request_, selected_);
    const int64_t needed = CeilDivide(work.count(), target_.count()) - others_;
    if (needed <= 0) {
      // There is no plan on no device.
      if (others_ == 0) refuted_ = 0;
      return;
    }
    refuted_ = needed - 1;
    const int64_t devices = refuted_ + others_;
    if (devices > 0) Refute(refuted_, {Picoseconds(CeilDivide(work.count(), devices)), "work"});
  }

  // Goes on until the fewest devices are found, or nothing more can be decided.
  void Narrow() {
    // The greatest number that was missed, refuted or not.
    int64_t missed = refuted_;
    int64_t step = 1;
    bool is_bisecting = false;
    while (missed + 1 < count_ && !CheckInterruption(limits_).has_value()) {
      const int64_t middle = missed + (count_ - missed) / 2;
      const int64_t count = is_bisecting ? middle : std::min(missed + step, middle);
      DecidedSearch answer = Ask(count, ShareOfRemainingTime(limits_, 2));
      if (answer.decision == Decision::kReached) {
        Take(*std::move(answer.outcome));
        is_bisecting = true;
        continue;
      }
      missed = count;
      step *= 2;
      if (answer.decision == Decision::kRefuted) {
        Refute(count, {answer.lower_bound, answer.bound_method});
      } else if (answer.outcome.ok()) {
        open_reason_ = answer.outcome->stop_reason;
      }
    }
  }

  // Whether at most `count` of the counted devices meet the target.
  DecidedSearch Ask(int64_t count, const SolveLimits& limits) {
    callbacks_.on_phase(absl::StrCat("devices_", count));
    ++counts_tried_;
    SearchRequest request{request_, options_, request_.algorithm, request_.starts};
    request.device_limits = {{counted_, count}};
    return SolveUntilDecided(solve_, request, target_, limits, arena_, Silently());
  }

  // Bounds hold for the devices asked only.
  SearchCallbacks Silently() const {
    SearchCallbacks silent = callbacks_;
    silent.on_bound = [](const Bound&) {};
    return silent;
  }

  // The placement may use fewer devices than it was allowed.
  void Take(SearchOutcome outcome) {
    std::set<DeviceId> used;
    for (const Placement::Stage& stage : outcome.placement.stages) {
      for (const DeviceId device : stage.devices) {
        if (std::binary_search(counted_.begin(), counted_.end(), device)) used.insert(device);
      }
    }
    count_ = static_cast<int64_t>(used.size());
    fewest_ = std::move(outcome);
    callbacks_.on_incumbent(Settled(), 0, fewest_->algorithm);
  }

  void Refute(int64_t count, Bound bound) {
    refuted_ = count;
    // Nothing is possible at all: any bound holds.
    if (bound.value.count() >= kMaxQuantity) bound = {target_ + Picoseconds(1), "infeasible"};
    bound.scope = BoundScope::kFewerDevices;
    refutation_ = std::move(bound);
  }

  // The outcome, if the search ended now.
  SearchOutcome Settled() const {
    SearchOutcome outcome = Known(fewest_);
    outcome.bounds = problem_bounds_;
    outcome.stop_reason = StopReason::kCancelled;
    // Whatever met the target did what was asked.
    outcome.fallback.clear();
    outcome.counters["device_counts_tried"] = counts_tried_;
    outcome.counters["devices_used"] = count_;
    outcome.devices_needed = std::min(refuted_ + 1, count_);
    outcome.counters["devices_needed"] = *outcome.devices_needed;
    if (refuted_ + 1 < count_) return outcome;
    outcome.stop_reason = StopReason::kOptimal;
    // Fewer than none, or none where nothing but the counted devices could run the graph.
    const Bound impossible{target_ + Picoseconds(1), "devices", BoundScope::kFewerDevices};
    outcome.bounds.push_back(refuted_ + 1 == count_ ? refutation_.value_or(impossible) : impossible);
    return outcome;
  }

  SearchOutcome Finish() const {
    SearchOutcome outcome = Settled();
    if (outcome.stop_reason == StopReason::kOptimal) return outcome;
    const std::optional<Interruption> interruption = CheckInterruption(limits_);
    if (!interruption.has_value()) {
      outcome.stop_reason = open_reason_;
    } else if (*interruption == Interruption::kDeadline) {
      outcome.stop_reason = StopReason::kTimeLimit;
    }
    return outcome;
  }

  // No plan on all devices meets the target, as far as `all` knows.
  absl::Status WhyNot(DecidedSearch all) const {
    const absl::Status& status = all.outcome.status();
    if (all.decision == Decision::kRefuted && all.lower_bound.count() >= kMaxQuantity) return status;
    const bool was_stopped = limits_.stop.stop_requested();
    if (all.decision == Decision::kOpen && (was_stopped || status.code() == absl::StatusCode::kResourceExhausted)) {
      return was_stopped ? absl::CancelledError("cancelled before a plan within the target was found") : status;
    }
    const std::string target = absl::StrCat("the target of ", ToMilliseconds(target_), " ms");
    const std::string found = all.best_found.has_value()
                                  ? absl::StrCat("; the best plan found takes ", ToMilliseconds(*all.best_found), " ms")
                                  : "";
    if (all.decision == Decision::kRefuted) {
      Shortage shortage;
      shortage.resource = "time";
      shortage.description = absl::StrCat(target, " cannot be met: every plan on ", DevicesText(), " ",
                                          TakesAbove(all.lower_bound), " (", all.bound_method, ")", found);
      return InfeasibleError({.shortages = {shortage}});
    }
    const bool ran_out_of_time = CheckInterruption(limits_).has_value();
    return NoPlanFoundError(absl::StrCat("no plan within ", target,
                                         " was found, and none was proven impossible: every plan takes at least ",
                                         ToMilliseconds(all.lower_bound), " ms", found, "; allow more ",
                                         ran_out_of_time ? "time" : "work", " or a longer period"),
                            ran_out_of_time ? SpentLimit::kTime : SpentLimit::kWork);
  }

  // "all 8 devices", "at most 3 of 8 devices".
  std::string DevicesText() const {
    const auto all = static_cast<int32_t>(selected_.size());
    const int32_t most = request_.problem.devices_to_use.max_devices.value_or(all);
    return most < all ? absl::StrCat("at most ", most, " of ", all, " devices (devices_to_use.max_devices)")
                      : absl::StrCat("all ", all, " devices");
  }

  // What every plan does, by a bound above the target: said of the target where the two look alike.
  std::string TakesAbove(Picoseconds bound) const {
    const std::string text = absl::StrCat(ToMilliseconds(bound));
    const std::string target = absl::StrCat(ToMilliseconds(target_));
    return absl::StrCat("takes ", text == target ? "more than " : "at least ", text, " ms");
  }

  SolveFunction solve_;
  const SearchRequest& request_;
  // Those of the request, but for the gap: whether the target is met is not settled by what is close to it.
  SolverOptions options_;
  const SolveLimits& limits_;
  TaskArena& arena_;
  const SearchCallbacks& callbacks_;
  const Picoseconds target_;
  const std::vector<DeviceId> selected_;
  const std::vector<DeviceId> counted_;
  // Selected devices that are not counted.
  const int64_t others_;

  // The plan with the fewest devices so far, and how many of the counted it uses.
  std::optional<SearchOutcome> fewest_;
  int64_t count_ = 0;
  // So many devices are too few; -1: nothing is known.
  int64_t refuted_ = -1;
  // Why, above the target.
  std::optional<Bound> refutation_;
  std::vector<Bound> problem_bounds_;
  // Why the last number that was neither reached nor refuted was not decided.
  StopReason open_reason_ = StopReason::kExhausted;
  int64_t counts_tried_ = 0;
};

}  // namespace

absl::StatusOr<SearchOutcome> SolveFewestDevices(SolveFunction solve, const SearchRequest& request,
                                                 const SolveLimits& limits, TaskArena& arena,
                                                 const SearchCallbacks& callbacks) {
  return FewestDevices(solve, request, limits, arena, callbacks).Run();
}

}  // namespace planwright
