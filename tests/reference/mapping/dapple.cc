#include "tests/reference/mapping/dapple.h"

#include <algorithm>
#include <cstddef>

#include "core/base/ids.h"
#include "core/base/index.h"

namespace planwright {
namespace {

// What is left of a machine.
struct Machine {
  std::vector<DeviceId> free;
  bool is_fresh = true;
};

using Machines = std::vector<const Machine*>;

std::vector<DeviceId> OneAfterTheOther(const Machines& machines) {
  std::vector<DeviceId> devices;
  for (const Machine* machine : machines) devices.insert(devices.end(), machine->free.begin(), machine->free.end());
  return devices;
}

std::vector<DeviceId> InTurn(const Machines& machines) {
  std::size_t longest = 0;
  for (const Machine* machine : machines) longest = std::max(longest, machine->free.size());
  std::vector<DeviceId> devices;
  for (std::size_t i = 0; i < longest; ++i) {
    for (const Machine* machine : machines) {
      if (i < machine->free.size()) devices.push_back(machine->free[i]);
    }
  }
  return devices;
}

// All free devices in the order in which the next stage takes them.
std::vector<DeviceId> Order(const std::vector<Machine>& machines, DapplePolicy policy) {
  Machines fresh;
  Machines begun;
  for (const Machine& machine : machines) (machine.is_fresh ? fresh : begun).push_back(&machine);
  const auto arrange = policy == DapplePolicy::kScatterFirst ? InTurn : OneAfterTheOther;
  std::vector<DeviceId> devices = arrange(policy == DapplePolicy::kFreshFirst ? fresh : begun);
  const std::vector<DeviceId> rest = arrange(policy == DapplePolicy::kFreshFirst ? begun : fresh);
  devices.insert(devices.end(), rest.begin(), rest.end());
  return devices;
}

void Remove(DeviceId device, Machine& machine) {
  machine.free.erase(std::lower_bound(machine.free.begin(), machine.free.end(), device));
  machine.is_fresh = false;
}

}  // namespace

Mapping MapByDapple(const MappingInstance& instance, const KindAssignment& kinds,
                    const std::vector<int32_t>& machine_of, DapplePolicy policy) {
  std::vector<Machine> machines(Index(*std::max_element(machine_of.begin(), machine_of.end())) + 1);
  for (const DeviceId device : ParticipatingDevices(instance)) {
    machines[Index(machine_of[device.index()])].free.push_back(device);
  }
  Mapping mapping{.devices = std::vector<DeviceId>(instance.num_vertices()), .rings = RingsInReplicaOrder(instance)};
  std::vector<int32_t> room = kinds.replicas;
  for (int32_t stage = 0; stage < instance.num_stages(); ++stage) {
    int32_t replica = 0;
    for (const DeviceId device : Order(machines, policy)) {
      if (replica == instance.replicas.Of(stage)) break;
      int32_t& left = room[Index(stage) * Index(instance.num_kinds) + Index(instance.device_kind[device.index()])];
      if (left == 0) continue;
      --left;
      mapping.devices[instance.VertexOf(stage, replica++)] = device;
      Remove(device, machines[Index(machine_of[device.index()])]);
    }
  }
  return mapping;
}

}  // namespace planwright
