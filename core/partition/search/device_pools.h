// What devices offer to the units of a problem, whatever those are: single operators, or blocks of operators that must
// share a device.
#ifndef PLANWRIGHT_CORE_PARTITION_SEARCH_DEVICE_POOLS_H_
#define PLANWRIGHT_CORE_PARTITION_SEARCH_DEVICE_POOLS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/cost/terms/cost_table.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// The operators of each unit, ascending.
using UnitOperators = std::vector<std::vector<OperatorId>>;

struct DevicePool {
  DeviceClassId device_class;
  // nullopt: unlimited.
  std::optional<int64_t> memory_bytes;
  // Whether nets cost time on its devices.
  bool pays_transfers = true;
  // Ascending.
  std::vector<DeviceId> devices;
  // By unit: picoseconds, and whether every operator of the unit can run here. Where it cannot, the time is 0.
  std::vector<int64_t> time;
  std::vector<bool> supported;
  bool supports_all = true;
  // The part of `time` in the backward pass, by unit. Empty unless LoadRule::has_phases.
  std::vector<int64_t> backward_time;
};

// A pool for each pair of a class and a usable memory, those of accelerators first, then by first device. They say
// nothing of units yet.
std::vector<DevicePool> PoolsOf(const Cluster& cluster);

// Fills in what `pool` says of the units. O(operators).
void AddTimes(const CostTable& costs, const UnitOperators& units, bool has_phases, DevicePool& pool);

// Memory of a set of units that share a device:
//   sum(linear) + ceil(sum(parameters) x parameter_factor) + max(workspace) + sum of buffer_bytes of cut nets +
//   reserved.
struct UnitMemory {
  std::vector<int64_t> linear;
  std::vector<int64_t> parameters;
  std::vector<int64_t> workspace;
  double parameter_factor = 0;
  int64_t reserved = 0;
};

UnitMemory MemoryOf(const OperatorGraph& graph, const ResolvedProblem& problem, const UnitOperators& units);

// Running sums of UnitMemory over a set of units, and the memory that they make.
struct MemorySums {
  int64_t linear = 0;
  int64_t parameters = 0;

  static MemorySums Of(const UnitMemory& memory, std::size_t unit) {
    return {memory.linear[unit], memory.parameters[unit]};
  }
  MemorySums operator-(const MemorySums& other) const { return {linear - other.linear, parameters - other.parameters}; }
  void Add(const UnitMemory& memory, std::size_t unit) {
    linear += memory.linear[unit];
    parameters += memory.parameters[unit];
  }
  void Remove(const UnitMemory& memory, std::size_t unit) {
    linear -= memory.linear[unit];
    parameters -= memory.parameters[unit];
  }
  // Bytes with `buffers` of cut nets and the largest `workspace`.
  int64_t Total(const UnitMemory& memory, int64_t buffers, int64_t workspace) const;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEARCH_DEVICE_POOLS_H_
