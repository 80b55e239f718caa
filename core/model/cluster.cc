#include "core/model/cluster.h"

#include <algorithm>
#include <array>

namespace planwright {

std::string InterconnectName(const Interconnect& interconnect) {
  static constexpr std::array<const char*, 7> kNames = {"host_staged", "uniform", "hierarchy", "grid",
                                                        "links",       "matrix",  "nodes"};
  return kNames[interconnect.index()];
}

std::optional<int64_t> UsableMemoryBytes(const Cluster& cluster, DeviceId device) {
  const std::optional<int64_t>& memory = cluster.class_of(device).memory_bytes;
  if (!memory.has_value()) return std::nullopt;
  return std::max<int64_t>(0, *memory - cluster.devices[device.index()].reserved_memory_bytes);
}

}  // namespace planwright
