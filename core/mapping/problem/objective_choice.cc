#include "core/mapping/problem/objective_choice.h"

namespace planwright {

MappingObjective ChooseObjective(const MappingInstance& instance) {
  if (!instance.HasRings()) return MappingObjective::kLoad;
  double ring_bytes = 0;
  for (const double bytes : instance.allreduce_bytes) ring_bytes += bytes;
  double traffic_bytes = 0;
  for (const StageTraffic& traffic : instance.traffic) traffic_bytes += traffic.forward_bytes + traffic.backward_bytes;
  return ring_bytes > traffic_bytes ? MappingObjective::kAllReduce : MappingObjective::kLoad;
}

}  // namespace planwright
