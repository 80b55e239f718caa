// The latency problem in the form that its searches, bounds and integer program work on (device-placement, section 4).
//
// Vertices are the operators that the workload keeps. A *group* is a colocation union: its vertices share a device, and
// the pool of all CPUs counts as one device. A *bundle* is what no subgraph may tear apart: a single vertex, or, with
// granularity LAYER, the vertices of one layer and pass. An accelerator runs at most `subgraph_limit` subgraphs of each
// pass, one after the other; a subgraph waits for its outside producers, then takes
//   the transfers of the tensors from outside + its compute time + the transfers of its tensors that leave it,
// and all its vertices finish at its end. On the pool a vertex starts as soon as its inputs are there.
//
// By the *net identity* a subgraph pays the transfer of exactly those tensors that it holds partly, producer and
// consumers taken together.
#ifndef PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_INSTANCE_H_
#define PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_INSTANCE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/cost/terms/cost_table.h"
#include "core/graph/digraph.h"
#include "core/model/graph.h"
#include "core/partition/search/device_pools.h"

namespace planwright {

struct LatencyTensor {
  // Producer and consumers, distinct; the producer comes first. At least two.
  std::vector<int32_t> pins;
  // Picoseconds that a subgraph pays which holds the tensor partly.
  int64_t transfer = 0;
  // Bytes of buffers of such a subgraph (memory model COMPONENTS; 0 under DECLARED).
  int64_t buffer_bytes = 0;
};

struct LatencyAccelerator {
  DeviceId device;
  // Position in LatencyInstance::pools.
  std::size_t pool = 0;
};

// A CPU whose memory is limited.
struct LatencyCpuLimit {
  DeviceId device;
  int64_t memory_bytes = 0;
};

struct LatencyInstance {
  std::vector<OperatorId> operators;
  std::vector<Pass> pass;
  // An edge for every producer and consumer; acyclic.
  Digraph precedence;
  std::vector<LatencyTensor> tensors;
  // Positions in `tensors` of the tensors of each vertex, ascending.
  std::vector<std::vector<int32_t>> tensors_of;

  // Ascending vertices; groups and bundles are numbered by their first vertex.
  std::vector<std::vector<int32_t>> groups;
  std::vector<int32_t> group_of;
  std::vector<std::vector<int32_t>> bundles;
  std::vector<int32_t> bundle_of;

  // The pools of accelerators; units are vertices.
  std::vector<DevicePool> pools;
  // In cluster order.
  std::vector<LatencyAccelerator> accelerators;
  // By group, then accelerator: support, pins and prohibitions allow it there.
  std::vector<std::vector<bool>> allowed;
  // By group: every vertex has a CPU that may run it.
  std::vector<bool> allowed_on_cpu;
  // By vertex: the CPU that runs it fastest, the first of equals, or the one it is pinned to; its time there.
  // Meaningless where the group is not allowed.
  std::vector<DeviceId> cpu_of;
  std::vector<int64_t> cpu_time;
  std::vector<LatencyCpuLimit> cpu_limits;

  // The memory of one subgraph, with the buffers of the tensors that it holds partly. An accelerator needs the sum over
  // its subgraphs.
  UnitMemory memory;
  // DECLARED: only UnitMemory::linear counts.
  bool memory_is_declared = true;

  // Passes that occur: 1, or 2 with BACKWARD operators.
  int32_t num_passes = 1;
  // Subgraphs that an accelerator may run in each pass; nullopt: any number.
  std::optional<int32_t> subgraph_limit;

  int32_t num_vertices() const { return static_cast<int32_t>(operators.size()); }
  int32_t num_groups() const { return static_cast<int32_t>(groups.size()); }
  int32_t num_accelerators() const { return static_cast<int32_t>(accelerators.size()); }
  const DevicePool& pool_of(int32_t accelerator) const {
    return pools[accelerators[static_cast<std::size_t>(accelerator)].pool];
  }
};

// REQUIRES: graph, cluster and problem are valid and supported; host_staged.
// O((operators + tensor ends) log + groups x devices + operators x classes).
LatencyInstance BuildLatencyInstance(const PlanningInput& input);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_INSTANCE_H_
