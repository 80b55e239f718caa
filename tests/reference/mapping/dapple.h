// The three policies by which DAPPLE gives devices to stages, as baselines of the mapping searches.
//
// Stages choose one after the other, each all the devices of its replicas at once. A machine is *fresh* while no stage
// has a device of it:
//   fresh first    machines of its own, one after the other: the ring of a stage stays inside a machine
//   append first   machines that others have begun, then fresh ones: no machine is left half empty
//   scatter first  one device of each machine that others have begun, in turn, and of all machines while all are fresh:
//                  for stages with small weights
// DAPPLE's planner tries all three for each stage it splits off; here one policy serves all stages.
// Source: Fan et al., DAPPLE: a pipelined data parallel approach for training large models, PPoPP 2021, section 4.2.
#ifndef PLANWRIGHT_TESTS_REFERENCE_MAPPING_DAPPLE_H_
#define PLANWRIGHT_TESTS_REFERENCE_MAPPING_DAPPLE_H_

#include <cstdint>
#include <vector>

#include "core/mapping/problem/mapping_instance.h"
#include "core/mapping/problem/stage_kinds.h"

namespace planwright {

enum class DapplePolicy { kFreshFirst, kAppendFirst, kScatterFirst };

// Keeps to the kinds of device that `kinds` says; all rings run in the order of replicas. `machine_of`: by device, 0 or
// more. Complexity O(stages x devices).
Mapping MapByDapple(const MappingInstance& instance, const KindAssignment& kinds,
                    const std::vector<int32_t>& machine_of, DapplePolicy policy);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_REFERENCE_MAPPING_DAPPLE_H_
