// What a request under PERIODIC looks like to searches on chains.
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_PERIODIC_INSTANCE_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_PERIODIC_INSTANCE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/graph/chain.h"
#include "core/model/chain.h"
#include "core/model/periodic_pattern.h"
#include "core/model/problem.h"
#include "core/partition/search/search.h"

namespace planwright {

struct PeriodicInstance {
  // Operators of each layer of the chain.
  OperatorGroups layers;
  Chain chain;
  // The accelerators, but no more than there are layers. Where some have less memory than others, as if all had the
  // least.
  ChainDevices devices;
  // By position among `devices`, and those that are left over.
  std::vector<DeviceId> device_ids;
  // What holds for allocations of this chain holds for every placement along its order: the chain was not shortened,
  // all devices have the same memory, and that of layers adds up without rounding.
  bool speaks_for_order = false;
  // The operators have no other order.
  bool is_only_order = false;
  // No plan takes less: the work divided among the devices, and the most that must stay together; at least 1 ps.
  Picoseconds work_bound{1};
  Picoseconds block_bound{1};
};

// Error: FAILED_PRECONDITION (InfeasibilityOf), where operators cannot run on the accelerators, or memory is too small
// for any plan. REQUIRES: the problem is PERIODIC. O((operators + tensor ends) log).
absl::StatusOr<PeriodicInstance> BuildPeriodicInstance(const SearchRequest& request);

// FAILED_PRECONDITION that says where contiguous stages do not fit in memory. REQUIRES: ContiguousOptimum finds none.
absl::Status NoStagesFit(const OperatorGraph& graph, const PeriodicInstance& instance);

// FAILED_PRECONDITION that says where no stages fit in memory, however devices share them. REQUIRES: a proof.
absl::Status NothingFits(const OperatorGraph& graph, const PeriodicInstance& instance);

// `allocation` of the chain as operators on devices of the cluster.
Placement PlacementOf(const PeriodicInstance& instance, const ChainAllocation& allocation, PeriodicPattern pattern);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_PERIODIC_INSTANCE_H_
