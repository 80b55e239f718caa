#include "core/planner/replanning.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "core/base/index.h"
#include "core/model/device_selection.h"

namespace planwright {
namespace {

// Objectives that the choice of idle devices may ask for, in each placement.
constexpr int kMaxTrials = 300;
// Numbers of replicas that are tried.
constexpr int32_t kMaxReplicaNumbers = 6;

// What each device held.
std::vector<std::set<OperatorId>> HoldingsOf(const Placement& placement) {
  std::vector<std::set<OperatorId>> held;
  for (const Placement::Stage& stage : placement.stages) {
    for (const DeviceId device : stage.devices) {
      if (held.size() <= device.index()) held.resize(device.index() + 1);
      held[device.index()].insert(stage.operators.begin(), stage.operators.end());
    }
  }
  return held;
}

// Repairs one placement.
class Repair {
 public:
  Repair(const SearchRequest& request, const SearchCallbacks& callbacks)
      : request_(request),
        callbacks_(callbacks),
        devices_(SelectedDevices(request.cluster, request.problem.devices_to_use)) {}

  std::vector<SearchStart> Run() {
    const Placement living = Living(*request_.problem.start_from);
    Try(living);
    if (HasDeadStages(living)) {
      Try(WithoutDeadStages(living, /*joins_next=*/false));
      Try(WithoutDeadStages(living, /*joins_next=*/true));
    }
    return std::move(found_);
  }

 private:
  static bool IsDead(const Placement::Stage& stage) { return stage.devices.empty(); }
  static bool HasDeadStages(const Placement& placement) {
    return std::any_of(placement.stages.begin(), placement.stages.end(), IsDead);
  }

  bool IsUsable(DeviceId device) const { return std::binary_search(devices_.begin(), devices_.end(), device); }

  // Without the devices that are gone, nor rings.
  Placement Living(Placement placement) const {
    for (Placement::Stage& stage : placement.stages) {
      std::erase_if(stage.devices, [this](DeviceId device) { return !IsUsable(device); });
      stage.ring.clear();
    }
    placement.pattern.reset();
    return placement;
  }

  // The operators of stages without devices go to the stage before, or behind; of several in a row all go the same way.
  static Placement WithoutDeadStages(const Placement& living, bool joins_next) {
    std::vector<Placement::Stage> stages = living.stages;
    if (joins_next) std::reverse(stages.begin(), stages.end());
    Placement joined;
    std::vector<OperatorId> homeless;
    for (Placement::Stage& stage : stages) {
      if (!IsDead(stage)) {
        stage.operators.insert(stage.operators.end(), homeless.begin(), homeless.end());
        homeless.clear();
        joined.stages.push_back(std::move(stage));
      } else if (joined.stages.empty()) {
        homeless.insert(homeless.end(), stage.operators.begin(), stage.operators.end());
      } else {
        std::vector<OperatorId>& operators = joined.stages.back().operators;
        operators.insert(operators.end(), stage.operators.begin(), stage.operators.end());
      }
    }
    if (joins_next) std::reverse(joined.stages.begin(), joined.stages.end());
    return joined;
  }

  // All numbers of replicas that the mode allows, the greatest first.
  void Try(const Placement& living) {
    if (living.stages.empty()) return;
    if (request_.problem.replication != Replication::kUniform) return TryWith(living, 1);
    auto replicas = static_cast<int32_t>(devices_.size() / living.stages.size());
    for (int32_t tried = 0; replicas >= 1 && tried < kMaxReplicaNumbers; ++tried) {
      TryWith(living, request_.problem.num_replicas.value_or(replicas));
      if (request_.problem.num_replicas.has_value()) return;
      replicas = tried + 2 < kMaxReplicaNumbers ? replicas - 1 : std::min(replicas - 1, 1);
    }
  }

  // PER_STAGE keeps all replicas that are left.
  void TryWith(Placement placement, int32_t replicas) {
    const bool keeps_all = request_.problem.replication == Replication::kPerStage;
    for (Placement::Stage& stage : placement.stages) {
      if (!keeps_all && stage.devices.size() > Index(replicas)) stage.devices.resize(Index(replicas));
    }
    std::vector<std::pair<std::size_t, std::size_t>> filled;
    if (!Fill(replicas, placement, filled)) return;
    Improve(filled, placement);
    if (callbacks_.objection(placement).empty()) found_.push_back({std::move(placement), "start_from"});
  }

  std::vector<DeviceId> IdleIn(const Placement& placement) const {
    std::set<DeviceId> used;
    for (const Placement::Stage& stage : placement.stages) used.insert(stage.devices.begin(), stage.devices.end());
    std::vector<DeviceId> idle;
    for (const DeviceId device : devices_) {
      if (!used.contains(device)) idle.push_back(device);
    }
    return idle;
  }

  bool MayJoin(const Placement::Stage& stage, DeviceId device) const {
    const DeviceClassId device_class = request_.cluster.devices[device.index()].device_class;
    if (!stage.devices.empty() &&
        request_.cluster.devices[stage.devices.front().index()].device_class != device_class) {
      return false;
    }
    return std::all_of(stage.operators.begin(), stage.operators.end(),
                       [&](OperatorId op) { return request_.costs.time(op, device_class).supported; });
  }

  // Gives each stage the first idle devices that it may take, until it has `replicas`. `filled`: (stage, copy). False:
  // there are too few.
  bool Fill(int32_t replicas, Placement& placement, std::vector<std::pair<std::size_t, std::size_t>>& filled) const {
    std::vector<DeviceId> idle = IdleIn(placement);
    for (std::size_t i = 0; i < placement.stages.size(); ++i) {
      Placement::Stage& stage = placement.stages[i];
      while (stage.devices.size() < Index(replicas)) {
        const auto taken =
            std::find_if(idle.begin(), idle.end(), [&](DeviceId device) { return MayJoin(stage, device); });
        if (taken == idle.end()) return false;
        filled.emplace_back(i, stage.devices.size());
        stage.devices.push_back(*taken);
        idle.erase(taken);
      }
    }
    return true;
  }

  // Better idle devices for those that were filled in, one after the other.
  void Improve(const std::vector<std::pair<std::size_t, std::size_t>>& filled, Placement& placement) const {
    if (filled.empty() || !callbacks_.objection(placement).empty()) return;
    Picoseconds best = callbacks_.objective(placement);
    int trials = 0;
    for (const auto& [stage, copy] : filled) {
      for (const DeviceId device : IdleIn(placement)) {
        if (!MayJoin(placement.stages[stage], device)) continue;
        if (++trials > kMaxTrials) return;
        const DeviceId before = std::exchange(placement.stages[stage].devices[copy], device);
        const Picoseconds objective = callbacks_.objective(placement);
        if (objective < best && callbacks_.objection(placement).empty()) {
          best = objective;
        } else {
          placement.stages[stage].devices[copy] = before;
        }
      }
    }
  }

  const SearchRequest& request_;
  const SearchCallbacks& callbacks_;
  // Ascending.
  const std::vector<DeviceId> devices_;
  std::vector<SearchStart> found_;
};

}  // namespace

int32_t CountMovedStages(const Placement& before, const Placement& after) {
  const std::vector<std::set<OperatorId>> held = HoldingsOf(before);
  const auto holds = [&](DeviceId device, OperatorId op) {
    return device.index() < held.size() && held[device.index()].contains(op);
  };
  return static_cast<int32_t>(
      std::count_if(after.stages.begin(), after.stages.end(), [&](const Placement::Stage& stage) {
        return !std::all_of(stage.devices.begin(), stage.devices.end(), [&](DeviceId device) {
          return std::all_of(stage.operators.begin(), stage.operators.end(),
                             [&](OperatorId op) { return holds(device, op); });
        });
      }));
}

std::vector<SearchStart> RepairedPlacements(const SearchRequest& request, const SearchCallbacks& callbacks) {
  return Repair(request, callbacks).Run();
}

SearchOutcome ChooseFewMoves(const PlanningProblem& problem, const std::vector<SearchStart>& repaired,
                             const SearchCallbacks& callbacks, SearchOutcome best) {
  const double most = (1 + *problem.replan_tolerance) * static_cast<double>(best.objective.count());
  const Placement* chosen = nullptr;
  std::pair fewest(CountMovedStages(*problem.start_from, best.placement), best.objective);
  for (const SearchStart& start : repaired) {
    const std::pair moves(CountMovedStages(*problem.start_from, start.placement), callbacks.objective(start.placement));
    if (static_cast<double>(moves.second.count()) > most || moves >= fewest) continue;
    fewest = moves;
    chosen = &start.placement;
  }
  if (chosen == nullptr) return best;
  best.placement = *chosen;
  best.objective = fewest.second;
  std::erase_if(best.bounds, [](const Bound& bound) { return bound.scope != BoundScope::kProblem; });
  const bool is_proven = !best.bounds.empty() && best.bounds.back().value == best.objective;
  if (!is_proven && best.stop_reason == StopReason::kOptimal) best.stop_reason = StopReason::kExhausted;
  best.fallback = "";
  return best;
}

}  // namespace planwright
