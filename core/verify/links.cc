#include "core/verify/links.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <variant>

namespace planwright {
namespace {

struct Edge {
  double bandwidth_bytes_per_second = 0;
  Picoseconds latency{0};
};

// The innermost level whose groups of devices hold both.
Edge EdgeOf(const HierarchyInterconnect& hierarchy, DeviceId a, DeviceId b) {
  std::size_t group_a = a.index();
  std::size_t group_b = b.index();
  for (const HierarchyInterconnect::Level& level : hierarchy.levels) {
    group_a /= static_cast<std::size_t>(level.fan_out);
    group_b /= static_cast<std::size_t>(level.fan_out);
    if (group_a == group_b) return {level.bandwidth_bytes_per_second, level.latency};
  }
  return {};
}

Edge EdgeOf(const Interconnect& interconnect, DeviceId a, DeviceId b) {
  if (const auto* hierarchy = std::get_if<HierarchyInterconnect>(&interconnect)) return EdgeOf(*hierarchy, a, b);
  if (const auto* host = std::get_if<HostStagedInterconnect>(&interconnect)) {
    return {host->bandwidth_bytes_per_second.value_or(0), host->latency};
  }
  const auto& uniform = std::get<UniformInterconnect>(interconnect);
  return {uniform.bandwidth_bytes_per_second.value_or(0), uniform.latency};
}

}  // namespace

Picoseconds TransferBetween(const Tensor& tensor, const Interconnect& interconnect, DeviceId a, DeviceId b) {
  const bool times_count = !std::holds_alternative<HierarchyInterconnect>(interconnect);
  if (times_count && tensor.transfer.has_value()) return *tensor.transfer;
  const Edge edge = EdgeOf(interconnect, a, b);
  return edge.latency + TransferTime(tensor.size_bytes, edge.bandwidth_bytes_per_second);
}

Picoseconds RingAllReduce(int64_t parameter_bytes, std::vector<DeviceId> replicas, const Interconnect& interconnect,
                          AllReduce::Factor factor) {
  const std::size_t count = replicas.size();
  if (count < 2) return Picoseconds(0);
  std::sort(replicas.begin(), replicas.end());
  Edge slowest{std::numeric_limits<double>::infinity(), Picoseconds(0)};
  for (std::size_t i = 0; i < count; ++i) {
    const Edge edge = EdgeOf(interconnect, replicas[i], replicas[(i + 1) % count]);
    slowest.bandwidth_bytes_per_second = std::min(slowest.bandwidth_bytes_per_second, edge.bandwidth_bytes_per_second);
    slowest.latency = std::max(slowest.latency, edge.latency);
  }
  const auto replica_count = static_cast<int64_t>(count);
  const int64_t steps = 2 * (replica_count - 1);
  const int64_t chunks = factor == AllReduce::Factor::kRing ? steps : steps / 2;
  return TransferTime(parameter_bytes, chunks, replica_count, slowest.bandwidth_bytes_per_second) +
         steps * slowest.latency;
}

}  // namespace planwright
