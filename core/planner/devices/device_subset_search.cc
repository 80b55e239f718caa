#include "core/planner/devices/device_subset_search.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stop_token>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/base/limits.h"
#include "core/cost/terms/sub_cluster.h"
#include "core/model/device_selection.h"

namespace planwright {
namespace {

// Parts of an irregular part of a hierarchy that are searched for a start.
constexpr std::size_t kMaxRegularSets = 3;

std::vector<OperatorDevice> ToPart(const SubCluster& part, const std::vector<OperatorDevice>& pairs) {
  std::vector<OperatorDevice> kept;
  for (const OperatorDevice& pair : pairs) {
    const std::optional<DeviceId> device = part.ToPart(pair.device);
    if (device.has_value()) kept.push_back({pair.op, *device});
  }
  return kept;
}

// The problem as one who knows only the part would pose it.
ResolvedProblem ToPart(const SubCluster& part, const ResolvedProblem& whole) {
  ResolvedProblem problem = whole;
  if (problem.objective == Objective::kMinDevices) problem.objective = Objective::kMaxThroughput;
  problem.target_period.reset();
  problem.devices_to_use = {};
  problem.pinned = ToPart(part, whole.pinned);
  problem.forbidden = ToPart(part, whole.forbidden);
  if (whole.start_from.has_value()) problem.start_from = part.ToPart(*whole.start_from);
  return problem;
}

std::vector<SearchStart> ToPart(const SubCluster& part, const std::vector<SearchStart>& starts) {
  std::vector<SearchStart> kept;
  for (const SearchStart& start : starts) {
    std::optional<Placement> placement = part.ToPart(start.placement);
    if (placement.has_value()) kept.push_back({*std::move(placement), start.made_by});
  }
  return kept;
}

std::vector<DeviceLimit> ToPart(const SubCluster& part, const std::vector<DeviceLimit>& limits) {
  std::vector<DeviceLimit> kept;
  for (const DeviceLimit& limit : limits) {
    DeviceLimit& in_part = kept.emplace_back();
    in_part.most = limit.most;
    for (const DeviceId id : limit.devices) {
      const std::optional<DeviceId> device = part.ToPart(id);
      if (device.has_value()) in_part.devices.push_back(*device);
    }
  }
  return kept;
}

SearchOutcome ToWhole(const SubCluster& part, SearchOutcome outcome) {
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

// Sets of `devices` that take as many from each of some innermost groups, larger sets first: parts of a hierarchy that
// keep its levels. At most `max_sets`.
std::vector<std::vector<DeviceId>> RegularSets(const HierarchyInterconnect& hierarchy,
                                               const std::vector<DeviceId>& devices, std::size_t max_sets) {
  std::map<std::size_t, std::vector<DeviceId>> groups;
  for (const DeviceId device : devices) {
    groups[device.index() / static_cast<std::size_t>(hierarchy.levels.front().fan_out)].push_back(device);
  }
  std::vector<std::vector<DeviceId>> by_size;
  by_size.reserve(groups.size());
  for (auto& [index, members] : groups) by_size.push_back(std::move(members));
  std::stable_sort(by_size.begin(), by_size.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::vector<std::vector<DeviceId>> sets;
  for (std::size_t count = 1; count <= by_size.size(); ++count) {
    const auto each = static_cast<std::ptrdiff_t>(by_size[count - 1].size());
    std::vector<DeviceId>& set = sets.emplace_back();
    for (std::size_t i = 0; i < count; ++i) set.insert(set.end(), by_size[i].begin(), by_size[i].begin() + each);
    std::sort(set.begin(), set.end());
  }
  std::stable_sort(sets.begin(), sets.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  if (sets.size() > max_sets) sets.resize(max_sets);
  return sets;
}

std::size_t NumLevels(const Cluster& cluster) {
  const auto* hierarchy = std::get_if<HierarchyInterconnect>(&cluster.interconnect);
  return hierarchy == nullptr ? 0 : hierarchy->levels.size();
}

// The search on `part`, named back.
absl::StatusOr<SearchOutcome> SolveIn(const SubCluster& part, SolveFunction solve, const SearchRequest& request,
                                      const SolveLimits& limits, TaskArena& arena, const SearchCallbacks& callbacks) {
  const ResolvedProblem problem = ToPart(part, request.problem);
  // The part has links of its own.
  const CostTable costs(request.graph, part.cluster(), problem.workload);
  SearchRequest part_request{
      request.graph, part.cluster(), problem, costs, request.options, request.algorithm, ToPart(part, request.starts)};
  part_request.target = request.target;
  part_request.device_limits = ToPart(part, request.device_limits);
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

// Plans on parts that keep the levels of the hierarchy, for a search on a part that does not and so cannot tell near
// devices from far ones. `callbacks` are not told of them.
std::vector<SearchStart> StartsOnRegularParts(SolveFunction solve, const SearchRequest& request,
                                              const std::vector<DeviceId>& devices, const SolveLimits& limits,
                                              TaskArena& arena, const SearchCallbacks& callbacks) {
  const SearchCallbacks silent = callbacks.Silenced();
  std::vector<SearchStart> starts;
  const auto& hierarchy = std::get<HierarchyInterconnect>(request.cluster.interconnect);
  for (std::vector<DeviceId>& set : RegularSets(hierarchy, devices, kMaxRegularSets)) {
    const SubCluster part(request.cluster, std::move(set));
    absl::StatusOr<SearchOutcome> outcome =
        SolveIn(part, solve, request, ShareOfRemainingTime(limits, kMaxRegularSets + 1), arena, silent);
    if (outcome.ok()) starts.push_back({std::move(outcome->placement), outcome->algorithm});
  }
  return starts;
}

}  // namespace

absl::StatusOr<SearchOutcome> SolveOnSubset(SolveFunction solve, const SearchRequest& request,
                                            const std::vector<DeviceId>& devices, const SolveLimits& limits,
                                            TaskArena& arena, const SearchCallbacks& callbacks) {
  const SubCluster part(request.cluster, devices, SelectedDevices(request.cluster, request.problem.devices_to_use));
  if (NumLevels(part.cluster()) == NumLevels(request.cluster) || !request.problem.pinned.empty()) {
    return SolveIn(part, solve, request, limits, arena, callbacks);
  }
  SearchRequest started = request;
  for (SearchStart& start : StartsOnRegularParts(solve, request, devices, limits, arena, callbacks)) {
    started.starts.push_back(std::move(start));
  }
  return SolveIn(part, solve, started, limits, arena, callbacks);
}

DecidedSearch SolveUntilDecided(SolveFunction solve, const SearchRequest& request, Picoseconds target,
                                const SolveLimits& limits, TaskArena& arena, const SearchCallbacks& callbacks) {
  SearchRequest asking = request;
  asking.target = target;
  Decider decider(target, callbacks);
  const std::stop_callback forward(limits.stop, [&] { decider.stop().request_stop(); });
  SolveLimits decider_limits = limits;
  decider_limits.stop = decider.stop().get_token();
  absl::StatusOr<SearchOutcome> outcome = solve(asking, decider_limits, arena, decider.Listening());
  return std::move(decider).Conclude(std::move(outcome));
}

}  // namespace planwright
