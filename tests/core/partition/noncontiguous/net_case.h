// Random non-contiguous problems in net form, for the tests of what works on it.
#ifndef PLANWRIGHT_TESTS_CORE_PARTITION_NONCONTIGUOUS_NET_CASE_H_
#define PLANWRIGHT_TESTS_CORE_PARTITION_NONCONTIGUOUS_NET_CASE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "core/cost/terms/cost_table.h"
#include "core/partition/noncontiguous/net_instance.h"
#include "core/partition/noncontiguous/net_state.h"
#include "core/partition/noncontiguous/net_tables.h"
#include "tests/support/random_instance.h"

namespace planwright {

// Problem number `seed` of at most `max_operators` operators: every overlap, with and without GPIPE, both
// granularities, both interconnects and memory models; replication, or some pins and bans.
struct NetCase {
  explicit NetCase(uint64_t seed, int max_operators = 16);

  // A device for each group, by position in net.devices, that may run it and, with replication, leads a random team;
  // nullopt: some group has none.
  std::optional<NetAssignment> RandomAssignment(RandomStream& random) const;
  // The placement, cut into stages.
  Placement PlacementOf(const NetAssignment& assignment) const;

  Instance instance;
  ResolvedProblem problem;
  CostTable costs;
  NetInstance net;
  NetTables tables;
};

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_PARTITION_NONCONTIGUOUS_NET_CASE_H_
