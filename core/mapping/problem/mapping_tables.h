// What every search of a mapping instance reads.
#ifndef PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_TABLES_H_
#define PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/cost/terms/transfer.h"
#include "core/mapping/problem/mapping_instance.h"

namespace planwright {

// Transfer times between devices in the units of the mapping search: doubles, milliseconds.
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

// The devices that are connected best to each device. Immutable and thread-safe. Memory: at most kTableEntries entries
// of 4 bytes, or kFewest for each device.
class NearDevices {
 public:
  // Orders pairs by what `bytes` take there and back. Where the limits say stop, which is looked at for every device,
  // lists stay empty. Complexity O(D^2) for D devices, and the sort of the lists.
  NearDevices(const MappingInstance& instance, const LinkTimes& links, double bytes, const SolveLimits& limits,
              TaskArena& arena);

  // Fastest first, all that take part except the device itself, or as many as the memory allows. Devices that are
  // connected alike follow each other in the order of their distance id - device id, around the end, so that a list
  // that is cut short names others for every device.
  std::span<const DeviceId> Of(DeviceId device) const {
    return {near_.data() + device.index() * per_device_, count_of_[device.index()]};
  }

 private:
  static constexpr std::size_t kTableEntries = std::size_t{1} << 20U;
  static constexpr std::size_t kFewest = 256;

  void Fill(const MappingInstance& instance, const LinkTimes& links, double bytes, DeviceId here);

  std::size_t per_device_ = 0;
  std::vector<DeviceId> near_;
  std::vector<std::size_t> count_of_;
};

// Immutable and thread-safe; the instance outlives it.
class MappingTables {
 public:
  // Where the limits say stop, near() may lack lists.
  MappingTables(const MappingInstance& instance, const SolveLimits& limits, TaskArena& arena);
  // For an instance with another objective; what does not depend on it is shared.
  MappingTables(const MappingInstance& instance, const MappingTables& other);

  const MappingInstance& instance() const { return instance_; }
  const LinkTimes& links() const { return *links_; }
  const NearDevices& near() const { return *near_; }
  // Pairs of replicas that meet.
  std::size_t num_edges() const { return num_edges_; }
  const std::vector<ReplicaNeighbour>& neighbours(int32_t vertex) const { return neighbours_[Index(vertex)]; }
  // That take part, ascending.
  const std::vector<DeviceId>& devices() const { return devices_; }
  bool MayRun(int32_t stage, DeviceId device) const;

 private:
  const MappingInstance& instance_;
  std::shared_ptr<const LinkTimes> links_;
  std::shared_ptr<const NearDevices> near_;
  std::vector<std::vector<ReplicaNeighbour>> neighbours_;
  std::size_t num_edges_ = 0;
  std::vector<DeviceId> devices_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_TABLES_H_
