// A graph of operators for stages whose replicas take micro-batches in turn, in whole picoseconds and bytes.
#ifndef PLANWRIGHT_CORE_JOINT_ROUNDROBIN_ROUND_ROBIN_INSTANCE_H_
#define PLANWRIGHT_CORE_JOINT_ROUNDROBIN_ROUND_ROBIN_INSTANCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// One operator on a rank of one tensor degree, of one micro-batch.
struct RoundRobinOperator {
  // What computing it again takes and leaves.
  struct Again {
    int64_t extra_ps = 0;
    int64_t kept_bytes = 0;
    int64_t workspace_bytes = 0;
  };

  int64_t forward_ps = 0;
  int64_t backward_ps = 0;
  // The parameters whose gradients the replicas reduce.
  int64_t parameter_bytes = 0;
  // For each micro-batch in flight.
  int64_t kept_bytes = 0;
  // However many are in flight: all copies of the parameters, of their gradients, what the optimizer keeps.
  int64_t versions_bytes = 0;
  int64_t gradients_bytes = 0;
  int64_t optimizer_bytes = 0;
  int64_t workspace_bytes = 0;
  std::optional<Again> again;

  int64_t time_ps() const { return forward_ps + backward_ps; }
  int64_t fixed_bytes() const { return versions_bytes + gradients_bytes + optimizer_bytes + workspace_bytes; }
};

// A tensor and one of its readers.
struct RoundRobinEdge {
  int32_t from = 0;
  int32_t to = 0;
};

// What an edge between stages carries at its ends, with what these gather and divide.
struct RoundRobinBytes {
  // Bytes where it is read, and where it is made.
  int64_t entering = 0;
  int64_t leaving = 0;
};

// Devices that have as much memory at least.
struct RoundRobinMemory {
  int64_t bytes = 0;
  int64_t devices = 0;
};

// So many sizes of memory are told apart; of more, those that are nearest to each other count as the least of them.
inline constexpr std::size_t kMostRoundRobinMemories = 4;

struct RoundRobinInstance {
  // Operators in the order of their names: positions in the graph.
  std::vector<OperatorId> ids;
  std::vector<int32_t> tensor_degrees;
  // By tensor degree and operator; nullopt: it cannot be in a stage of that degree.
  std::vector<std::vector<std::optional<RoundRobinOperator>>> operators;
  std::vector<RoundRobinEdge> edges;
  // By tensor degree and edge: what a stage of that degree pays for, each way and pass.
  std::vector<std::vector<RoundRobinBytes>> edge_bytes;
  // Divisors of the micro-batches that may be data degrees, ascending.
  std::vector<int32_t> data_degrees;
  int64_t micro_batches = 1;
  int64_t devices = 1;
  // The most bytes first; each has the devices of those before it as well, and the last one has all.
  std::vector<RoundRobinMemory> memories;
  // Some devices have more memory than `memories` says, so that other plans may fit.
  bool leaves_out_memory = false;
  // Of the device that has most.
  int64_t most_memory_bytes = 0;
  int64_t reserved_bytes = 0;
  int64_t bytes_per_second = 1;
  std::optional<int32_t> num_stages;

  std::size_t size() const { return ids.size(); }
};

// `problem` has joint settings resolved (ResolveOperatorJoint) with one size of micro-batches. `devices`: those that
// may be used, of one class. REQUIRES: no transformer; an interconnect that is uniform with a bandwidth.
RoundRobinInstance MakeRoundRobinInstance(const OperatorGraph& graph, const Cluster& cluster,
                                          const ResolvedProblem& problem, const std::vector<DeviceId>& devices);

// As if every device had the most memory: what is proven of that holds.
RoundRobinInstance WithMostMemory(RoundRobinInstance instance);

// Sums that leave what the search computes with, by where they are in a request; empty: none.
Violations WhatIsTooMuch(const RoundRobinInstance& instance);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_ROUNDROBIN_ROUND_ROBIN_INSTANCE_H_
