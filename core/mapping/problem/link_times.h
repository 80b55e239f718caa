// Transfer times between devices in the units of the mapping search: doubles, milliseconds.
#ifndef PLANWRIGHT_CORE_MAPPING_PROBLEM_LINK_TIMES_H_
#define PLANWRIGHT_CORE_MAPPING_PROBLEM_LINK_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/cost/terms/transfer.h"

namespace planwright {

// What a transfer over a link costs.
struct LinkTime {
  // 0 where the network gives no bandwidth: transfers have times of their own there, alike for all pairs.
  double ms_per_byte = 0;
  double latency_ms = 0;

  double Of(double bytes, double transfers) const { return bytes * ms_per_byte + transfers * latency_ms; }
};

// Immutable and thread-safe. Up to kTabledDevices the classes of all pairs are kept in a table; beyond, the network
// computes them or has its own. The network outlives it.
class LinkTimes {
 public:
  // Complexity O(classes), up to kTabledDevices O(devices^2).
  LinkTimes(const Network& network, std::size_t num_devices);

  // From a to b. REQUIRES: a != b.
  const LinkTime& Between(DeviceId a, DeviceId b) const { return times_[ClassOf(a, b)]; }
  std::size_t ClassOf(DeviceId a, DeviceId b) const {
    return classes_.empty() ? network_.LinkClassOf(a, b) : classes_[a.index() * num_devices_ + b.index()];
  }
  // Whether both directions of every pair are known to be alike.
  bool is_symmetric() const { return is_symmetric_; }
  // By link class.
  const std::vector<LinkTime>& times() const { return times_; }

 private:
  // 4 MiB of table.
  static constexpr std::size_t kTabledDevices = 1024;

  const Network& network_;
  std::size_t num_devices_;
  std::vector<LinkTime> times_;
  std::vector<uint32_t> classes_;
  bool is_symmetric_ = false;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROBLEM_LINK_TIMES_H_
