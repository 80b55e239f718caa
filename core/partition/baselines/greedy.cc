// Baseline: fills one device after the other along a topological order (device-placement, section 7).
//
// MIN_LATENCY: as in the paper. Blocks are taken in topological order, of the free ones the first in the graph first;
// each accelerator takes as many as its memory holds, blocks too large for any accelerator and those that are left go
// to the CPUs. The paper leaves the order open and its program follows a hash table, so values differ where the order
// matters.
// MAX_THROUGHPUT: memory alone would put small graphs on one device, so accelerators are filled up to the least load
// for which all blocks find a place (GreedySplit).
#include <algorithm>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/partition/baselines/device_assignment.h"
#include "core/partition/baselines/proposals.h"
#include "core/partition/contiguous/linearized_dp.h"
#include "core/partition/search/block_instance.h"

namespace planwright {
namespace {

// The topological order that keeps as close to the order of the graph as it can.
std::vector<int32_t> GraphOrder(const BlockInstance& instance) {
  const auto follows = [&](int32_t a, int32_t b) {
    return instance.operators[Index(a)].front() > instance.operators[Index(b)].front();
  };
  std::priority_queue<int32_t, std::vector<int32_t>, decltype(follows)> free(follows);
  std::vector<std::size_t> missing(instance.operators.size());
  for (int32_t block = 0; block < instance.num_blocks(); ++block) {
    missing[Index(block)] = instance.precedence.predecessors(block).size();
    if (missing[Index(block)] == 0) free.push(block);
  }
  std::vector<int32_t> order;
  while (!free.empty()) {
    order.push_back(free.top());
    free.pop();
    for (const int32_t successor : instance.precedence.successors(order.back())) {
      if (--missing[Index(successor)] == 0) free.push(successor);
    }
  }
  return order;
}

// One accelerator after the other, each with its pool; CPUs left out.
std::vector<std::pair<DeviceId, const DevicePool*>> Accelerators(const Cluster& cluster,
                                                                 const BlockInstance& instance) {
  std::vector<std::pair<DeviceId, const DevicePool*>> accelerators;
  for (const DevicePool& pool : instance.pools) {
    if (cluster.device_classes[pool.device_class.index()].kind != DeviceKind::kAccelerator) continue;
    for (const DeviceId device : pool.devices) accelerators.emplace_back(device, &pool);
  }
  return accelerators;
}

std::optional<DeviceId> FirstCpu(const Cluster& cluster) {
  for (std::size_t i = 0; i < cluster.devices.size(); ++i) {
    if (cluster.class_of(DeviceId(i)).kind == DeviceKind::kCpu) return DeviceId(i);
  }
  return std::nullopt;
}

// Fills accelerators by memory; nullopt: blocks are left over and there is no CPU.
std::optional<std::vector<DeviceId>> FillByMemory(const Cluster& cluster, const BlockInstance& instance) {
  const auto accelerators = Accelerators(cluster, instance);
  const std::optional<DeviceId> cpu = FirstCpu(cluster);
  std::vector<DeviceId> device_of(instance.operators.size());
  std::size_t next = 0;
  MemorySums held;
  int64_t workspace = 0;
  bool is_open = false;
  const auto fits = [&](std::size_t block, const DevicePool& pool) {
    MemorySums sums = held;
    sums.Add(instance.memory, block);
    const int64_t largest = std::max(workspace, instance.memory.workspace[block]);
    return pool.supported[block] &&
           (!pool.memory_bytes.has_value() || sums.Total(instance.memory, 0, largest) <= *pool.memory_bytes);
  };
  for (const int32_t id : GraphOrder(instance)) {
    const std::size_t block = Index(id);
    if (is_open && !fits(block, *accelerators[next].second)) {
      ++next;
      is_open = false;
      held = {};
      workspace = 0;
    }
    if (next < accelerators.size() && fits(block, *accelerators[next].second)) {
      is_open = true;
      held.Add(instance.memory, block);
      workspace = std::max(workspace, instance.memory.workspace[block]);
      device_of[block] = accelerators[next].first;
    } else if (cpu.has_value()) {
      device_of[block] = *cpu;
    } else {
      return std::nullopt;
    }
  }
  return device_of;
}

std::vector<DeviceId> DevicesOf(const BlockInstance& instance, const BlockSplit& split) {
  std::vector<DeviceId> device_of(instance.operators.size());
  std::vector<std::size_t> used(instance.pools.size(), 0);
  for (const BlockSplit::Stage& stage : split.stages) {
    const DeviceId device = instance.pools[stage.pool].devices[used[stage.pool]++];
    for (const int32_t block : stage.blocks) device_of[Index(block)] = device;
  }
  return device_of;
}

}  // namespace

void ProposeGreedy(const SearchRequest& request, const SolveLimits& /*limits*/, TaskArena& /*arena*/,
                   Proposals& proposals) {
  const BlockInstance instance = BuildBlockInstance(request, MergeRule::kNever);
  std::optional<std::vector<DeviceId>> device_of;
  if (request.problem.objective == Objective::kMinLatency) {
    device_of = FillByMemory(request.cluster, instance);
  } else if (const auto split = GreedySplit(instance, FirstNumbers(instance.operators.size()), 0); split.has_value()) {
    device_of = DevicesOf(instance, *split);
  }
  if (device_of.has_value()) {
    proposals.Propose(PlacementOfBlocks(request, instance, *device_of));
  } else {
    proposals.Refuse("not every operator finds a device that has room for it and can run it");
  }
}

}  // namespace planwright
