#include "tests/property/brute_force.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <tuple>
#include <variant>

namespace planwright {
namespace {

// What one replica does in one pass.
struct Sums {
  Picoseconds in{0};
  Picoseconds compute{0};
  Picoseconds out{0};
};
// [pass].
using Work = std::array<Sums, 2>;

// Stages that pay as one: those of one device, or of one team of replicas.
struct Payer {
  std::vector<std::size_t> devices;
  std::vector<std::size_t> operators;
  std::vector<std::size_t> ring;
  // By replica.
  std::vector<Work> work;
};

Picoseconds Combine(const Sums& sums, Overlap overlap) {
  switch (overlap) {
    case Overlap::kSerial:
      return sums.in + sums.compute + sums.out;
    case Overlap::kOverlapped:
      return std::max(sums.compute, sums.in + sums.out);
    case Overlap::kFullDuplex:
      break;
  }
  return std::max(sums.in, std::max(sums.compute, sums.out));
}

Picoseconds Share(Picoseconds time, std::size_t parts) {
  const auto count = static_cast<int64_t>(parts);
  return Picoseconds((time.count() + count - 1) / count);
}

// Costs one placement.
class Bill {
 public:
  Bill(const NaiveModel& model, const Placement& placement) : model_(model) {
    for (const Placement::Stage& stage : placement.stages) {
      std::vector<std::size_t> operators;
      for (const OperatorId op : stage.operators) {
        if (model.TakesPart(op.index())) operators.push_back(op.index());
      }
      if (!operators.empty()) AddStage(stage, operators);
    }
  }

  void Fill(NaiveVerdict& verdict) {
    AddComputation();
    if (std::holds_alternative<HostStagedInterconnect>(model_.cluster().interconnect)) {
      for (const Tensor& tensor : model_.graph().tensors) PayHost(tensor);
    } else {
      for (std::size_t from = 0; from < payers_.size(); ++from) {
        for (std::size_t to = 0; to < payers_.size(); ++to) PayNetwork(from, to);
      }
    }
    for (const auto& [ends, load] : raw_links_) verdict.links[ends] = Share(load.first, load.second);
    FillLoads(verdict);
    FillMemory(verdict);
  }

 private:
  void AddStage(const Placement::Stage& stage, const std::vector<std::size_t>& operators) {
    const std::vector<std::size_t> team = Indices(stage.devices);
    auto payer = std::find_if(payers_.begin(), payers_.end(), [&](const Payer& p) { return p.devices == team; });
    if (payer == payers_.end()) {
      payer = payers_.insert(payer, Payer{team, {}, RingOf(stage), std::vector<Work>(team.size())});
    }
    payer->operators.insert(payer->operators.end(), operators.begin(), operators.end());
  }

  static std::vector<std::size_t> Indices(const std::vector<DeviceId>& devices) {
    std::vector<std::size_t> indices;
    for (const DeviceId device : devices) indices.push_back(device.index());
    return indices;
  }

  std::vector<std::size_t> RingOf(const Placement::Stage& stage) const {
    if (!stage.ring.empty()) return Indices(stage.ring);
    std::vector<std::size_t> ring = Indices(stage.devices);
    if (model_.problem().allreduce.ring == AllReduce::Ring::kFree) std::sort(ring.begin(), ring.end());
    return ring;
  }

  static bool Holds(const Payer& payer, std::size_t op) {
    return std::find(payer.operators.begin(), payer.operators.end(), op) != payer.operators.end();
  }

  static bool Reads(const Payer& payer, const Tensor& tensor) {
    return std::any_of(tensor.consumers.begin(), tensor.consumers.end(),
                       [&](OperatorId consumer) { return Holds(payer, consumer.index()); });
  }

  bool Crosses(const Tensor& tensor, const Payer& from, const Payer& to) const {
    return &from != &to && Holds(from, tensor.producer.index()) && Reads(to, tensor);
  }

  std::size_t PassOf(const Tensor& tensor) const { return model_.IsForward(tensor.producer.index()) ? 0 : 1; }

  void AddComputation() {
    for (Payer& payer : payers_) {
      for (std::size_t i = 0; i < payer.devices.size(); ++i) {
        for (const std::size_t op : payer.operators) {
          payer.work[i][0].compute += model_.time(op, payer.devices[i])->forward;
          payer.work[i][1].compute += model_.time(op, payer.devices[i])->backward;
        }
      }
    }
  }

  void Send(Work& work, std::size_t pass, Picoseconds time) const {
    work[pass].out += time;
    if (model_.gradients_return()) work[1].in += time;
  }
  void Receive(Work& work, std::size_t pass, Picoseconds time) const {
    work[pass].in += time;
    if (model_.gradients_return()) work[1].out += time;
  }

  void PayHost(const Tensor& tensor) {
    const std::size_t pass = PassOf(tensor);
    bool leaves = false;
    for (Payer& from : payers_) {
      for (Payer& to : payers_) {
        if (!Crosses(tensor, from, to)) continue;
        const Picoseconds time = model_.Transfer(tensor, from.devices[0], to.devices[0]);
        for (Work& work : to.work) {
          if (!model_.IsCpu(to.devices[0])) Receive(work, pass, time);
        }
        if (std::exchange(leaves, true) || model_.IsCpu(from.devices[0])) continue;
        for (Work& work : from.work) Send(work, pass, time);
      }
    }
  }

  // Runs micro-batches until every pair of replicas that meets has met equally often.
  void PayNetwork(std::size_t from_index, std::size_t to_index) {
    Payer& from = payers_[from_index];
    Payer& to = payers_[to_index];
    const std::size_t micro_batches = from.devices.size() * to.devices.size();
    for (std::size_t pass = 0; pass < 2; ++pass) {
      std::vector<Picoseconds> sent(from.devices.size());
      std::vector<Picoseconds> received(to.devices.size());
      for (std::size_t n = 0; n < micro_batches; ++n) {
        const std::size_t a = n % from.devices.size();
        const std::size_t b = n % to.devices.size();
        for (const Tensor& tensor : model_.graph().tensors) {
          if (PassOf(tensor) != pass || !Crosses(tensor, from, to)) continue;
          const Picoseconds time = model_.Transfer(tensor, from.devices[a], to.devices[b]);
          sent[a] += time;
          received[b] += time;
          auto& [load, uses] = raw_links_[std::minmax({from.devices[a], to.devices[b]})];
          load += (model_.gradients_return() ? 2 : 1) * time;
          uses = micro_batches;
        }
      }
      for (std::size_t a = 0; a < sent.size(); ++a) Send(from.work[a], pass, Share(sent[a], to.devices.size()));
      for (std::size_t b = 0; b < received.size(); ++b) {
        Receive(to.work[b], pass, Share(received[b], from.devices.size()));
      }
    }
  }

  void FillLoads(NaiveVerdict& verdict) const {
    verdict.loads.resize(model_.num_devices());
    const Overlap overlap = model_.problem().overlap;
    const bool is_gpipe = model_.problem().schedule == ScheduleKind::kGpipe;
    Picoseconds greatest_first{0};
    Picoseconds greatest_second{0};
    Picoseconds greatest_allreduce{0};
    const std::optional<int32_t> micro_batches = model_.problem().micro_batches;
    for (const Payer& payer : payers_) {
      const std::size_t replicas = payer.devices.size();
      int64_t parameter_bytes = 0;
      for (const std::size_t op : payer.operators) parameter_bytes += model_.graph().operators[op].parameter_bytes;
      const Picoseconds allreduce = model_.AllReduce(parameter_bytes, payer.ring);
      for (std::size_t i = 0; i < replicas; ++i) {
        const auto& [forward, backward] = payer.work[i];
        Picoseconds first{0};
        Picoseconds second{0};
        if (is_gpipe) {
          first = Combine(forward, overlap);
          second = Combine(backward, overlap);
        } else {
          const Sums both{forward.in + backward.in, forward.compute + backward.compute, forward.out + backward.out};
          second = Combine(both, overlap);
        }
        Picoseconds& load = verdict.loads[payer.devices[i]];
        if (micro_batches.has_value()) {
          // A step as a whole, of which each micro-batch gets its share.
          const int64_t batches = *micro_batches;
          load = Share(batches * (first + second) + allreduce, static_cast<std::size_t>(batches) * replicas);
          greatest_allreduce = std::max(greatest_allreduce, allreduce);
        } else {
          first = Share(first, replicas);
          second = Share(second, replicas);
          second = overlap == Overlap::kSerial ? second + allreduce : std::max(second, allreduce);
          load = first + second;
        }
        greatest_first = std::max(greatest_first, first);
        greatest_second = std::max(greatest_second, second);
      }
    }
    verdict.objective = greatest_first + greatest_second;
    if (!micro_batches.has_value() || payers_.empty()) return;
    const auto turns = static_cast<int64_t>(payers_.size()) + *micro_batches - 1;
    verdict.step_time = turns * verdict.objective + greatest_allreduce;
    verdict.objective =
        Share(verdict.step_time, payers_.front().devices.size() * static_cast<std::size_t>(*micro_batches));
  }

  // Of the payer at a position: only synchronous schedules with a number of micro-batches, and pipelines that start to
  // drain before they are full, keep more than one.
  int64_t InFlight(std::size_t position) const {
    const PlanningProblem& problem = model_.problem();
    const auto behind = static_cast<int64_t>(payers_.size() - position);
    switch (problem.schedule) {
      case ScheduleKind::kOneFOneB:
        return problem.micro_batches.has_value() ? std::min<int64_t>(behind, *problem.micro_batches) : behind;
      case ScheduleKind::kPipedreamAsync:
        return behind;
      default:
        return problem.micro_batches.value_or(1);
    }
  }

  void FillMemory(NaiveVerdict& verdict) const {
    verdict.memory_bytes.resize(model_.num_devices());
    for (std::size_t position = 0; position < payers_.size(); ++position) {
      const Payer& payer = payers_[position];
      int64_t border_bytes = 0;
      for (const Tensor& tensor : model_.graph().tensors) {
        const bool crosses = std::any_of(payers_.begin(), payers_.end(), [&](const Payer& other) {
          return Crosses(tensor, payer, other) || Crosses(tensor, other, payer);
        });
        if (crosses) border_bytes += tensor.size_bytes;
      }
      for (const std::size_t device : payer.devices) {
        verdict.memory_bytes[device] = model_.Memory(payer.operators, border_bytes, InFlight(position));
        if (!model_.Fits(device, verdict.memory_bytes[device])) verdict.fits = false;
      }
    }
  }

  const NaiveModel& model_;
  std::vector<Payer> payers_;
  // By the two devices: time of all that crosses, and in how many micro-batches.
  std::map<std::pair<std::size_t, std::size_t>, std::pair<Picoseconds, std::size_t>> raw_links_;
};

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
  NaiveVerdict verdict;
  verdict.is_supported = IsSupported(model_, placement);
  verdict.obeys_rules = ObeysRules(placement);
  verdict.has_order = HasOrder(placement);
  if (verdict.is_supported) Bill(model_, placement).Fill(verdict);
  return verdict;
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
  const PlanningProblem& problem = model_.problem();
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

bool NaiveJudge::HasOrder(const Placement& placement) const {
  const std::vector<int> stage_of = StageOfEach(model_, placement);
  std::vector<std::vector<bool>> before(placement.stages.size(), std::vector<bool>(placement.stages.size(), false));
  for (std::size_t a = 0; a < stage_of.size(); ++a) {
    for (std::size_t b = 0; b < stage_of.size(); ++b) {
      if (!model_.MustPrecede(a, b) || stage_of[a] == stage_of[b]) continue;
      before[static_cast<std::size_t>(stage_of[a])][static_cast<std::size_t>(stage_of[b])] = true;
    }
  }
  Close(before);
  for (std::size_t stage = 0; stage < before.size(); ++stage) {
    if (before[stage][stage]) return false;
  }
  return true;
}

struct NaiveJudge::Search {
  const std::vector<Team>& teams;
  // Of each operator: where it must be with others because no order of stages can part them.
  std::vector<std::size_t> atom_of;
  // Position in `teams` of each operator; -1: not placed.
  std::vector<int> choice;
  // Time of one replica of each team.
  std::vector<Picoseconds> compute;
  std::optional<Picoseconds>& best;
};

std::optional<Picoseconds> NaiveJudge::Optimum() const {
  // Within several stages per device, operators that precede each other are in one stage, and so are layers.
  const std::size_t n = model_.num_operators();
  std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n, false));
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) reaches[a][b] = a == b || model_.MustPrecede(a, b) || model_.SameLayer(a, b);
  }
  Close(reaches);
  std::vector<std::size_t> atom_of(n);
  for (std::size_t a = 0; a < n; ++a) {
    while (!reaches[a][atom_of[a]] || !reaches[atom_of[a]][a]) ++atom_of[a];
  }
  std::optional<Picoseconds> best;
  for (const std::vector<Team>& teams : AllTeams()) {
    Search search{teams, atom_of, std::vector<int>(n, -1), std::vector<Picoseconds>(teams.size()), best};
    Extend(search, 0);
  }
  return best;
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

// Every way to put `device` and those behind it into `teams`, except those that only swap devices that are alike.
void NaiveJudge::AddDevice(std::size_t device, std::vector<Team>& teams, std::vector<std::vector<Team>>& all) const {
  if (device == model_.num_devices()) {
    const auto is_same = [&](const std::vector<Team>& other) {
      return std::is_permutation(teams.begin(), teams.end(), other.begin(), other.end(),
                                 [this](const Team& a, const Team& b) { return AreAlike(a, b); });
    };
    if (std::none_of(all.begin(), all.end(), is_same)) all.push_back(teams);
    return;
  }
  for (std::size_t i = 0; i < teams.size(); ++i) {
    if (model_.cluster().devices[teams[i].front()].device_class != model_.cluster().devices[device].device_class) {
      continue;
    }
    // The order matters only where replicas are not equally far from each other.
    for (std::size_t position = DevicesAreInterchangeable() ? teams[i].size() : 0; position <= teams[i].size();
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

bool NaiveJudge::DevicesAreInterchangeable() const {
  const PlanningProblem& problem = model_.problem();
  const Interconnect& interconnect = model_.cluster().interconnect;
  const bool are_connected_alike = std::holds_alternative<HostStagedInterconnect>(interconnect) ||
                                   std::holds_alternative<UniformInterconnect>(interconnect);
  return are_connected_alike && problem.pinned.empty() && problem.forbidden.empty() && problem.devices_to_use.empty();
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
    const std::optional<Placement> placement = PlacementOfChoice(search);
    if (!placement.has_value()) return;
    const NaiveVerdict verdict = Judge(*placement);
    if (!verdict.is_feasible()) return;
    if (!search.best.has_value() || verdict.objective < *search.best) search.best = verdict.objective;
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
  for (std::size_t op = 0; op < search.choice.size(); ++op) {
    if (search.choice[op] < 0) continue;
    const auto team = static_cast<std::size_t>(search.choice[op]);
    std::vector<DeviceId> devices;
    for (const std::size_t device : search.teams[team]) devices.emplace_back(device);
    Placement::Stage& stage = stages[is_contiguous ? team : search.atom_of[op]];
    if (!stage.operators.empty() && stage.devices != devices) return std::nullopt;
    stage.operators.emplace_back(op);
    stage.devices = std::move(devices);
  }
  std::erase_if(stages, [](const Placement::Stage& stage) { return stage.operators.empty(); });
  return Placement{std::move(stages)};
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
