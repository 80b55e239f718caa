#include "core/planner/part_search.h"

#include <algorithm>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "core/base/infeasibility.h"
#include "core/model/device_selection.h"

namespace planwright {
namespace {

std::vector<OperatorDevice> ToPart(const ClusterPart& part, const std::vector<OperatorDevice>& pairs) {
  std::vector<OperatorDevice> kept;
  for (const OperatorDevice& pair : pairs) {
    const std::optional<DeviceId> device = part.ToPart(pair.device);
    if (device.has_value()) kept.push_back({pair.op, *device});
  }
  return kept;
}

// The problem as one who knows only the part would pose it.
PlanningProblem ToPart(const ClusterPart& part, const PlanningProblem& whole) {
  PlanningProblem problem = whole;
  if (problem.objective == Objective::kMinDevices) problem.objective = Objective::kMaxThroughput;
  problem.target_period.reset();
  problem.devices_to_use = {};
  problem.pinned = ToPart(part, whole.pinned);
  problem.forbidden = ToPart(part, whole.forbidden);
  if (whole.start_from.has_value()) problem.start_from = part.ToPart(*whole.start_from);
  return problem;
}

std::vector<SearchStart> ToPart(const ClusterPart& part, const std::vector<SearchStart>& starts) {
  std::vector<SearchStart> kept;
  for (const SearchStart& start : starts) {
    std::optional<Placement> placement = part.ToPart(start.placement);
    if (placement.has_value()) kept.push_back({*std::move(placement), start.made_by});
  }
  return kept;
}

SearchOutcome ToWhole(const ClusterPart& part, SearchOutcome outcome) {
  outcome.placement = part.ToWhole(std::move(outcome.placement));
  return outcome;
}

// Listens to a search until its question is answered, then asks it to stop.
class Decider {
 public:
  Decider(Picoseconds target, const SearchCallbacks& callbacks) : target_(target), callbacks_(callbacks) {}

  SearchCallbacks Listening() {
    SearchCallbacks listening = callbacks_;
    listening.on_incumbent = [this](const SearchOutcome& so_far, int64_t, std::string_view) { Hear(so_far); };
    listening.on_bound = [this](const Bound& bound) { Hear(bound); };
    return listening;
  }

  std::stop_source& stop() { return stop_; }

  DecidedSearch Conclude(absl::StatusOr<SearchOutcome> outcome) && {
    if (outcome.ok()) {
      Hear(*outcome);
      for (const Bound& bound : outcome->bounds) Hear(bound);
    } else if (result_.decision == Decision::kOpen && InfeasibilityOf(outcome.status()).has_value()) {
      result_.decision = Decision::kRefuted;
      result_.lower_bound = Picoseconds(kMaxQuantity);
    }
    if (result_.decision != Decision::kReached) result_.outcome = std::move(outcome);
    return std::move(result_);
  }

 private:
  bool is_decided() const { return result_.decision != Decision::kOpen; }

  void Hear(const SearchOutcome& so_far) {
    if (is_decided()) return;
    result_.best_found = std::min(result_.best_found.value_or(so_far.objective), so_far.objective);
    if (so_far.objective > target_) return;
    result_.outcome = so_far;
    Decide(Decision::kReached);
  }

  void Hear(const Bound& bound) {
    if (is_decided() || bound.scope != BoundScope::kProblem || bound.value <= result_.lower_bound) return;
    result_.lower_bound = bound.value;
    result_.bound_method = bound.method;
    callbacks_.on_bound(bound);
    if (bound.value > target_) Decide(Decision::kRefuted);
  }

  void Decide(Decision decision) {
    result_.decision = decision;
    stop_.request_stop();
  }

  const Picoseconds target_;
  const SearchCallbacks& callbacks_;
  std::stop_source stop_;
  DecidedSearch result_;
};

}  // namespace

absl::StatusOr<SearchOutcome> SolveOnPart(SolveFunction solve, const SearchRequest& request,
                                          const std::vector<DeviceId>& devices, const SolveLimits& limits,
                                          TaskArena& arena, const SearchCallbacks& callbacks) {
  const ClusterPart part(request.cluster, devices, SelectedDevices(request.cluster, request.problem.devices_to_use));
  const PlanningProblem problem = ToPart(part, request.problem);
  SearchRequest part_request{request.graph,
                             part.cluster(),
                             problem,
                             request.costs,
                             request.options,
                             request.algorithm,
                             ToPart(part, request.starts)};
  part_request.target = request.target;
  SearchCallbacks part_callbacks = callbacks;
  part_callbacks.objective = [&](const Placement& placement) { return callbacks.objective(part.ToWhole(placement)); };
  part_callbacks.objection = [&](const Placement& placement) { return callbacks.objection(part.ToWhole(placement)); };
  part_callbacks.on_incumbent = [&](const SearchOutcome& so_far, int64_t work, std::string_view algorithm) {
    callbacks.on_incumbent(ToWhole(part, so_far), work, algorithm);
  };
  absl::StatusOr<SearchOutcome> outcome = solve(part_request, limits, arena, part_callbacks);
  if (!outcome.ok()) return outcome;
  return ToWhole(part, *std::move(outcome));
}

DecidedSearch SolveUntilDecided(SolveFunction solve, const SearchRequest& request, const std::vector<DeviceId>& devices,
                                Picoseconds target, const SolveLimits& limits, TaskArena& arena,
                                const SearchCallbacks& callbacks) {
  SearchRequest asking = request;
  asking.target = target;
  Decider decider(target, callbacks);
  const std::stop_callback forward(limits.stop, [&] { decider.stop().request_stop(); });
  SolveLimits decider_limits = limits;
  decider_limits.stop = decider.stop().get_token();
  absl::StatusOr<SearchOutcome> outcome =
      SolveOnPart(solve, asking, devices, decider_limits, arena, decider.Listening());
  return std::move(decider).Conclude(std::move(outcome));
}

}  // namespace planwright
