#include "tests/property/brute_force.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

namespace planwright {
namespace {

Picoseconds Share(Picoseconds time, std::size_t parts) {
  const auto count = static_cast<int64_t>(parts);
  return Picoseconds((time.count() + count - 1) / count);
}

// Position of the stage of each operator; -1: in none.
std::vector<int> StageOfEach(const NaiveModel& model, const Placement& placement) {
  std::vector<int> stage_of(model.num_operators(), -1);
  for (std::size_t i = 0; i < placement.stages.size(); ++i) {
    for (const OperatorId op : placement.stages[i].operators) {
      if (model.TakesPart(op.index())) stage_of[op.index()] = static_cast<int>(i);
    }
  }
  return stage_of;
}

bool IsSupported(const NaiveModel& model, const Placement& placement) {
  for (const Placement::Stage& stage : placement.stages) {
    for (const OperatorId op : stage.operators) {
      if (!model.TakesPart(op.index())) continue;
      for (const DeviceId device : stage.devices) {
        if (!model.time(op.index(), device.index()).has_value()) return false;
        if (model.cluster().devices[device.index()].device_class !=
            model.cluster().devices[stage.devices.front().index()].device_class) {
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace

NaiveVerdict NaiveJudge::Judge(const Placement& placement) const {
  const bool is_supported = IsSupported(model_, placement);
  return {is_supported ? MakeNaiveBill(model_, placement) : NaiveBill(), is_supported, ObeysRules(placement),
          HasOrder(placement)};
}

bool NaiveJudge::ObeysRules(const Placement& placement) const {
  const std::vector<int> stage_of = StageOfEach(model_, placement);
  std::vector<std::set<int>> stages_on(model_.num_devices());
  for (std::size_t a = 0; a < stage_of.size(); ++a) {
    if (stage_of[a] < 0) continue;
    const auto& devices = placement.stages[static_cast<std::size_t>(stage_of[a])].devices;
    for (const DeviceId device : devices) {
      if (!model_.IsAllowed(a, device.index())) return false;
      stages_on[device.index()].insert(stage_of[a]);
    }
    for (std::size_t b = 0; b < stage_of.size(); ++b) {
      if (stage_of[b] < 0) continue;
      if (model_.SameUnion(a, b) && placement.stages[static_cast<std::size_t>(stage_of[b])].devices != devices) {
        return false;
      }
      if (model_.SameLayer(a, b) && stage_of[a] != stage_of[b]) return false;
    }
  }
  int32_t used = 0;
  for (const std::set<int>& stages : stages_on) {
    if (!stages.empty()) ++used;
    if (model_.problem().split == Split::kContiguous && stages.size() > 1) return false;
  }
  return used <= model_.problem().devices_to_use.max_devices.value_or(used) && HasShape(placement);
}

// As many stages and replicas as the problem says, rings that visit each replica.
bool NaiveJudge::HasShape(const Placement& placement) const {
  const ResolvedProblem& problem = model_.problem();
  std::set<std::size_t> numbers;
  int32_t stages = 0;
  for (const Placement::Stage& stage : placement.stages) {
    const bool is_used = std::any_of(stage.operators.begin(), stage.operators.end(),
                                     [this](OperatorId op) { return model_.TakesPart(op.index()); });
    if (!is_used) continue;
    ++stages;
    numbers.insert(stage.devices.size());
    const bool is_by_index = problem.allreduce.ring == AllReduce::Ring::kIndex;
    if (is_by_index && !stage.ring.empty() && stage.ring != stage.devices) return false;
  }
  if (stages != problem.num_stages.value_or(stages)) return false;
  if (problem.replication == Replication::kUniform && numbers.size() > 1) return false;
  return !problem.num_replicas.has_value() || std::all_of(numbers.begin(), numbers.end(), [&](std::size_t number) {
    return static_cast<int32_t>(number) == *problem.num_replicas;
  });
}

std::vector<std::vector<bool>> NaiveJudge::OrderOfStages(const Placement& placement) const {
  const std::vector<int> stage_of = StageOfEach(model_, placement);
  std::vector<std::vector<bool>> before(placement.stages.size(), std::vector<bool>(placement.stages.size(), false));
  for (std::size_t a = 0; a < stage_of.size(); ++a) {
    for (std::size_t b = 0; b < stage_of.size(); ++b) {
      const bool is_placed = stage_of[a] >= 0 && stage_of[b] >= 0;
      if (!is_placed || !model_.MustPrecede(a, b) || stage_of[a] == stage_of[b]) continue;
      before[static_cast<std::size_t>(stage_of[a])][static_cast<std::size_t>(stage_of[b])] = true;
    }
  }
  Close(before);
  return before;
}

bool NaiveJudge::HasOrder(const Placement& placement) const {
  const std::vector<std::vector<bool>> before = OrderOfStages(placement);
  for (std::size_t stage = 0; stage < before.size(); ++stage) {
    if (before[stage][stage]) return false;
  }
  return true;
}

bool NaiveJudge::OrderMatters() const {
  const ResolvedProblem& problem = model_.problem();
  if (problem.split != Split::kContiguous) return false;
  const bool drains_early =
      problem.schedule == ScheduleKind::kOneFOneB || problem.schedule == ScheduleKind::kPipedreamAsync;
  const bool counts_activations = problem.memory_model.kind == MemoryModel::Kind::kComponents &&
                                  problem.workload == Workload::kTraining && drains_early;
  const bool fills_differ = problem.overlap != Overlap::kSerial || problem.replication == Replication::kPerStage;
  return counts_activations || (problem.micro_batches.has_value() && fills_differ);
}

struct NaiveJudge::Search {
  std::vector<Team> teams;
  // Of each operator: where it must be with others because no order of stages can part them.
  std::vector<std::size_t> atom_of;
  // Position in `teams` of each operator; -1: not placed.
  std::vector<int> choice;
  // Time of one replica of each team.
  std::vector<Picoseconds> compute;
  std::optional<Picoseconds> best;
  Placement best_placement;
};

NaiveJudge::Search NaiveJudge::Run() const {
  // Within several stages per device, operators that precede each other are in one stage, and so are layers.
  const std::size_t n = model_.num_operators();
  std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n, false));
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) reaches[a][b] = a == b || model_.MustPrecede(a, b) || model_.SameLayer(a, b);
  }
  Close(reaches);
  Search search;
  search.atom_of.resize(n);
  for (std::size_t a = 0; a < n; ++a) {
    while (!reaches[a][search.atom_of[a]] || !reaches[search.atom_of[a]][a]) ++search.atom_of[a];
  }
  search.choice.assign(n, -1);
  for (std::vector<Team>& teams : AllTeams()) {
    search.compute.assign(teams.size(), Picoseconds(0));
    search.teams = std::move(teams);
    Extend(search, 0);
  }
  return search;
}

std::optional<Picoseconds> NaiveJudge::Optimum() const { return Run().best; }

std::optional<Placement> NaiveJudge::BestPlacement() const {
  Search search = Run();
  if (!search.best.has_value()) return std::nullopt;
  return std::move(search.best_placement);
}

double NaiveJudge::NumPlacements() const {
  std::size_t operators = 0;
  for (std::size_t op = 0; op < model_.num_operators(); ++op) operators += model_.TakesPart(op) ? 1 : 0;
  double placements = 0;
  for (const std::vector<Team>& teams : AllTeams()) {
    placements += std::pow(static_cast<double>(teams.size()), static_cast<double>(operators));
  }
  return placements;
}

std::vector<std::vector<NaiveJudge::Team>> NaiveJudge::AllTeams() const {
  std::vector<Team> teams;
  if (model_.problem().replication == Replication::kNone) {
    for (std::size_t device = 0; device < model_.num_devices(); ++device) teams.push_back({device});
    return {teams};
  }
  std::vector<std::vector<Team>> all;
  AddDevice(0, teams, all);
  return all;
}

// Every way to put `device` and those behind it into `teams`, except those that only swap devices that are alike, and
// those whose teams UNIFORM cannot use together.
void NaiveJudge::AddDevice(std::size_t device, std::vector<Team>& teams, std::vector<std::vector<Team>>& all) const {
  if (device == model_.num_devices()) {
    std::set<std::size_t> sizes;
    for (const Team& team : teams) sizes.insert(team.size());
    sizes.erase(1);
    if (model_.problem().replication == Replication::kUniform && sizes.size() > 1) return;
    const auto is_same = [&](const std::vector<Team>& other) {
      return std::is_permutation(teams.begin(), teams.end(), other.begin(), other.end(),
                                 [this](const Team& a, const Team& b) { return AreAlike(a, b); });
    };
    if (!DevicesAreInterchangeable() || std::none_of(all.begin(), all.end(), is_same)) all.push_back(teams);
    return;
  }
  for (std::size_t i = 0; i < teams.size(); ++i) {
    if (model_.cluster().devices[teams[i].front()].device_class != model_.cluster().devices[device].device_class) {
      continue;
    }
    // The order matters only where replicas are not equally far from each other.
    for (std::size_t position = DevicesAreConnectedAlike() ? teams[i].size() : 0; position <= teams[i].size();
         ++position) {
      teams[i].insert(teams[i].begin() + static_cast<std::ptrdiff_t>(position), device);
      AddDevice(device + 1, teams, all);
      teams[i].erase(teams[i].begin() + static_cast<std::ptrdiff_t>(position));
    }
  }
  teams.push_back({device});
  AddDevice(device + 1, teams, all);
  teams.pop_back();
}

bool NaiveJudge::DevicesAreConnectedAlike() const {
  const Interconnect& interconnect = model_.cluster().interconnect;
  return std::holds_alternative<HostStagedInterconnect>(interconnect) ||
         std::holds_alternative<UniformInterconnect>(interconnect);
}

bool NaiveJudge::DevicesAreInterchangeable() const {
  const ResolvedProblem& problem = model_.problem();
  return DevicesAreConnectedAlike() && problem.pinned.empty() && problem.forbidden.empty() &&
         problem.devices_to_use.empty();
}

bool NaiveJudge::AreAlike(const Team& a, const Team& b) const {
  if (!DevicesAreInterchangeable()) return a == b;
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end(), [this](std::size_t x, std::size_t y) {
    const Device& device_x = model_.cluster().devices[x];
    const Device& device_y = model_.cluster().devices[y];
    return device_x.device_class == device_y.device_class &&
           device_x.reserved_memory_bytes == device_y.reserved_memory_bytes;
  });
}

void NaiveJudge::Extend(Search& search, std::size_t op) const {
  if (op == search.choice.size()) {
    std::optional<Placement> placement = PlacementOfChoice(search);
    if (!placement.has_value() || !ObeysRules(*placement) || !HasOrder(*placement)) return;
    ChooseRings(*placement);
    if (!OrderMatters()) return Consider(search, *placement);
    Placement ordered;
    TryOrders(search, ordered, placement->stages);
    return;
  }
  if (!model_.TakesPart(op)) {
    Extend(search, op + 1);
    return;
  }
  for (std::size_t team = 0; team < search.teams.size(); ++team) {
    if (!MayJoin(search, op, team)) continue;
    const NaiveModel::Times& time = *model_.time(op, search.teams[team].front());
    Picoseconds& compute = search.compute[team];
    // Transfers only add to the computation.
    const Picoseconds total = compute + time.forward + time.backward;
    if (search.best.has_value() && Share(total, search.teams[team].size()) >= *search.best) continue;
    const Picoseconds before = std::exchange(compute, total);
    search.choice[op] = static_cast<int>(team);
    Extend(search, op + 1);
    search.choice[op] = -1;
    search.compute[team] = before;
  }
}

bool NaiveJudge::MayJoin(const Search& search, std::size_t op, std::size_t team) const {
  if (!model_.time(op, search.teams[team].front()).has_value()) return false;
  const auto is_idle = [&](std::size_t t) {
    return std::find(search.choice.begin(), search.choice.end(), static_cast<int>(t)) == search.choice.end();
  };
  for (std::size_t other = 0; other < op; ++other) {
    if (search.choice[other] >= 0 && model_.SameUnion(op, other) && search.choice[other] != static_cast<int>(team)) {
      return false;
    }
  }
  if (!model_.IsAllowed(op, search.teams[team].front())) return false;
  if (!is_idle(team)) return true;
  for (std::size_t earlier = 0; earlier < team; ++earlier) {
    if (is_idle(earlier) && AreAlike(search.teams[earlier], search.teams[team])) return false;
  }
  return true;
}

std::optional<Placement> NaiveJudge::PlacementOfChoice(const Search& search) const {
  const bool is_contiguous = model_.problem().split == Split::kContiguous;
  // By team, or by atom.
  std::vector<Placement::Stage> stages(std::max(search.teams.size(), search.choice.size()));
  std::vector<bool> is_used(search.teams.size(), false);
  for (std::size_t op = 0; op < search.choice.size(); ++op) {
    if (search.choice[op] < 0) continue;
    const auto team = static_cast<std::size_t>(search.choice[op]);
    std::vector<DeviceId> devices;
    for (const std::size_t device : search.teams[team]) devices.emplace_back(device);
    Placement::Stage& stage = stages[is_contiguous ? team : search.atom_of[op]];
    if (!stage.operators.empty() && stage.devices != devices) return std::nullopt;
    stage.operators.emplace_back(op);
    stage.devices = std::move(devices);
    is_used[team] = true;
  }
  for (std::size_t team = 0; team < search.teams.size(); ++team) {
    if (search.teams[team].size() > 1 && !is_used[team]) return std::nullopt;
  }
  std::erase_if(stages, [](const Placement::Stage& stage) { return stage.operators.empty(); });
  return Placement{std::move(stages)};
}

// The all-reduce of a stage is its own affair: the ring that is fastest for it is best for the plan.
void NaiveJudge::ChooseRings(Placement& placement) const {
  if (model_.problem().allreduce.ring == AllReduce::Ring::kIndex || DevicesAreConnectedAlike()) return;
  for (Placement::Stage& stage : placement.stages) {
    // Up to three devices have one ring.
    if (stage.devices.size() < 4) continue;
    int64_t parameter_bytes = 0;
    for (const OperatorId op : stage.operators) parameter_bytes += model_.graph().operators[op.index()].parameter_bytes;
    Team ring;
    for (const DeviceId device : stage.devices) ring.push_back(device.index());
    std::sort(ring.begin(), ring.end());
    Team best = ring;
    while (std::next_permutation(ring.begin() + 1, ring.end())) {
      if (model_.AllReduce(parameter_bytes, ring) < model_.AllReduce(parameter_bytes, best)) best = ring;
    }
    stage.ring.clear();
    for (const std::size_t device : best) stage.ring.emplace_back(device);
  }
}

void NaiveJudge::TryOrders(Search& search, Placement& ordered, const std::vector<Placement::Stage>& rest) const {
  if (rest.empty()) return Consider(search, ordered);
  const std::vector<std::vector<bool>> before = OrderOfStages(Placement{rest});
  for (std::size_t next = 0; next < rest.size(); ++next) {
    if (std::any_of(before.begin(), before.end(), [next](const std::vector<bool>& row) { return row[next]; })) continue;
    std::vector<Placement::Stage> others = rest;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(next));
    ordered.stages.push_back(rest[next]);
    TryOrders(search, ordered, others);
    ordered.stages.pop_back();
  }
}

// The rules are obeyed, and the order is one of a pipeline.
void NaiveJudge::Consider(Search& search, const Placement& placement) const {
  const NaiveBill bill = MakeNaiveBill(model_, placement);
  if (!bill.fits || (search.best.has_value() && bill.objective >= *search.best)) return;
  search.best = bill.objective;
  search.best_placement = placement;
}

std::optional<Picoseconds> OptimumOf(uint64_t seed) {
  static std::map<uint64_t, std::optional<Picoseconds>> known;
  const auto found = known.find(seed);
  if (found != known.end()) return found->second;
  return known[seed] = NaiveJudge(MakeRandomInstance(seed)).Optimum();
}

std::optional<Picoseconds> OptimumOf(InstanceMode mode, uint64_t seed, int max_operators) {
  static std::map<std::tuple<InstanceMode, uint64_t, int>, std::optional<Picoseconds>> known;
  const std::tuple key(mode, seed, max_operators);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known[key] = NaiveJudge(MakeModeInstance(mode, seed, max_operators)).Optimum();
}

}  // namespace planwright
