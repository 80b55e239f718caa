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
  // An end of a StageTraffic, seen from one of its stages.
  struct Neighbour {
    // Position in instance().traffic.
    int32_t traffic = 0;
    int32_t stage = 0;
    // This stage is `from`.
    bool sends_forward = false;
  };

  // Where the limits say stop, near() may lack lists.
  MappingTables(const MappingInstance& instance, const SolveLimits& limits, TaskArena& arena);
  // For an instance with another objective; what does not depend on it is shared.
  MappingTables(const MappingInstance& instance, const MappingTables& other);

  const MappingInstance& instance() const { return instance_; }
  const LinkTimes& links() const { return *links_; }
  const NearDevices& near() const { return *near_; }
  // Ascending by traffic.
  const std::vector<Neighbour>& neighbours(int32_t stage) const { return neighbours_[Index(stage)]; }
  // The devices that take part, ascending.
  const std::vector<DeviceId>& devices() const { return devices_; }
  bool MayRun(int32_t stage, DeviceId device) const;

 private:
  const MappingInstance& instance_;
  std::shared_ptr<const LinkTimes> links_;
  std::shared_ptr<const NearDevices> near_;
  std::vector<std::vector<Neighbour>> neighbours_;
  std::vector<DeviceId> devices_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROBLEM_MAPPING_TABLES_H_
