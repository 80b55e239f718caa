#include "core/partition/noncontiguous/team_assignments.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/index.h"

namespace planwright {
namespace {

// The team that each device leads, itself first; the others are the first of its pool that neither lead nor follow.
std::map<DeviceId, std::vector<DeviceId>> TeamsOf(const NetInstance& instance, const std::vector<int32_t>& replicas) {
  // By pool, the first one last.
  std::vector<std::vector<DeviceId>> free(instance.blocks.pools.size());
  for (std::size_t i = instance.devices.size(); i-- > 0;) {
    if (replicas[i] == 0) free[instance.devices[i].pool].push_back(instance.devices[i].device);
  }
  std::map<DeviceId, std::vector<DeviceId>> teams;
  for (std::size_t i = 0; i < instance.devices.size(); ++i) {
    std::vector<DeviceId>& team = teams[instance.devices[i].device];
    team.push_back(instance.devices[i].device);
    for (std::vector<DeviceId>& spare = free[instance.devices[i].pool]; std::cmp_less(team.size(), replicas[i]);) {
      team.push_back(spare.back());
      spare.pop_back();
    }
  }
  return teams;
}

// Counts the operators of the graph up to the last one that has a group.
std::size_t NumOperators(const NetInstance& instance) {
  std::size_t number = 0;
  for (const auto& operators : instance.blocks.operators) number = std::max(number, operators.back().index() + 1);
  return number;
}

}  // namespace

std::vector<int32_t> RandomTeams(const NetTables& tables, RandomStream& random) {
  std::vector<int32_t> replicas(Index(tables.num_devices()), 1);
  if (random.Below(2) == 0) return replicas;
  for (int32_t device = 0; device < tables.num_devices();) {
    int32_t end = device;
    while (end < tables.num_devices() && tables.pool_of(end) == tables.pool_of(device)) ++end;
    while (device < end) {
      const auto members = 1 + static_cast<int32_t>(random.Below(static_cast<uint64_t>(end - device)));
      replicas[Index(device)] = members;
      for (int32_t member = 1; member < members; ++member) replicas[Index(device + member)] = 0;
      device += members;
    }
  }
  return replicas;
}

NetAssignment AssignmentOf(const NetInstance& instance, const Placement& placement) {
  std::map<DeviceId, std::size_t> position_of;
  for (std::size_t i = 0; i < instance.devices.size(); ++i) position_of[instance.devices[i].device] = i;
  std::vector<std::size_t> leader_of(NumOperators(instance));
  NetAssignment assignment;
  assignment.replicas.assign(instance.devices.size(), 1);
  for (const Placement::Stage& stage : placement.stages) {
    const std::size_t leader = position_of.at(stage.devices.front());
    for (const DeviceId device : stage.devices) {
      const std::size_t position = position_of.at(device);
      if (instance.devices[position].pool != instance.devices[leader].pool) return {};
      assignment.replicas[position] = 0;
    }
    assignment.replicas[leader] = static_cast<int32_t>(stage.devices.size());
    for (const OperatorId op : stage.operators) {
      if (op.index() < leader_of.size()) leader_of[op.index()] = leader;
    }
  }
  for (const auto& operators : instance.blocks.operators) {
    assignment.device_of.push_back(static_cast<int32_t>(leader_of[operators.front().index()]));
  }
  return assignment;
}

Placement PlacementOfTeams(const NetInstance& instance, const VirtualDevices& stages, const NetAssignment& assignment) {
  std::vector<DeviceId> device_of(NumOperators(instance));
  for (std::size_t group = 0; group < assignment.device_of.size(); ++group) {
    const DeviceId device = instance.devices[Index(assignment.device_of[group])].device;
    for (const OperatorId op : instance.blocks.operators[group]) device_of[op.index()] = device;
  }
  Placement placement = stages.Cut(device_of);
  if (assignment.replicas.empty()) return placement;
  const std::map<DeviceId, std::vector<DeviceId>> teams = TeamsOf(instance, assignment.replicas);
  for (Placement::Stage& stage : placement.stages) stage.devices = teams.at(stage.devices.front());
  return placement;
}

}  // namespace planwright
