// What every search of a mapping instance reads.
#ifndef PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_TABLES_H_
#define PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/ids.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/mapping/problem/link_times.h"
#include "core/mapping/problem/mapping_instance.h"
#include "core/mapping/problem/near_devices.h"

namespace planwright {

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
