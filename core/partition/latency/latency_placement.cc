#include "core/partition/latency/latency_placement.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/base/index.h"
#include "core/partition/latency/latency_starts.h"
#include "core/partition/latency/subgraph_schedule.h"

namespace planwright {
namespace {

// Every group is where it may be, all of it on one accelerator or on the CPUs.
bool IsAllowed(const LatencyInstance& instance, const SubgraphSchedule& slots, const LatencyAssignment& assignment) {
  const auto accelerator_of = [&](int32_t vertex) {
    const int32_t place = assignment.places[Index(vertex)];
    return place == SubgraphSchedule::kCpu ? SubgraphSchedule::kCpu : slots.AcceleratorOf(place);
  };
  for (std::size_t group = 0; group < instance.groups.size(); ++group) {
    const std::vector<int32_t>& members = instance.groups[group];
    const int32_t accelerator = accelerator_of(members.front());
    const auto is_there = [&](int32_t vertex) { return accelerator_of(vertex) == accelerator; };
    if (!std::all_of(members.begin(), members.end(), is_there)) return false;
    const bool on_cpu = accelerator == SubgraphSchedule::kCpu;
    if (on_cpu ? !instance.allowed_on_cpu[group] : !instance.allowed[group][Index(accelerator)]) return false;
  }
  for (const std::vector<int32_t>& members : instance.bundles) {
    const int32_t place = assignment.places[Index(members.front())];
    const auto is_there = [&](int32_t vertex) { return assignment.places[Index(vertex)] == place; };
    if (!std::all_of(members.begin(), members.end(), is_there)) return false;
  }
  return true;
}

// Gives out the slots of the accelerators in the order in which stages ask for them.
class SlotGiver {
 public:
  SlotGiver(const LatencyInstance& instance, const SubgraphSchedule& slots) : slots_(slots) {
    used_.resize(instance.accelerators.size(), {0, 0});
    sequences_.resize(instance.accelerators.size());
  }

  // nullopt: the accelerator has no more slots for this pass.
  std::optional<int32_t> Next(int32_t accelerator, Pass pass) {
    int32_t& used = used_[Index(accelerator)][static_cast<std::size_t>(pass)];
    if (used == slots_.slots_per_pass()) return std::nullopt;
    const int32_t slot = slots_.SlotOf(accelerator, pass, used++);
    sequences_[Index(accelerator)].push_back(slot);
    return slot;
  }

  // The slots in the order given out, then those that were not.
  std::vector<int32_t> Sequence(int32_t accelerator) const {
    std::vector<int32_t> sequence = sequences_[Index(accelerator)];
    for (const int32_t slot : slots_.sequence(accelerator)) {
      if (std::find(sequence.begin(), sequence.end(), slot) == sequence.end()) sequence.push_back(slot);
    }
    return sequence;
  }

 private:
  const SubgraphSchedule& slots_;
  std::vector<std::array<int32_t, 2>> used_;
  std::vector<std::vector<int32_t>> sequences_;
};

}  // namespace

Placement ToPlacement(const LatencyInstance& instance, int32_t slots_per_pass, const LatencyAssignment& assignment) {
  SubgraphSchedule schedule(instance, slots_per_pass);
  schedule.Load(assignment.places, assignment.sequences);
  schedule.Latency();
  Placement placement;
  std::vector<std::size_t> stage_of(Index(schedule.num_slots()), 0);
  for (const int32_t slot : schedule.SlotsByStart()) {
    stage_of[Index(slot)] = placement.stages.size();
    const int32_t accelerator = schedule.AcceleratorOf(slot);
    placement.stages.push_back({.operators = {}, .devices = {instance.accelerators[Index(accelerator)].device}});
  }
  std::map<DeviceId, std::vector<OperatorId>> on_cpu;
  for (int32_t vertex = 0; vertex < instance.num_vertices(); ++vertex) {
    const OperatorId op = instance.operators[Index(vertex)];
    const int32_t place = schedule.place(vertex);
    if (place == SubgraphSchedule::kCpu) {
      on_cpu[instance.cpu_of[Index(vertex)]].push_back(op);
    } else {
      placement.stages[stage_of[Index(place)]].operators.push_back(op);
    }
  }
  for (auto& [device, operators] : on_cpu) placement.stages.push_back({std::move(operators), {device}});
  return placement;
}

std::optional<LatencyAssignment> FromPlacement(const LatencyInstance& instance, int32_t slots_per_pass,
                                               const Placement& placement) {
  const SubgraphSchedule slots(instance, slots_per_pass);
  SlotGiver giver(instance, slots);
  LatencyAssignment assignment = CpuAssignment(instance, slots_per_pass);
  std::unordered_map<std::size_t, int32_t> vertex_of;
  for (int32_t vertex = 0; vertex < instance.num_vertices(); ++vertex) {
    vertex_of.emplace(instance.operators[Index(vertex)].index(), vertex);
  }
  for (const Placement::Stage& stage : placement.stages) {
    const auto is_here = [&](const LatencyAccelerator& candidate) { return candidate.device == stage.devices.front(); };
    const auto found = std::find_if(instance.accelerators.begin(), instance.accelerators.end(), is_here);
    if (found == instance.accelerators.end()) continue;
    const auto accelerator = static_cast<int32_t>(found - instance.accelerators.begin());
    for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
      std::optional<int32_t> slot;
      for (const OperatorId op : stage.operators) {
        const auto vertex = vertex_of.find(op.index());
        if (vertex == vertex_of.end() || instance.pass[Index(vertex->second)] != pass) continue;
        if (!slot.has_value()) slot = giver.Next(accelerator, pass);
        if (!slot.has_value()) return std::nullopt;
        assignment.places[Index(vertex->second)] = *slot;
      }
    }
  }
  for (int32_t accelerator = 0; accelerator < instance.num_accelerators(); ++accelerator) {
    assignment.sequences[Index(accelerator)] = giver.Sequence(accelerator);
  }
  if (!IsAllowed(instance, slots, assignment)) return std::nullopt;
  return assignment;
}

}  // namespace planwright
