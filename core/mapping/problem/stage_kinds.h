// Which kinds of device the replicas of each stage may take: an assignment problem without links, solved exactly.
//
// The replicas of a stage go to kinds that may run them within a limit of compute time, no kind holds more than it has
// devices: a flow from stages to kinds. The least limit with a full flow is the *bottleneck*: no mapping has a smaller
// largest compute time, and none exists where even an unlimited flow is not full.
#ifndef PLANWRIGHT_CORE_MAPPING_PROBLEM_STAGE_KINDS_H_
#define PLANWRIGHT_CORE_MAPPING_PROBLEM_STAGE_KINDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/mapping/problem/mapping_instance.h"

namespace planwright {

struct KindAssignment {
  // Replicas of stage s on kind k at s * num_kinds + k.
  std::vector<int32_t> replicas;
  // The largest compute time of any replica: the least possible.
  double bottleneck_ms = 0;
};

// nullopt: there is no mapping. Complexity O(log(S K) S^2 K), S stages, K kinds.
std::optional<KindAssignment> AssignKinds(const MappingInstance& instance);

// The devices of `order` handed out in turn to the vertices 0, 1, ...: each vertex takes the first device left whose
// kind its stage still has room on. `vertices`: which vertex chooses when.
// REQUIRES: `order` holds every device that takes part once, `vertices` every vertex once.
std::vector<DeviceId> HandOut(const MappingInstance& instance, const KindAssignment& kinds,
                              const std::vector<std::size_t>& vertices, const std::vector<DeviceId>& order);

// All devices that take part, ascending.
std::vector<DeviceId> ParticipatingDevices(const MappingInstance& instance);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROBLEM_STAGE_KINDS_H_
