#include "core/partition/baselines/scotch_mapping.h"

// Scotch's header needs both before it.
#include <scotch/scotch.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/cost/transfer.h"
#include "core/partition/baselines/device_assignment.h"
#include "core/partition/block_instance.h"

namespace planwright {
namespace {

constexpr std::size_t kMaxBlocks = 50'000;
// Sums of weights must stay below the 2^31 of SCOTCH_Num.
constexpr int64_t kTotalWeight = int64_t{1} << 30U;

// `values` scaled down so that they add up to kTotalWeight at most, each at least `least`.
std::vector<SCOTCH_Num> Scaled(const std::vector<int64_t>& values, int64_t least) {
  const int64_t total = std::accumulate(values.begin(), values.end(), int64_t{0});
  const int64_t divisor = total / (kTotalWeight / 2) + 1;
  std::vector<SCOTCH_Num> scaled;
  scaled.reserve(values.size());
  for (const int64_t value : values) scaled.push_back(static_cast<SCOTCH_Num>(std::max(value / divisor, least)));
  return scaled;
}

// An undirected graph in Scotch's form: both directions of every edge.
struct ScotchArrays {
  std::vector<SCOTCH_Num> start{0};
  std::vector<SCOTCH_Num> ends;
  std::vector<SCOTCH_Num> vertex_weights;
  std::vector<SCOTCH_Num> edge_weights;
};

std::map<std::pair<int32_t, int32_t>, int64_t> TransferTimes(const SearchRequest& request,
                                                             const BlockInstance& instance) {
  std::vector<int32_t> block_of(request.graph.operators.size(), -1);
  for (int32_t block = 0; block < instance.num_blocks(); ++block) {
    for (const OperatorId op : instance.operators[Index(block)]) block_of[op.index()] = block;
  }
  std::map<std::pair<int32_t, int32_t>, int64_t> times;
  for (const Tensor& tensor : request.graph.tensors) {
    const int32_t producer = block_of[tensor.producer.index()];
    std::vector<int32_t> consumers;
    consumers.reserve(tensor.consumers.size());
    for (const OperatorId op : tensor.consumers) consumers.push_back(block_of[op.index()]);
    std::sort(consumers.begin(), consumers.end());
    consumers.erase(std::unique(consumers.begin(), consumers.end()), consumers.end());
    const int64_t time = TensorTransferTime(tensor, request.cluster.interconnect).count();
    for (const int32_t consumer : consumers) {
      if (producer < 0 || consumer < 0 || consumer == producer) continue;
      times[{producer, consumer}] += time;
      times[{consumer, producer}] += time;
    }
  }
  return times;
}

ScotchArrays MakeArrays(const SearchRequest& request, const BlockInstance& instance, const DevicePool& pool) {
  ScotchArrays arrays;
  arrays.vertex_weights = Scaled(pool.time, 0);
  std::vector<int64_t> weights;
  for (const auto& [edge, time] : TransferTimes(request, instance)) {
    while (arrays.start.size() <= Index(edge.first)) {
      arrays.start.push_back(static_cast<SCOTCH_Num>(arrays.ends.size()));
    }
    arrays.ends.push_back(edge.second);
    weights.push_back(time);
  }
  arrays.start.resize(instance.operators.size() + 1, static_cast<SCOTCH_Num>(arrays.ends.size()));
  arrays.edge_weights = Scaled(weights, 1);
  return arrays;
}

// The part of each vertex. Empty: Scotch failed.
std::vector<SCOTCH_Num> Partition(ScotchArrays& arrays, std::size_t parts, int64_t seed) {
  // Scotch keeps some of its state for the whole process.
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  const auto vertices = static_cast<SCOTCH_Num>(arrays.vertex_weights.size());
  std::vector<SCOTCH_Num> part_of(arrays.vertex_weights.size());
  SCOTCH_Context context;
  SCOTCH_Graph graph;
  SCOTCH_Graph bound;
  SCOTCH_Strat strategy;
  SCOTCH_contextInit(&context);
  SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1);
  SCOTCH_contextThreadSpawn(&context, 1, nullptr);
  SCOTCH_contextRandomClone(&context);
  SCOTCH_contextRandomSeed(&context, static_cast<SCOTCH_Num>(seed & 0x7fffffff));
  SCOTCH_contextRandomReset(&context);
  SCOTCH_graphInit(&graph);
  SCOTCH_graphInit(&bound);
  SCOTCH_stratInit(&strategy);
  const bool is_built =
      SCOTCH_graphBuild(&graph, 0, vertices, arrays.start.data(), arrays.start.data() + 1, arrays.vertex_weights.data(),
                        nullptr, static_cast<SCOTCH_Num>(arrays.ends.size()), arrays.ends.data(),
                        arrays.edge_weights.data()) == 0 &&
      SCOTCH_contextBindGraph(&context, &graph, &bound) == 0;
  const bool is_partitioned =
      is_built && SCOTCH_graphPart(&bound, static_cast<SCOTCH_Num>(parts), &strategy, part_of.data()) == 0;
  SCOTCH_stratExit(&strategy);
  if (is_built) SCOTCH_graphExit(&bound);
  SCOTCH_graphExit(&graph);
  SCOTCH_contextExit(&context);
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

void ProposeScotch(const SearchRequest& request, Proposals& proposals) {
  const BlockInstance instance =
      BuildBlockInstance(request.graph, request.cluster, request.problem, request.costs, MergeRule::kNever);
  if (instance.operators.empty()) return;
  if (instance.operators.size() > kMaxBlocks) {
    proposals.Refuse("the graph is too large for Scotch here");
    return;
  }
  const std::vector<DeviceId> devices = Parts(request.cluster, instance);
  ScotchArrays arrays = MakeArrays(request, instance, instance.pools.front());
  const std::vector<SCOTCH_Num> part_of = Partition(arrays, devices.size(), request.options.seed);
  if (part_of.empty()) {
    proposals.Refuse("Scotch found no partition");
    return;
  }
  std::vector<DeviceId> device_of;
  device_of.reserve(part_of.size());
  for (const SCOTCH_Num part : part_of) device_of.push_back(devices[Index(part)]);
  proposals.Propose(PlacementOfBlocks(request, instance, device_of));
}

}  // namespace planwright
