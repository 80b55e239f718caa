#include "core/partition/noncontiguous/net_tables.h"

#include <algorithm>

#include "core/base/index.h"

namespace planwright {

NetTables::NetTables(const NetInstance& instance)
    : instance_(&instance),
      num_groups_(instance.num_groups()),
      num_devices_(static_cast<int32_t>(instance.devices.size())) {
  AddNets();
  AddDevices();
}

void NetTables::AddNets() {
  std::vector<const NetCharge*> nets = Mapped(instance_->charges, [&](const NetCharge& charge) { return &charge; });
  const auto directed = std::stable_partition(
      nets.begin(), nets.end(), [](const NetCharge* net) { return net->producer == NetCharge::kAnyProducer; });
  num_nets_ = static_cast<int32_t>(nets.size());
  num_plain_nets_ = static_cast<int32_t>(directed - nets.begin());

  std::vector<std::vector<NetPin>> plain_pins(Index(num_groups_));
  std::vector<std::vector<int32_t>> directed_of(Index(num_groups_));
  std::vector<std::vector<int32_t>> nets_of(Index(num_groups_));
  std::vector<std::vector<int32_t>> groups_of;
  for (int32_t net = 0; net < num_nets_; ++net) {
    const NetCharge& charge = *nets[Index(net)];
    const auto size = static_cast<int32_t>(charge.groups.size());
    if (net < num_plain_nets_) {
      plain_weight_.push_back(charge.forward);
      plain_backward_weight_.push_back(charge.gradient);
    } else {
      directed_.push_back({charge.producer, size, charge.forward, charge.gradient, charge.late});
    }
    for (const int32_t group : charge.groups) {
      nets_of[Index(group)].push_back(net);
      if (net < num_plain_nets_) {
        plain_pins[Index(group)].push_back({net, size, charge.forward});
      } else {
        directed_of[Index(group)].push_back(net);
      }
    }
    groups_of.push_back(charge.groups);
    buffer_bytes_.push_back(charge.buffer_bytes);
  }
  plain_pins_ = Rows<NetPin>(plain_pins);
  directed_of_ = Rows<int32_t>(directed_of);
  nets_of_ = Rows<int32_t>(nets_of);
  groups_of_ = Rows<int32_t>(groups_of);
}

void NetTables::AddDevices() {
  const UnitMemory& memory = instance_->blocks.memory;
  const auto is_zero = [](int64_t bytes) { return bytes == 0; };
  memory_is_sum_ = std::all_of(memory.parameters.begin(), memory.parameters.end(), is_zero) &&
                   std::all_of(memory.workspace.begin(), memory.workspace.end(), is_zero) &&
                   std::all_of(buffer_bytes_.begin(), buffer_bytes_.end(), is_zero);
  for (const DevicePool& pool : instance_->blocks.pools) {
    times_.insert(times_.end(), pool.time.begin(), pool.time.end());
    backward_times_.insert(backward_times_.end(), pool.backward_time.begin(), pool.backward_time.end());
    memory_binds_ = memory_binds_ || MemoryCanBind(instance_->blocks, pool);
  }
  for (const NetDevice& device : instance_->devices) {
    const DevicePool& pool = instance_->blocks.pools[device.pool];
    pool_of_.push_back(device.pool);
    pays_.push_back(pool.pays_transfers ? 1 : 0);
    memory_limit_.push_back(pool.memory_bytes.value_or(kMaxQuantity));
    times_stored_.push_back(device.times_stored);
    memory_binds_ = memory_binds_ || (device.times_stored > 1 && pool.memory_bytes.has_value());
  }
  may_run_.reserve(instance_->may_run.size() * instance_->devices.size());
  for (const std::vector<bool>& row : instance_->may_run) {
    for (const bool may_run : row) may_run_.push_back(may_run ? 1 : 0);
  }
}

}  // namespace planwright
