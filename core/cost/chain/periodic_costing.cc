#include "core/cost/chain/periodic_costing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/base/units.h"
#include "core/cost/chain/chain_costs.h"
#include "core/model/chain.h"

namespace planwright {
namespace {

class PatternCosting {
 public:
  PatternCosting(const Cluster& cluster, StageChain stages, const PeriodicPattern& pattern, Plan& plan)
      : cluster_(cluster),
        chain_(std::move(stages.chain)),
        devices_(stages.devices),
        allocation_(std::move(stages.allocation)),
        pattern_(pattern),
        plan_(plan) {}

  void Run() {
    plan_.objective = pattern_.period;
    const PatternMemory memory = MemoryOf(chain_, ChainSums(chain_), devices_, allocation_, pattern_);
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) FillStage(i, memory.stored[i]);
    for (DeviceUsage& usage : plan_.devices) FillDevice(memory, usage);
    FillLinks();
    FillTasks();
  }

 private:
  DeviceId DeviceOf(std::size_t stage) const { return plan_.stages[stage].replicas.front().device; }
  const std::string& NameOf(DeviceId device) const { return cluster_.devices[device.index()].name; }

  // Something is sent between the stages `cut` and `cut` + 1.
  bool IsSent(std::size_t cut) const { return cut < chain_.cuts.size() && DeviceOf(cut) != DeviceOf(cut + 1); }

  void FillStage(std::size_t index, int32_t in_flight) {
    Stage& stage = plan_.stages[index];
    const ChainLayer& layer = chain_.layers[index];
    stage.compute = layer.forward + layer.backward;
    stage.load = stage.compute;
    stage.replicas.front().load = stage.load;
    stage.in_flight_micro_batches = in_flight;
    stage.memory_bytes = layer.static_bytes + in_flight * (layer.stored_bytes + layer.received_bytes) +
                         layer.workspace_bytes + plan_.problem.memory_model.reserved_bytes;
    if (IsSent(index)) AddTransfers(chain_.cuts[index], stage.communication_out, stage.communication_in, stage);
    if (index == 0 || !IsSent(index - 1)) return;
    AddTransfers(chain_.cuts[index - 1], stage.communication_in, stage.communication_out, stage);
  }

  // `there` is the way of activations, `back` that of gradients.
  static void AddTransfers(const ChainCut& cut, Picoseconds& there, Picoseconds& back, Stage& stage) {
    there += cut.send_forward;
    back += cut.send_backward;
    stage.memory_bytes += cut.buffer_bytes;
  }

  void FillDevice(const PatternMemory& memory, DeviceUsage& usage) const {
    if (usage.stages.empty()) return;
    for (const StageId stage : usage.stages) usage.load += plan_.stages[stage.index()].load;
    usage.memory_bytes = memory.peak_bytes[usage.device.index()] + plan_.problem.memory_model.reserved_bytes;
  }

  // Adds one link for each that has traffic: a pair of devices, with full duplex from the first to the second.
  void FillLinks() {
    std::map<std::pair<DeviceId, DeviceId>, Picoseconds> loads;
    for (std::size_t cut = 0; cut < chain_.cuts.size(); ++cut) {
      if (!IsSent(cut)) continue;
      std::pair<DeviceId, DeviceId> there(DeviceOf(cut), DeviceOf(cut + 1));
      std::pair<DeviceId, DeviceId> back(there.second, there.first);
      if (!devices_.full_duplex) there = back = std::minmax(there.first, there.second);
      loads[there] += chain_.cuts[cut].send_forward;
      if (chain_.has_backward) loads[back] += chain_.cuts[cut].send_backward;
    }
    for (const auto& [ends, load] : loads) plan_.links.push_back({ends.first, ends.second, load});
  }

  void FillTasks() {
    for (const PatternTask& task : pattern_.tasks) {
      plan_.tasks.push_back({.operation = std::string(planwright::NameOf(task.operation)),
                             .stage = task.stage,
                             .pass = PassOf(task.operation),
                             .resource = ResourceOf(task),
                             .start = task.start,
                             .index_shift = task.shift});
    }
  }

  std::string ResourceOf(const PatternTask& task) const {
    const std::size_t stage = task.stage.index();
    switch (task.operation) {
      case PatternOperation::kSendForward:
        return LinkName(cluster_, DeviceOf(stage), DeviceOf(stage + 1), devices_.full_duplex);
      case PatternOperation::kSendBackward:
        return LinkName(cluster_, DeviceOf(stage), DeviceOf(stage - 1), devices_.full_duplex);
      default:
        return NameOf(DeviceOf(stage));
    }
  }

  const Cluster& cluster_;
  const Chain chain_;
  const ChainDevices devices_;
  const ChainAllocation allocation_;
  const PeriodicPattern& pattern_;
  Plan& plan_;
};

// When micro-batch 0 is stored.
struct Storage {
  Picoseconds begin{0};
  Picoseconds end{0};
};

std::vector<Storage> StorageOf(const Chain& chain, const ChainSums& sums, const ChainAllocation& allocation,
                               const PeriodicPattern& pattern) {
  std::vector<Storage> storage(allocation.size());
  for (const PatternTask& task : pattern.tasks) {
    const auto& [first, last, device] = allocation[task.stage.index()];
    const Picoseconds start = task.start + task.shift * pattern.period;
    Storage& stored = storage[task.stage.index()];
    if (task.operation == PatternOperation::kForward) {
      stored.begin = start;
      if (!chain.has_backward) stored.end = start + sums.forward(first, last);
    }
    if (task.operation == PatternOperation::kBackward) stored.end = start + sums.backward(first, last);
  }
  return storage;
}

// How many multiples of `period` from `time` on are not after `now`, less those of micro-batches before 0: differences
// of two such numbers count micro-batches.
int64_t RepeatsUntil(Picoseconds now, Picoseconds time, Picoseconds period) {
  const Picoseconds since = now - time;
  return since / period - (since % period < Picoseconds(0) ? 1 : 0);
}

}  // namespace

StageChain ChainOfStages(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs, const Plan& plan) {
  StageChain stages;
  std::vector<std::vector<OperatorId>> layers;
  for (const Stage& stage : plan.stages) {
    const auto layer = static_cast<int32_t>(layers.size());
    stages.allocation.push_back({layer, layer, static_cast<int32_t>(stage.replicas.front().device.index())});
    layers.push_back(stage.operators);
  }
  const Device& device = cluster.devices[plan.stages.front().replicas.front().device.index()];
  stages.chain = MakeChain(graph, cluster.interconnect, plan.problem, costs, device.device_class, layers);
  stages.devices.count = static_cast<int32_t>(cluster.devices.size());
  stages.devices.full_duplex = plan.problem.overlap == Overlap::kFullDuplex;
  return stages;
}

void CostPattern(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs,
                 const PeriodicPattern& pattern, Plan& plan) {
  PatternCosting(cluster, ChainOfStages(graph, cluster, costs, plan), pattern, plan).Run();
}

std::vector<int64_t> FixedBytes(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                                const ChainAllocation& allocation) {
  std::vector<int64_t> bytes(Index(devices.count), 0);
  std::vector<int64_t> workspace(Index(devices.count), 0);
  for (std::size_t stage = 0; stage < allocation.size(); ++stage) {
    const auto& [first, last, device] = allocation[stage];
    bytes[Index(device)] += sums.static_bytes(first, last);
    workspace[Index(device)] = std::max(workspace[Index(device)], sums.workspace_bytes(first, last));
    if (stage + 1 == allocation.size() || allocation[stage + 1].device == device) continue;
    bytes[Index(device)] += chain.cuts[Index(last)].buffer_bytes;
    bytes[Index(allocation[stage + 1].device)] += chain.cuts[Index(last)].buffer_bytes;
  }
  for (std::size_t device = 0; device < bytes.size(); ++device) bytes[device] += workspace[device];
  return bytes;
}

PatternMemory MemoryOf(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                       const ChainAllocation& allocation, const PeriodicPattern& pattern) {
  const std::vector<Storage> storage = StorageOf(chain, sums, allocation, pattern);
  const std::vector<int64_t> fixed = FixedBytes(chain, sums, devices, allocation);
  PatternMemory memory{fixed, std::vector<int32_t>(allocation.size(), 1)};
  // Where a micro-batch turns back, all stages of a device store it.
  for (const auto& [first, last, device] : allocation) {
    if (chain.has_backward) memory.peak_bytes[Index(device)] += sums.stored_bytes(first, last);
  }
  for (std::size_t starting = 0; starting < allocation.size(); ++starting) {
    const int32_t device = allocation[starting].device;
    const Picoseconds now = storage[starting].begin;
    int64_t bytes = fixed[Index(device)];
    for (std::size_t stage = 0; stage < allocation.size(); ++stage) {
      if (allocation[stage].device != device) continue;
      const int64_t stored = RepeatsUntil(now, storage[stage].begin, pattern.period) -
                             RepeatsUntil(now, storage[stage].end, pattern.period);
      memory.stored[stage] = std::max(memory.stored[stage], static_cast<int32_t>(stored));
      bytes += stored * sums.stored_bytes(allocation[stage].first_layer, allocation[stage].last_layer);
    }
    memory.peak_bytes[Index(device)] = std::max(memory.peak_bytes[Index(device)], bytes);
  }
  return memory;
}

}  // namespace planwright
