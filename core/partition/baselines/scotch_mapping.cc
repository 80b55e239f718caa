// Baseline: k-way partitioning by Scotch (Pellegrini), as device-placement sections 6 and 7 run it.
//
// Scotch balances the times of the parts and minimises the sum of what crosses between them; it knows neither order nor
// memory nor what a device pays, so its parts are rarely contiguous and may not fit. Vertices are blocks with their
// time on accelerators, edges the transfer times between two blocks.
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/cost/terms/transfer.h"
#include "core/graph/operator_unions.h"
#include "core/graph/scotch_graph.h"
#include "core/partition/baselines/device_assignment.h"
#include "core/partition/baselines/proposals.h"
#include "core/partition/search/block_instance.h"

namespace planwright {
namespace {

constexpr std::size_t kMaxBlocks = 50'000;

std::map<std::pair<int32_t, int32_t>, int64_t> TransferTimes(const SearchRequest& request,
                                                             const BlockInstance& instance) {
  const std::vector<int32_t> block_of = GroupOfEach(instance.operators, request.graph.operators.size());
  std::map<std::pair<int32_t, int32_t>, int64_t> times;
  for (const Tensor& tensor : request.graph.tensors) {
    const int32_t producer = block_of[tensor.producer.index()];
    if (producer == kDropped) continue;
    const int64_t time = TensorTransferTime(tensor, request.cluster.interconnect).count();
    for (const int32_t consumer : OtherReaders(tensor, block_of)) {
      times[{producer, consumer}] += time;
      times[{consumer, producer}] += time;
    }
  }
  return times;
}

std::vector<ScotchGraph::Arc> Arcs(const SearchRequest& request, const BlockInstance& instance) {
  std::vector<ScotchGraph::Arc> arcs;
  for (const auto& [edge, time] : TransferTimes(request, instance)) arcs.push_back({edge.first, edge.second, time});
  return arcs;
}

// The part of each vertex. Empty: Scotch failed.
std::vector<SCOTCH_Num> Partition(ScotchGraph& graph, std::size_t parts) {
  if (graph.handle() == nullptr) return {};
  std::vector<SCOTCH_Num> part_of(graph.num_vertices());
  SCOTCH_Strat strategy;
  SCOTCH_stratInit(&strategy);
  const bool is_partitioned =
      SCOTCH_graphPart(graph.handle(), static_cast<SCOTCH_Num>(parts), &strategy, part_of.data()) == 0;
  SCOTCH_stratExit(&strategy);
  if (!is_partitioned) part_of.clear();
  return part_of;
}

// The accelerators; the CPUs where there are none. Parts are of equal time, so all count as if of the first class.
std::vector<DeviceId> Parts(const Cluster& cluster, const BlockInstance& instance) {
  const auto kind_of = [&](const DevicePool& pool) { return cluster.device_classes[pool.device_class.index()].kind; };
  std::vector<DeviceId> devices;
  for (const DevicePool& pool : instance.pools) {
    if (kind_of(pool) != kind_of(instance.pools.front())) continue;
    devices.insert(devices.end(), pool.devices.begin(), pool.devices.end());
  }
  return devices;
}

}  // namespace

bool HasScotch() { return true; }

void ProposeScotch(const SearchRequest& request, const SolveLimits& /*limits*/, TaskArena& /*arena*/,
                   Proposals& proposals) {
  const BlockInstance instance = BuildBlockInstance(request, MergeRule::kNever);
  if (instance.operators.empty()) return;
  if (instance.operators.size() > kMaxBlocks) {
    proposals.Refuse("the graph is too large for Scotch here");
    return;
  }
  const std::vector<DeviceId> devices = Parts(request.cluster, instance);
  ScotchSession session(request.options.seed);
  ScotchGraph graph(instance.pools.front().time, Arcs(request, instance), session);
  const std::vector<SCOTCH_Num> part_of = Partition(graph, devices.size());
  if (part_of.empty()) {
    proposals.Refuse("Scotch found no partition");
    return;
  }
  const std::vector<DeviceId> device_of = Mapped(part_of, [&](const SCOTCH_Num part) { return devices[Index(part)]; });
  proposals.Propose(PlacementOfBlocks(request, instance, device_of));
}

}  // namespace planwright
