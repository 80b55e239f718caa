#include "core/partition/search/device_pools.h"

#include <map>
#include <utility>

#include "core/base/interruption.h"
#include "core/cost/terms/memory_form.h"
#include "core/cost/terms/transfer.h"

namespace planwright {

std::vector<DevicePool> PoolsOf(const Cluster& cluster) {
  const TransferRules rules = RulesOf(cluster.interconnect);
  std::map<std::pair<DeviceClassId, std::optional<int64_t>>, std::size_t> position;
  std::vector<DevicePool> pools;
  for (const DeviceKind kind : {DeviceKind::kAccelerator, DeviceKind::kCpu}) {
    for (std::size_t i = 0; i < cluster.devices.size(); ++i) {
      const DeviceId device(i);
      if (cluster.class_of(device).kind != kind) continue;
      const std::optional<int64_t> memory = UsableMemoryBytes(cluster, device);
      const DeviceClassId device_class = cluster.devices[i].device_class;
      const auto [entry, is_new] = position.try_emplace({device_class, memory}, pools.size());
      if (is_new) {
        DevicePool& pool = pools.emplace_back();
        pool.device_class = device_class;
        pool.memory_bytes = memory;
        pool.pays_transfers = kind == DeviceKind::kAccelerator || rules.cpus_pay;
      }
      pools[entry->second].devices.push_back(device);
    }
  }
  return pools;
}

void AddTimes(const CostTable& costs, const UnitOperators& units, bool has_phases, DevicePool& pool) {
  pool.time.assign(units.size(), 0);
  pool.supported.assign(units.size(), true);
  if (has_phases) pool.backward_time.assign(units.size(), 0);
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    InterruptionPoint(2 * units[unit].size());
    for (const OperatorId op : units[unit]) {
      const OperatorTime& time = costs.time(op, pool.device_class);
      pool.time[unit] += time.total().count();
      if (has_phases) pool.backward_time[unit] += time.backward.count();
      if (!time.supported) pool.supported[unit] = false;
    }
    if (pool.supported[unit]) continue;
    pool.time[unit] = 0;
    if (has_phases) pool.backward_time[unit] = 0;
    pool.supports_all = false;
  }
}

UnitMemory MemoryOf(const OperatorGraph& graph, const ResolvedProblem& problem, const UnitOperators& units) {
  const MemoryForm form(problem);
  UnitMemory memory{.linear = {},
                    .parameters = {},
                    .workspace = {},
                    .parameter_factor = form.copies(),
                    .reserved = form.reserved_bytes()};
  for (const std::vector<OperatorId>& operators : units) {
    const MemoryParts parts = form.PartsOf(graph, operators);
    memory.linear.push_back(parts.declared + parts.stored);
    memory.parameters.push_back(parts.parameters);
    memory.workspace.push_back(parts.workspace);
  }
  return memory;
}

int64_t MemorySums::Total(const UnitMemory& memory, int64_t buffers, int64_t workspace) const {
  return linear + ParameterStateBytes(parameters, memory.parameter_factor) + workspace + buffers + memory.reserved;
}

}  // namespace planwright
