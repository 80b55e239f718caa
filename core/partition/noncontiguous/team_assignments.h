// Assignments of groups to teams of devices (net_state.h), made at random, from placements, and into placements.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_TEAM_ASSIGNMENTS_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_TEAM_ASSIGNMENTS_H_

#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "core/model/problem.h"
#include "core/partition/noncontiguous/net_instance.h"
#include "core/partition/noncontiguous/net_state.h"
#include "core/partition/noncontiguous/net_tables.h"
#include "core/partition/noncontiguous/virtual_devices.h"

namespace planwright {

// NetAssignment::replicas: every other time all devices alone, else the devices of each pool in teams of random sizes.
std::vector<int32_t> RandomTeams(const NetTables& tables, RandomStream& random);

// Which team holds each group; the first replica of a stage leads. Empty: a team has devices of several pools, which
// the net form does not know. REQUIRES: `placement` is feasible. O(operators + devices).
NetAssignment AssignmentOf(const NetInstance& instance, const Placement& placement);

// The other way round: `stages` cuts along the devices that lead, and each stage is on all of its team: its leader and
// the first devices of the pool that are free.
Placement PlacementOfTeams(const NetInstance& instance, const VirtualDevices& stages, const NetAssignment& assignment);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_TEAM_ASSIGNMENTS_H_
