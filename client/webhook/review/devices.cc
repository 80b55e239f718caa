#include "client/webhook/review/devices.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planwright::webhook {
namespace {

// As planwrightd limits clusters by default.
constexpr int64_t kMaxDevices = 16384;

// Units within units, with the same number of children everywhere.
struct Tier {
  int64_t fan_out = 1;
  PoolLink link;
};

int64_t LargestDivisor(int64_t number, int64_t limit) {
  for (int64_t divisor = std::min(number, limit); divisor > 1; --divisor) {
    if (number % divisor == 0) return divisor;
  }
  return 1;
}

std::vector<Tier> TiersOf(const Demand& demand, const Pool& pool) {
  std::vector<Tier> tiers = {{demand.devices_per_pod, pool.inside}};
  const std::vector<int64_t> together = PodsTogether(demand, pool);
  int64_t inner = 1;
  for (std::size_t level = 0; level < together.size(); ++level) {
    tiers.push_back({together[level] / inner, pool.levels[level].link});
    inner = together[level];
  }
  std::erase_if(tiers, [](const Tier& tier) { return tier.fan_out == 1; });
  return tiers;
}

// Several searches take uniform interconnects only, so one tier is no hierarchy.
v1::Interconnect InterconnectOf(const std::vector<Tier>& tiers, const PoolLink& of_one_device) {
  v1::Interconnect interconnect;
  if (tiers.size() <= 1) {
    const PoolLink& link = tiers.empty() ? of_one_device : tiers.front().link;
    interconnect.mutable_uniform()->set_bandwidth_bytes_per_second(link.bytes_per_second);
    interconnect.mutable_uniform()->set_latency_ms(link.latency_ms);
    return interconnect;
  }
  for (const Tier& tier : tiers) {
    v1::Interconnect::Hierarchy::Level& level = *interconnect.mutable_hierarchy()->add_levels();
    level.set_fan_out(static_cast<int32_t>(tier.fan_out));
    level.set_bandwidth_bytes_per_second(tier.link.bytes_per_second);
    level.set_latency_ms(tier.link.latency_ms);
  }
  return interconnect;
}

}  // namespace

absl::StatusOr<Demand> DemandOf(const JobShape& job, const std::string& resource) {
  Demand demand;
  for (const PodSet& set : job.sets) {
    const auto devices = AcceleratorsOf(set, resource);
    if (!devices.ok()) return devices.status();
    if (*devices == 0 || set.pods == 0) continue;
    if (!demand.sets.empty() && *devices != demand.devices_per_pod) {
      return absl::InvalidArgumentError(
          absl::StrCat("templates ask for different numbers of ", resource, ", which is not judged"));
    }
    demand.devices_per_pod = *devices;
    demand.pods += std::min(set.pods, kMaxDevices + 1);
    if (demand.pods > kMaxDevices || demand.devices_per_pod > kMaxDevices || demand.devices() > kMaxDevices) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxDevices, " ", resource, " are not judged"));
    }
    demand.sets.push_back(&set);
  }
  if (demand.sets.empty()) return absl::InvalidArgumentError(absl::StrCat("no pod asks for ", resource));
  return demand;
}

int64_t PodsOfNodes(const Demand& demand, const Pool& pool, int64_t nodes) {
  return nodes * (pool.devices_per_node / demand.devices_per_pod);
}

std::vector<int64_t> PodsTogether(const Demand& demand, const Pool& pool) {
  std::vector<int64_t> together;
  int64_t outside = demand.pods;
  for (std::size_t level = pool.levels.size(); level-- > 0;) {
    const bool spans_pool = level + 1 == pool.levels.size();
    if (!spans_pool) outside = LargestDivisor(outside, PodsOfNodes(demand, pool, pool.levels[level].nodes));
    together.insert(together.begin(), outside);
  }
  return together;
}

v1::Cluster ClusterFor(const Demand& demand, const Pool& pool) {
  v1::Cluster cluster;
  v1::DeviceClass& device_class = *cluster.add_device_classes();
  device_class = pool.device_class;
  if (device_class.has_memory_bytes()) {
    device_class.set_memory_bytes(std::max<int64_t>(0, device_class.memory_bytes() - pool.reserved_memory_bytes));
  }
  v1::DeviceGroup& group = *cluster.add_device_groups();
  group.set_name_prefix(kDevicePrefix);
  group.set_device_class(device_class.name());
  group.set_count(static_cast<int32_t>(demand.devices()));
  for (int64_t pod = 0; pod < demand.pods; ++pod) group.add_hosts(absl::StrCat("pod", pod));
  *cluster.mutable_interconnect() = InterconnectOf(TiersOf(demand, pool), pool.levels.back().link);
  return cluster;
}

}  // namespace planwright::webhook
