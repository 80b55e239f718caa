// What a mapping costs: the one definition that every search and every bound of this folder means.
#ifndef PLANWRIGHT_CORE_MAPPING_PROBLEM_EVALUATION_H_
#define PLANWRIGHT_CORE_MAPPING_PROBLEM_EVALUATION_H_

#include <cstdint>
#include <vector>

#include "core/mapping/problem/mapping_instance.h"
#include "core/mapping/problem/mapping_tables.h"

namespace planwright {

struct MappingValue {
  // The value of the objective, weights included.
  double value_ms = 0;
  // Not weighted.
  double largest_load_ms = 0;
  double largest_compute_ms = 0;
  double largest_allreduce_ms = 0;

  bool operator==(const MappingValue&) const = default;
};

// What a replica of a stage does for one micro-batch.
struct MappedWork {
  double compute_ms = 0;
  double in_ms = 0;
  double out_ms = 0;

  double LoadMs(Overlap overlap) const;
};

// Times of one stage, for ValueOf: the largest compute and load of its replicas, and its all-reduce.
struct StageTimes {
  double compute_ms = 0;
  double load_ms = 0;
  double allreduce_ms = 0;
};

// By vertex. REQUIRES: `mapping` is one of `instance`. Complexity O(replicas that meet).
std::vector<MappedWork> WorkOfReplicas(const MappingInstance& instance, const LinkTimes& links, const Mapping& mapping);

// The least bandwidth and the greatest latency of the ring's links; 0 without replicas. `rings` and `devices` as in
// Mapping.
double AllReduceMs(const MappingInstance& instance, const LinkTimes& links, const Mapping& mapping, int32_t stage);

// The objective of these stages.
MappingValue ValueOf(const MappingInstance& instance, const std::vector<StageTimes>& stages);

// REQUIRES: `mapping` is one of `instance`.
MappingValue Evaluate(const MappingInstance& instance, const LinkTimes& links, const Mapping& mapping);
// As above; makes the LinkTimes first.
MappingValue Evaluate(const MappingInstance& instance, const Mapping& mapping);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROBLEM_EVALUATION_H_
