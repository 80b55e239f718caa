#include "core/partition/parmesan/uniform_links_problem.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/base/interruption.h"
#include "core/base/random.h"
#include "core/graph/graph_copy.h"
#include "core/partition/search/allowed_devices.h"

namespace planwright {
namespace {

constexpr std::size_t kMaxPairs = std::size_t{1} << 20U;

// How many of the pairs looked at are of each link class.
std::vector<std::size_t> CountPairs(const Network& network, std::size_t num_devices) {
  std::vector<std::size_t> counts(network.num_link_classes(), 0);
  if (num_devices * (num_devices - 1) <= kMaxPairs) {
    for (std::size_t from = 0; from < num_devices; ++from) {
      InterruptionPoint(/*units=*/4 * num_devices);
      for (std::size_t to = 0; to < num_devices; ++to) {
        if (from != to) ++counts[network.LinkClassOf(DeviceId(from), DeviceId(to))];
      }
    }
    return counts;
  }
  RandomStream random(1);
  for (std::size_t pair = 0; pair < kMaxPairs; ++pair) {
    InterruptionPoint(/*units=*/16);
    const std::size_t from = random.Below(num_devices);
    const std::size_t to = (from + 1 + random.Below(num_devices - 1)) % num_devices;
    ++counts[network.LinkClassOf(DeviceId(from), DeviceId(to))];
  }
  return counts;
}

// One tensor for each consumer.
std::vector<Tensor> WithOneConsumerEach(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> single;
  for (const Tensor& tensor : tensors) {
    InterruptionPoint(/*units=*/64 * tensor.consumers.size());
    for (const OperatorId consumer : tensor.consumers) {
      single.push_back(tensor);
      single.back().consumers = {consumer};
    }
  }
  return single;
}

OperatorGraph FlatGraph(const SearchRequest& request, ConsumerCharge charge) {
  OperatorGraph graph = WithPinsUnited(CopyOf(request.graph), request.problem);
  if (charge == ConsumerCharge::kPerOperator) graph.tensors = WithOneConsumerEach(graph.tensors);
  if (GivenTimesCount(request.cluster.interconnect)) return graph;
  for (Tensor& tensor : graph.tensors) tensor.transfer.reset();
  return graph;
}

LinkSpeed SpeedOf(const Network& network, std::size_t num_devices, AssumedSpeed assumed) {
  const bool takes_fastest = assumed == AssumedSpeed::kFastest && network.num_link_classes() > 0;
  return takes_fastest ? network.FastestLink() : MedianSpeed(network, num_devices);
}

Cluster FlatCluster(const SearchRequest& request, AssumedSpeed assumed) {
  Cluster cluster = request.cluster;
  const LinkSpeed speed = SpeedOf(request.costs.network(), cluster.devices.size(), assumed);
  cluster.interconnect = UniformInterconnect{speed.bandwidth_bytes_per_second, speed.latency};
  return cluster;
}

ResolvedProblem FlatPipeline(ResolvedProblem problem) {
  problem.replication = Replication::kNone;
  problem.schedule = ScheduleKind::kSteadyState;
  problem.micro_batches.reset();
  return problem;
}

}  // namespace

LinkSpeed MedianSpeed(const Network& network, std::size_t num_devices) {
  if (num_devices < 2 || network.num_link_classes() == 0) return {};
  const std::vector<std::size_t> counts = CountPairs(network, num_devices);
  std::vector<std::size_t> classes = FirstNumbers<std::size_t>(counts.size());
  std::stable_sort(classes.begin(), classes.end(), [&](std::size_t a, std::size_t b) {
    return network.speed(a).bandwidth_bytes_per_second < network.speed(b).bandwidth_bytes_per_second;
  });
  const std::size_t pairs = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  std::size_t slower = 0;
  for (const std::size_t link_class : classes) {
    slower += counts[link_class];
    if (2 * slower >= pairs) return network.speed(link_class);
  }
  return network.speed(classes.back());
}

UniformLinksProblem WithUniformLinks(const SearchRequest& request, ConsumerCharge charge, AssumedSpeed assumed) {
  OperatorGraph graph = FlatGraph(request, charge);
  Cluster cluster = FlatCluster(request, assumed);
  CostTable costs(graph, cluster, request.problem.workload);
  return {std::move(graph), std::move(cluster), FlatPipeline(request.problem), std::move(costs)};
}

}  // namespace planwright
