// The problem as the partitioner sees it: all pairs of devices connected alike.
//
// Which devices two stages get is decided after the stages (Parmesan, section 6), so until then every transfer takes
// what it takes over the median pair of the cluster, as in the paper, or over the fastest one: a good mapping gives
// most neighbours fast links, and stages that are made for slow ones are then worse balanced than they need be.
// Replicas are left out as well: all stages have the same number.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_UNIFORM_LINKS_PROBLEM_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_UNIFORM_LINKS_PROBLEM_H_

#include <cstddef>

#include "core/cost/terms/cost_table.h"
#include "core/cost/terms/transfer.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "core/partition/search/search.h"

namespace planwright {

// How a tensor with several consumers is charged.
enum class ConsumerCharge {
  // Once for each stage that consumes it.
  kPerStage,
  // Once for each operator that consumes it in another stage: equation (3) of the paper as it is written.
  kPerOperator
};

// The speed that all pairs of devices are given: the median of theirs, or the fastest.
enum class AssumedSpeed { kMedian, kFastest };

struct UniformLinksProblem {
  // Operators pinned to the same device share a stage.
  OperatorGraph graph;
  // The devices of the cluster, connected by a uniform interconnect.
  Cluster cluster;
  // Without replication, schedule and micro-batches.
  ResolvedProblem problem;
  CostTable costs;
};

// REQUIRES: the interconnect is not host_staged. O(graph + pairs looked at).
UniformLinksProblem WithUniformLinks(const SearchRequest& request, ConsumerCharge charge, AssumedSpeed assumed);

// The speed of the link whose bandwidth is the median over all ordered pairs of devices, or over a million of them,
// drawn from a fixed stream, where there are more. A link without bandwidth where there are no two devices.
LinkSpeed MedianSpeed(const Network& network, std::size_t num_devices);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_UNIFORM_LINKS_PROBLEM_H_
