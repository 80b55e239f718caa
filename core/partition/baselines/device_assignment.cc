#include "core/partition/baselines/device_assignment.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/graph/topological_order.h"
#include "core/partition/baselines/subgraphs.h"
#include "core/partition/noncontiguous/virtual_devices.h"

namespace planwright {
namespace {

// One stage for each device in use, in pipeline order; by first block where there is none.
Placement StagePerDevice(const BlockInstance& instance, const std::vector<DeviceId>& device_of) {
  constexpr int32_t kNone = -1;
  Placement placement;
  std::vector<int32_t> stage_of_block;
  std::vector<int32_t> stage_of_device;
  stage_of_block.reserve(device_of.size());
  for (std::size_t block = 0; block < device_of.size(); ++block) {
    const DeviceId device = device_of[block];
    if (device.index() >= stage_of_device.size()) stage_of_device.resize(device.index() + 1, kNone);
    int32_t& stage = stage_of_device[device.index()];
    if (stage == kNone) {
      stage = static_cast<int32_t>(placement.stages.size());
      placement.stages.push_back({{}, {device}});
    }
    stage_of_block.push_back(stage);
    auto& operators = placement.stages[Index(stage)].operators;
    operators.insert(operators.end(), instance.operators[block].begin(), instance.operators[block].end());
  }
  std::vector<Digraph::Edge> edges;
  for (const auto& [from, to] : instance.precedence.edges()) {
    edges.emplace_back(stage_of_block[Index(from)], stage_of_block[Index(to)]);
  }
  const Digraph quotient(static_cast<int32_t>(placement.stages.size()), std::move(edges));
  const std::vector<int64_t> equal(placement.stages.size(), 0);
  const std::vector<int32_t> order = DepthFirstTopologicalOrder(quotient, equal);
  for (Placement::Stage& stage : placement.stages) std::sort(stage.operators.begin(), stage.operators.end());
  if (order.size() < placement.stages.size()) return placement;
  Placement ordered;
  for (const int32_t stage : order) ordered.stages.push_back(std::move(placement.stages[Index(stage)]));
  return ordered;
}

// The device of every operator; nullopt: the workload drops it.
std::vector<std::optional<DeviceId>> DevicesOfOperators(const OperatorGraph& graph, const BlockInstance& instance,
                                                        const std::vector<DeviceId>& device_of) {
  std::vector<std::optional<DeviceId>> devices(graph.operators.size());
  for (std::size_t block = 0; block < device_of.size(); ++block) {
    for (const OperatorId op : instance.operators[block]) devices[op.index()] = device_of[block];
  }
  return devices;
}

// Returns a device for each operator: any one where the workload drops it.
std::vector<DeviceId> DevicesOfAll(const OperatorGraph& graph, const BlockInstance& instance,
                                   const std::vector<DeviceId>& device_of) {
  std::vector<DeviceId> devices;
  devices.reserve(graph.operators.size());
  for (const std::optional<DeviceId>& device : DevicesOfOperators(graph, instance, device_of)) {
    devices.push_back(device.value_or(DeviceId(0)));
  }
  return devices;
}

}  // namespace

Placement PlacementOfBlocks(const SearchRequest& request, const BlockInstance& instance,
                            const std::vector<DeviceId>& device_of) {
  if (request.problem.objective == Objective::kMinLatency) {
    return CutIntoSubgraphs(request.graph, request.cluster, DevicesOfOperators(request.graph, instance, device_of));
  }
  if (request.problem.split == Split::kContiguous) return StagePerDevice(instance, device_of);
  return VirtualDevices(request.graph, request.problem).Cut(DevicesOfAll(request.graph, instance, device_of));
}

}  // namespace planwright
