#include "core/planner/replanning.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "core/base/index.h"
#include "core/base/interruption.h"
#include "core/base/known.h"
#include "core/cost/plan_costing.h"
#include "core/model/device_selection.h"
#include "core/partition/search/block_instance.h"

namespace planwright {
namespace {

// Objectives that the choice of idle devices may ask for, in each placement.
constexpr int kMaxTrials = 300;
// Numbers of replicas that are tried.
constexpr int32_t kMaxReplicaNumbers = 6;

// Stands in the place of a device that has gone: copies of different stages belong together.
constexpr DeviceId kGone(std::numeric_limits<std::size_t>::max());

bool IsGone(DeviceId device) { return device == kGone; }

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

constexpr int kMaxCostings = 400;

// Better balanced stages on the same devices.
//
// Where no idle device takes the place of one that has failed, its operators go to the stages beside it, which are then
// the busiest by far. Here a run of operators passes from the end of the busiest stage to the stage behind it, or from
// its beginning to the one before, again and again, like heat: each step moves one stage more at most, so what there is
// on the way trades the stages that move for the time per micro-batch. Bisection finds the length of a run.
class Shifter {
 public:
  Shifter(const SearchRequest& request, const SearchCallbacks& callbacks, Placement placement,
          std::vector<Placement>& found)
      : request_(request),
        callbacks_(callbacks),
        instance_(BuildBlockInstance(request, MergeRule::kNever)),
        placement_(std::move(placement)),
        found_(found) {
    std::vector<std::size_t> stage_of(request.graph.operators.size(), 0);
    for (std::size_t stage = 0; stage < placement_.stages.size(); ++stage) {
      for (const OperatorId op : placement_.stages[stage].operators) stage_of[op.index()] = stage;
    }
    blocks_.resize(placement_.stages.size());
    for (std::size_t block = 0; block < instance_.operators.size(); ++block) {
      blocks_[stage_of[instance_.operators[block].front().index()]].push_back(block);
    }
  }

  // Adds them. False: interrupted.
  bool Run() {
    try {
      Shift();
    } catch (const Interrupted&) {
      return false;
    }
    return true;
  }

 private:
  void Shift() {
    const auto is_empty = [](const auto& blocks) { return blocks.empty(); };
    if (std::any_of(blocks_.begin(), blocks_.end(), is_empty)) return;
    Plan plan = Cost(blocks_);
    Picoseconds best = plan.objective;
    while (costings_ < kMaxCostings) {
      std::optional<Split> split = Relieved(plan);
      if (!split.has_value()) break;
      blocks_ = std::move(split->blocks);
      plan = std::move(split->plan);
      if (plan.objective >= best) continue;
      best = plan.objective;
      found_.push_back(PlacementOf(blocks_));
    }
  }

  // Blocks of each stage, in the order of the instance.
  using Blocks = std::vector<std::vector<std::size_t>>;

  struct Split {
    Blocks blocks;
    Plan plan;
  };

  Placement PlacementOf(const Blocks& blocks) const {
    Placement placement = placement_;
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
      placement.stages[stage].operators.clear();
      for (const std::size_t block : blocks[stage]) {
        const std::vector<OperatorId>& operators = instance_.operators[block];
        std::vector<OperatorId>& all = placement.stages[stage].operators;
        all.insert(all.end(), operators.begin(), operators.end());
      }
    }
    return placement;
  }

  Plan Cost(const Blocks& blocks) {
    ++costings_;
    return CostPlan(request_, PlacementOf(blocks));
  }

  static Picoseconds LoadOf(const Plan& plan, std::size_t stage) {
    Picoseconds load{0};
    for (const Replica& replica : plan.stages[stage].replicas) load = std::max(load, replica.load);
    return load;
  }

  static Picoseconds LargerLoad(const Plan& plan, std::size_t a, std::size_t b) {
    return std::max(LoadOf(plan, a), LoadOf(plan, b));
  }

  // The busiest stage relieved by one of its neighbours, the one that then leaves less on both; nullopt: none helps.
  std::optional<Split> Relieved(const Plan& plan) {
    std::size_t busiest = 0;
    for (std::size_t stage = 1; stage < blocks_.size(); ++stage) {
      if (LoadOf(plan, stage) > LoadOf(plan, busiest)) busiest = stage;
    }
    std::optional<Split> best;
    Picoseconds least = LoadOf(plan, busiest);
    for (const bool goes_back : {true, false}) {
      if (goes_back ? busiest == 0 : busiest + 1 == blocks_.size()) continue;
      const std::size_t neighbour = goes_back ? busiest - 1 : busiest + 1;
      for (Split& split : Balanced(busiest, neighbour)) {
        const Picoseconds larger = LargerLoad(split.plan, busiest, neighbour);
        if (larger >= least || !callbacks_.objection(PlacementOf(split.blocks)).empty()) continue;
        least = larger;
        best = std::move(split);
      }
    }
    return best;
  }

  // The longest run that leaves `from` at least as busy as `to`, and one block more.
  std::vector<Split> Balanced(std::size_t from, std::size_t to) {
    std::vector<Split> splits;
    std::size_t too_short = 0;
    std::size_t too_long = blocks_[from].size();
    while (too_short + 1 < too_long) {
      const std::size_t length = too_short + (too_long - too_short) / 2;
      Split split{Shifted(from, to, length), {}};
      split.plan = Cost(split.blocks);
      (LoadOf(split.plan, from) >= LoadOf(split.plan, to) ? too_short : too_long) = length;
      splits.push_back(std::move(split));
    }
    return splits;
  }

  Blocks Shifted(std::size_t from, std::size_t to, std::size_t length) const {
    Blocks blocks = blocks_;
    const auto count = static_cast<std::ptrdiff_t>(length);
    std::vector<std::size_t>& source = blocks[from];
    std::vector<std::size_t>& sink = blocks[to];
    const auto begin = to < from ? source.begin() : source.end() - count;
    const auto end = begin + count;
    sink.insert(to < from ? sink.end() : sink.begin(), begin, end);
    source.erase(begin, end);
    return blocks;
  }

  const SearchRequest& request_;
  const SearchCallbacks& callbacks_;
  const BlockInstance instance_;
  const Placement placement_;
  Blocks blocks_;
  int costings_ = 0;
  std::vector<Placement>& found_;
};

// Adds feasible placements on the devices of `placement`, each faster than it and than those before. At most a few
// hundred placements are costed. False: interrupted. REQUIRES: `placement` is feasible; MAX_THROUGHPUT, CONTIGUOUS.
bool ShiftBoundaries(const SearchRequest& request, const SearchCallbacks& callbacks, Placement placement,
                     std::vector<Placement>& found) {
  return Shifter(request, callbacks, std::move(placement), found).Run();
}

// Repairs one placement.
class Repair {
 public:
  Repair(const SearchRequest& request, const SearchCallbacks& callbacks)
      : request_(request),
        callbacks_(callbacks),
        devices_(SelectedDevices(request.cluster, request.problem.devices_to_use)) {}

  Repairs Run() {
    try {
      const Placement living = Living(Known(request_.problem.start_from));
      Try(living);
      if (HasDeadStages(living)) {
        Try(WithoutDeadStages(living, /*joins_next=*/false));
        Try(WithoutDeadStages(living, /*joins_next=*/true));
      }
    } catch (const Interrupted&) {
      repairs_.is_cut = true;
    }
    return std::move(repairs_);
  }

 private:
  static bool IsDead(const Placement::Stage& stage) {
    return std::all_of(stage.devices.begin(), stage.devices.end(), IsGone);
  }
  static bool HasDeadStages(const Placement& placement) {
    return std::any_of(placement.stages.begin(), placement.stages.end(), IsDead);
  }

  bool IsUsable(DeviceId device) const { return std::binary_search(devices_.begin(), devices_.end(), device); }

  // Returns it without rings; with copies that are whole first where stages have equally many.
  Placement Living(Placement placement) const {
    for (const AbsentDevice& absent : request_.problem.absent_devices) {
      std::vector<DeviceId>& devices = placement.stages[absent.stage].devices;
      devices.insert(devices.begin() + static_cast<std::ptrdiff_t>(absent.position), kGone);
    }
    for (Placement::Stage& stage : placement.stages) {
      for (DeviceId& device : stage.devices) {
        if (!IsUsable(device)) device = kGone;
      }
      stage.ring.clear();
    }
    placement.pattern.reset();
    if (request_.problem.replication == Replication::kUniform) PutWholeCopiesFirst(placement);
    return placement;
  }

  static void PutWholeCopiesFirst(Placement& placement) {
    std::size_t copies = 0;
    for (const Placement::Stage& stage : placement.stages) copies = std::max(copies, stage.devices.size());
    std::vector<std::pair<int, std::size_t>> order;
    for (std::size_t copy = 0; copy < copies; ++copy) {
      int gone = 0;
      for (Placement::Stage& stage : placement.stages) {
        stage.devices.resize(copies, kGone);
        if (IsGone(stage.devices[copy])) ++gone;
      }
      order.emplace_back(gone, copy);
    }
    std::sort(order.begin(), order.end());
    for (Placement::Stage& stage : placement.stages) {
      const std::vector<DeviceId> devices = stage.devices;
      for (std::size_t i = 0; i < copies; ++i) stage.devices[i] = devices[order[i].second];
    }
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

  // Tries all numbers of replicas that the mode allows, the greatest first.
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
    const Replication replication = request_.problem.replication;
    for (Placement::Stage& stage : placement.stages) {
      if (replication != Replication::kUniform) std::erase_if(stage.devices, IsGone);
      if (replication != Replication::kPerStage || stage.devices.empty()) stage.devices.resize(Index(replicas), kGone);
    }
    std::vector<std::pair<std::size_t, std::size_t>> filled;
    if (!Fill(placement, filled) || !callbacks_.objection(placement).empty()) return;
    std::vector<SearchStart>& found = repairs_.starts;
    // As it is, in case that there is no time for better devices.
    found.push_back({std::move(placement), "start_from"});
    Improve(filled, found.back().placement);
    if (request_.problem.split != Split::kContiguous) return;
    std::vector<Placement> balanced;
    repairs_.is_cut |= !ShiftBoundaries(request_, callbacks_, found.back().placement, balanced);
    // Before the one that they are made of: of two that take as long the first one counts.
    for (Placement& each : balanced) found.insert(found.end() - 1, {std::move(each), "start_from"});
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
    const auto left = std::find_if_not(stage.devices.begin(), stage.devices.end(), IsGone);
    if (left != stage.devices.end() && request_.cluster.devices[left->index()].device_class != device_class) {
      return false;
    }
    return std::all_of(stage.operators.begin(), stage.operators.end(),
                       [&](OperatorId op) { return request_.costs.time(op, device_class).supported; });
  }

  // Puts the first idle devices that each stage may take where devices are gone. `filled`: (stage, copy). False: there
  // are too few.
  bool Fill(Placement& placement, std::vector<std::pair<std::size_t, std::size_t>>& filled) const {
    std::vector<DeviceId> idle = IdleIn(placement);
    for (std::size_t i = 0; i < placement.stages.size(); ++i) {
      Placement::Stage& stage = placement.stages[i];
      for (std::size_t copy = 0; copy < stage.devices.size(); ++copy) {
        if (!IsGone(stage.devices[copy])) continue;
        const auto taken =
            std::find_if(idle.begin(), idle.end(), [&](DeviceId device) { return MayJoin(stage, device); });
        if (taken == idle.end()) return false;
        filled.emplace_back(i, copy);
        stage.devices[copy] = *taken;
        idle.erase(taken);
      }
    }
    return true;
  }

  // Better idle devices for those that were filled in, one after the other.
  void Improve(const std::vector<std::pair<std::size_t, std::size_t>>& filled, Placement& placement) const {
    if (filled.empty()) return;
    Picoseconds best = callbacks_.objective(placement);
    int trials = 0;
    for (const auto& [stage, copy] : filled) {
      for (const DeviceId device : IdleIn(placement)) {
        if (!MayJoin(placement.stages[stage], device)) continue;
        if (++trials > kMaxTrials) return;
        DeviceId& place = placement.stages[stage].devices[copy];
        // Also where the trial is interrupted.
        absl::Cleanup take_back = [&place, before = std::exchange(place, device)] { place = before; };
        const Picoseconds objective = callbacks_.objective(placement);
        if (objective >= best || !callbacks_.objection(placement).empty()) continue;
        best = objective;
        std::move(take_back).Cancel();
      }
    }
  }

  const SearchRequest& request_;
  const SearchCallbacks& callbacks_;
  // Ascending.
  const std::vector<DeviceId> devices_;
  Repairs repairs_;
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

Repairs RepairedPlacements(const SearchRequest& request, const SearchCallbacks& callbacks) {
  return Repair(request, callbacks).Run();
}

SearchOutcome ChooseFewMoves(const ResolvedProblem& problem, const std::vector<SearchStart>& repaired,
                             const SearchCallbacks& callbacks, SearchOutcome best) {
  const Placement& before = Known(problem.start_from);
  const double most = (1 + Known(problem.replan_tolerance)) * static_cast<double>(best.objective.count());
  const Placement* chosen = nullptr;
  std::pair fewest(CountMovedStages(before, best.placement), best.objective);
  for (const SearchStart& start : repaired) {
    const std::pair moves(CountMovedStages(before, start.placement), callbacks.objective(start.placement));
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
