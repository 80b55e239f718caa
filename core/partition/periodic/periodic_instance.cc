#include "core/partition/periodic/periodic_instance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/base/infeasibility.h"
#include "core/base/known.h"
#include "core/base/quantity_text.h"
#include "core/base/strings.h"
#include "core/cost/chain/chain_costs.h"
#include "core/cost/terms/sub_cluster.h"
#include "core/graph/operator_unions.h"
#include "core/model/colocation.h"
#include "core/partition/periodic/contiguous_optimum.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/feasibility.h"

namespace planwright {
namespace {

std::vector<DeviceId> Accelerators(const Cluster& cluster) {
  std::vector<DeviceId> devices;
  for (std::size_t i = 0; i < cluster.devices.size(); ++i) {
    if (cluster.class_of(DeviceId(i)).kind == DeviceKind::kAccelerator) devices.emplace_back(i);
  }
  return devices;
}

absl::Status NoAccelerators() {
  return InfeasibleError({{{"devices", "", 0, 0, "PERIODIC runs on accelerators, and there is none to use"}}, 0});
}

// The least memory of any of them, without the reserve; nullopt: all are unlimited.
std::optional<int64_t> LeastMemory(const Cluster& cluster, const std::vector<DeviceId>& devices, int64_t reserved) {
  std::optional<int64_t> least;
  for (const DeviceId device : devices) {
    const std::optional<int64_t> usable = UsableMemoryBytes(cluster, device);
    if (!usable.has_value()) continue;
    const int64_t bytes = std::max<int64_t>(0, *usable - reserved);
    least = std::min(least.value_or(bytes), bytes);
  }
  return least;
}

bool HaveEqualMemory(const Cluster& cluster, const std::vector<DeviceId>& devices) {
  return std::all_of(devices.begin(), devices.end(), [&](DeviceId device) {
    return UsableMemoryBytes(cluster, device) == UsableMemoryBytes(cluster, devices.front());
  });
}

void RaiseBounds(const BlockInstance& blocks, int32_t num_devices, PeriodicInstance& instance) {
  const std::vector<int64_t>& times = blocks.pools.front().time;
  const int64_t work = std::accumulate(times.begin(), times.end(), int64_t{0});
  instance.work_bound = Picoseconds(std::max<int64_t>(1, CeilDivide(work, num_devices)));
  instance.block_bound = Picoseconds(std::max<int64_t>(1, *std::max_element(times.begin(), times.end())));
}

// Whether the memory of a stage is that of its layers added up: the state of parameters is rounded once for each.
bool MemoryAddsUp(const ResolvedMemory& memory) {
  if (memory.kind == MemoryModel::Kind::kDeclared) return true;
  const double optimizer = memory.optimizer_bytes_per_parameter_byte;
  return optimizer == std::floor(optimizer);
}

std::vector<int64_t> OperatorTimes(const SearchRequest& request, DeviceClassId device_class) {
  return MappedNumbers(request.graph.operators.size(),
                       [&](std::size_t i) { return request.costs.time(OperatorId(i), device_class).total().count(); });
}

// Whether a tensor fixes the order of each layer and the next one: then nothing can change places.
bool IsPath(const OperatorGraph& graph, const ResolvedProblem& problem, const OperatorGroups& layers) {
  const std::vector<int32_t> layer_of = GroupOfEach(layers, graph.operators.size());
  std::vector<bool> is_linked(layers.size(), false);
  const std::vector<int32_t> unions = ColocationUnions(graph, problem);
  for (const auto& [before, after] : MapEdges(OrderedOperators(graph, unions, MirroredTensors::kAll), layer_of)) {
    if (after == before + 1) is_linked[Index(before)] = true;
  }
  return std::all_of(is_linked.begin(), is_linked.end() - 1, [](bool linked) { return linked; });
}

// `claim` is what does not fit, `advice` what may help beside more memory.
absl::Status LeftOver(const OperatorGraph& graph, const PeriodicInstance& instance, std::string_view claim,
                      std::string_view advice) {
  const MemoryShortage shortage = Known(ShortageOfContiguous(instance.chain, instance.devices));
  const std::vector<OperatorId>& layer = instance.layers[Index(shortage.layer)];
  const std::string& name = graph.operators[layer.front().index()].name;
  const int64_t missing = shortage.needed_bytes - shortage.available_bytes;
  return InfeasibleError(
      {{{"memory", name, shortage.needed_bytes, shortage.available_bytes,
         absl::StrCat(ToAbsl(claim), "with one stage on each of ", instance.devices.count,
                      " devices, and the stages behind it as long as memory allows, the least stage that begins with "
                      "operator \"",
                      name, "\" needs ", SizeText(shortage.needed_bytes), ", but a device offers ",
                      SizeText(shortage.available_bytes), ": ", MissingText(missing),
                      ". Use devices with more memory, ", ToAbsl(advice))}},
       0});
}

}  // namespace

absl::StatusOr<PeriodicInstance> BuildPeriodicInstance(const SearchRequest& request) {
  const OperatorGraph& graph = request.graph;
  const Cluster& cluster = request.cluster;
  const ResolvedProblem& problem = request.problem;
  PeriodicInstance instance;
  instance.device_ids = Accelerators(cluster);
  if (instance.device_ids.empty()) return NoAccelerators();
  const SubCluster part(cluster, instance.device_ids);
  // What must stay together; the pools are those of the accelerators.
  const BlockInstance blocks = BuildBlockInstance({graph, part.cluster(), problem, request.costs}, MergeRule::kNever);
  const std::optional<Infeasibility> shortages = FindShortages(graph, part.cluster(), blocks);
  if (shortages.has_value()) return InfeasibleError(*shortages);
  const auto num_devices = static_cast<int32_t>(instance.device_ids.size());
  RaiseBounds(blocks, num_devices, instance);

  const DeviceClassId device_class = cluster.devices[instance.device_ids.front().index()].device_class;
  instance.layers = LinearizeGraph(graph, problem, OperatorTimes(request, device_class), kMaxChainLayers);
  instance.chain = MakeChain(graph, cluster.interconnect, problem, request.costs, device_class, instance.layers);
  instance.devices = {std::min(num_devices, static_cast<int32_t>(instance.layers.size())),
                      LeastMemory(cluster, instance.device_ids, problem.memory_model.reserved_bytes),
                      problem.overlap == Overlap::kFullDuplex};
  instance.speaks_for_order = instance.layers.size() < kMaxChainLayers &&
                              HaveEqualMemory(cluster, instance.device_ids) && MemoryAddsUp(problem.memory_model);
  instance.is_only_order = instance.speaks_for_order && IsPath(graph, problem, instance.layers);
  return instance;
}

absl::Status NoStagesFit(const OperatorGraph& graph, const PeriodicInstance& instance) {
  return LeftOver(graph, instance, "no contiguous stages fit: ", "more of them, or NON_CONTIGUOUS");
}

absl::Status NothingFits(const OperatorGraph& graph, const PeriodicInstance& instance) {
  return LeftOver(graph, instance, "no stages fit, however devices share them: even ", "or more of them");
}

Placement PlacementOf(const PeriodicInstance& instance, const ChainAllocation& allocation, PeriodicPattern pattern) {
  Placement placement;
  for (const auto& [first, last, device] : allocation) {
    Placement::Stage& stage = placement.stages.emplace_back();
    stage.devices = {instance.device_ids[Index(device)]};
    for (int32_t layer = first; layer <= last; ++layer) {
      const std::vector<OperatorId>& operators = instance.layers[Index(layer)];
      stage.operators.insert(stage.operators.end(), operators.begin(), operators.end());
    }
  }
  placement.pattern = std::move(pattern);
  return placement;
}

}  // namespace planwright
