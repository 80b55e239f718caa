#include "tests/property/latency_brute_force.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace planwright {
namespace {

// Stages of one placement as this oracle sees them.
class Execution {
 public:
  Execution(const NaiveModel& model, const Placement& placement) : model_(model), placement_(placement) {
    stage_of_.resize(model.num_operators());
    for (std::size_t stage = 0; stage < placement.stages.size(); ++stage) {
      for (const OperatorId op : placement.stages[stage].operators) stage_of_[op.index()] = stage;
    }
  }

  std::size_t DeviceOf(std::size_t stage) const { return placement_.stages[stage].devices.front().index(); }
  bool IsOnCpu(std::size_t stage) const { return model_.IsCpu(DeviceOf(stage)); }

  Picoseconds TimeOf(std::size_t op) const {
    const NaiveModel::Times& times = *model_.time(op, DeviceOf(stage_of_[op]));
    return times.forward + times.backward;
  }

  // Transfers in, computation, transfers out; on a CPU computation only.
  Picoseconds Duration(std::size_t stage) const {
    Picoseconds duration{0};
    for (const OperatorId op : placement_.stages[stage].operators) duration += TimeOf(op.index());
    if (IsOnCpu(stage)) return duration;
    for (const Tensor& tensor : model_.graph().tensors) {
      if (IsPartlyIn(tensor, stage)) duration += model_.Transfer(tensor, 0, 0);
    }
    return duration;
  }

  int64_t Memory(std::size_t stage) const {
    int64_t border_bytes = 0;
    for (const Tensor& tensor : model_.graph().tensors) {
      if (IsPartlyIn(tensor, stage)) border_bytes += tensor.size_bytes;
    }
    std::vector<std::size_t> operators;
    for (const OperatorId op : placement_.stages[stage].operators) operators.push_back(op.index());
    return model_.Memory(operators, border_bytes);
  }

  // Start and finish of every operator, by letting times grow until nothing changes. False: they never stop growing.
  bool Run(bool in_order_of_stages) {
    start_.assign(model_.num_operators(), Picoseconds(0));
    finish_.assign(model_.num_operators(), Picoseconds(0));
    // A step in time that also grows where everything takes no time.
    rank_.assign(model_.num_operators(), 0);
    for (std::size_t round = 0; round <= 2 * model_.num_operators() + 1; ++round) {
      if (!Advance(in_order_of_stages)) return true;
    }
    return false;
  }

  Picoseconds start(std::size_t op) const { return start_[op]; }
  Picoseconds Makespan() const { return *std::max_element(finish_.begin(), finish_.end()); }

 private:
  bool IsPartlyIn(const Tensor& tensor, std::size_t stage) const {
    bool inside = false;
    bool outside = false;
    const auto look = [&](std::size_t op) {
      if (model_.TakesPart(op)) (stage_of_[op] == stage ? inside : outside) = true;
    };
    look(tensor.producer.index());
    for (const OperatorId consumer : tensor.consumers) look(consumer.index());
    return model_.TakesPart(tensor.producer.index()) && inside && outside;
  }

  bool IsOneUnit(std::size_t a, std::size_t b) const { return stage_of_[a] == stage_of_[b] && !IsOnCpu(stage_of_[a]); }

  bool WaitsFor(std::size_t b, std::size_t a, bool in_order_of_stages) const {
    if (IsOneUnit(a, b)) return false;
    const std::size_t before = stage_of_[a];
    const std::size_t after = stage_of_[b];
    if (in_order_of_stages && before < after && !IsOnCpu(before) && DeviceOf(before) == DeviceOf(after)) return true;
    return std::any_of(model_.graph().tensors.begin(), model_.graph().tensors.end(), [&](const Tensor& tensor) {
      const auto& consumers = tensor.consumers;
      return tensor.producer.index() == a &&
             std::find(consumers.begin(), consumers.end(), OperatorId(b)) != consumers.end();
    });
  }

  // Whether anything moved.
  bool Advance(bool in_order_of_stages) {
    bool moved = false;
    for (std::size_t op = 0; op < model_.num_operators(); ++op) {
      if (!model_.TakesPart(op)) continue;
      Picoseconds start = start_[op];
      std::size_t rank = rank_[op];
      for (std::size_t other = 0; other < model_.num_operators(); ++other) {
        if (!model_.TakesPart(other)) continue;
        if (IsOneUnit(op, other)) {
          start = std::max(start, start_[other]);
          rank = std::max(rank, rank_[other]);
        } else if (WaitsFor(op, other, in_order_of_stages)) {
          start = std::max(start, finish_[other]);
          rank = std::max(rank, rank_[other] + 1);
        }
      }
      const Picoseconds finish = start + (IsOnCpu(stage_of_[op]) ? TimeOf(op) : Duration(stage_of_[op]));
      moved |= rank != rank_[op] || start != start_[op] || finish != finish_[op];
      rank_[op] = rank;
      start_[op] = start;
      finish_[op] = finish;
    }
    return moved;
  }

  const NaiveModel& model_;
  const Placement& placement_;
  std::vector<std::size_t> stage_of_;
  std::vector<Picoseconds> start_;
  std::vector<Picoseconds> finish_;
  std::vector<std::size_t> rank_;
};

}  // namespace

NaiveLatencyVerdict NaiveLatencyJudge::Judge(const Placement& placement) const {
  NaiveLatencyVerdict verdict;
  for (const Placement::Stage& stage : placement.stages) {
    for (const OperatorId op : stage.operators) {
      if (!model_.time(op.index(), stage.devices.front().index()).has_value()) verdict.is_supported = false;
    }
  }
  verdict.obeys_rules = ObeysRules(placement);
  if (!verdict.is_supported) return verdict;
  Execution execution(model_, placement);
  verdict.order_is_executable = execution.Run(true);
  verdict.loads.resize(model_.num_devices());
  verdict.memory_bytes.resize(model_.num_devices());
  for (std::size_t stage = 0; stage < placement.stages.size(); ++stage) {
    const std::size_t device = execution.DeviceOf(stage);
    verdict.loads[device] += execution.Duration(stage);
    verdict.memory_bytes[device] += execution.Memory(stage);
    verdict.starts.push_back(execution.start(placement.stages[stage].operators.front().index()));
    if (!model_.Fits(device, verdict.memory_bytes[device])) verdict.fits = false;
  }
  verdict.objective = execution.Makespan();
  verdict.any_order_is_executable = verdict.order_is_executable || execution.Run(false);
  return verdict;
}

std::optional<int32_t> NaiveLatencyJudge::SubgraphLimit() const {
  const ResolvedProblem& problem = model_.problem();
  if (problem.max_subgraphs_per_device.has_value()) return problem.max_subgraphs_per_device;
  if (problem.split == Split::kContiguous) return 1;
  return std::nullopt;
}

bool NaiveLatencyJudge::ObeysRules(const Placement& placement) const {
  struct Seat {
    std::size_t op;
    std::size_t stage;
    std::size_t device;
  };
  std::vector<Seat> seats;
  std::map<std::pair<std::size_t, bool>, std::set<std::size_t>> subgraphs;
  std::set<std::size_t> used;
  for (std::size_t stage = 0; stage < placement.stages.size(); ++stage) {
    const std::size_t device = placement.stages[stage].devices.front().index();
    for (const OperatorId op : placement.stages[stage].operators) {
      if (!model_.IsAllowed(op.index(), device)) return false;
      seats.push_back({op.index(), stage, device});
      if (!model_.IsCpu(device)) subgraphs[{device, model_.IsForward(op.index())}].insert(stage);
    }
    used.insert(device);
  }
  for (const Seat& a : seats) {
    for (const Seat& b : seats) {
      const bool both_on_cpus = model_.IsCpu(a.device) && model_.IsCpu(b.device);
      if (both_on_cpus) continue;
      if (model_.SameUnion(a.op, b.op) && a.device != b.device) return false;
      const bool same_pass = model_.IsForward(a.op) == model_.IsForward(b.op);
      if (model_.SameLayer(a.op, b.op) && same_pass && a.stage != b.stage) return false;
      if (a.stage == b.stage && !same_pass) return false;
    }
  }
  for (const auto& [key, stages] : subgraphs) {
    if (std::cmp_greater(stages.size(), SubgraphLimit().value_or(1000))) return false;
  }
  const std::optional<int32_t>& most = model_.problem().devices_to_use.max_devices;
  return !most.has_value() || std::cmp_less_equal(used.size(), *most);
}

struct NaiveLatencyJudge::Search {
  // Of each accelerator, in the order in which they run; at last the CPUs, by device.
  std::vector<std::vector<Placement::Stage>> stages_of;
  std::optional<Picoseconds> best;
};

// Enough for every subgraph that the limit allows in either pass.
std::size_t NaiveLatencyJudge::NumSlots() const {
  std::size_t passes[2] = {0, 0};
  for (std::size_t op = 0; op < model_.num_operators(); ++op) {
    if (model_.TakesPart(op)) ++passes[model_.IsForward(op) ? 0 : 1];
  }
  const auto limit = static_cast<std::size_t>(SubgraphLimit().value_or(1000));
  return std::min(limit, passes[0]) + std::min(limit, passes[1]);
}

double NaiveLatencyJudge::NumPlacements() const {
  std::size_t choices = 1;
  for (std::size_t device = 0; device < model_.num_devices(); ++device) {
    if (!model_.IsCpu(device)) choices += NumSlots();
  }
  return std::pow(static_cast<double>(choices), static_cast<double>(model_.num_operators()));
}

std::optional<Picoseconds> NaiveLatencyJudge::Optimum() const {
  Search search;
  for (std::size_t device = 0; device < model_.num_devices(); ++device) {
    const std::size_t slots = model_.IsCpu(device) ? 1 : NumSlots();
    search.stages_of.emplace_back(slots, Placement::Stage{{}, {DeviceId(device)}});
  }
  Extend(search, 0);
  return search.best;
}

void NaiveLatencyJudge::Extend(Search& search, std::size_t op) const {
  if (op == model_.num_operators()) {
    Placement placement;
    for (const std::vector<Placement::Stage>& stages : search.stages_of) {
      bool was_empty = false;
      for (const Placement::Stage& stage : stages) {
        // The same with a slot left out has been seen.
        if (was_empty && !stage.operators.empty()) return;
        was_empty = stage.operators.empty();
        if (!was_empty) placement.stages.push_back(stage);
      }
    }
    const NaiveLatencyVerdict verdict = Judge(placement);
    if (!verdict.is_feasible() || !verdict.order_is_executable) return;
    if (!search.best.has_value() || verdict.objective < *search.best) search.best = verdict.objective;
    return;
  }
  if (!model_.TakesPart(op)) return Extend(search, op + 1);
  bool tried_cpu = false;
  for (std::size_t device = 0; device < model_.num_devices(); ++device) {
    if (!model_.time(op, device).has_value() || !model_.IsAllowed(op, device)) continue;
    // CPUs are alike, once one may run the operator.
    if (model_.IsCpu(device) && std::exchange(tried_cpu, true)) continue;
    for (Placement::Stage& stage : search.stages_of[device]) {
      stage.operators.emplace_back(op);
      Extend(search, op + 1);
      stage.operators.pop_back();
    }
  }
}

}  // namespace planwright
