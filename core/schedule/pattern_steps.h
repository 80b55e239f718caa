// What one micro-batch does on its way through a pipeline, step after step: F1 SF1 F2 .. FN BN .. SB1 B1.
//
// Each step waits for the one before; a device and a link do one step at a time. A periodic pattern says when each
// step starts (MadPipe, sections 3 and 4.1).
#ifndef PLANWRIGHT_CORE_SCHEDULE_PATTERN_STEPS_H_
#define PLANWRIGHT_CORE_SCHEDULE_PATTERN_STEPS_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/cost/chain/chain_costs.h"
#include "core/model/chain.h"
#include "core/model/periodic_pattern.h"

namespace planwright {

struct PatternStep {
  PatternOperation operation = PatternOperation::kForward;
  int32_t stage = 0;
  // Positions of devices, then one for each link in use: a pair of devices, with full duplex a pair and a direction.
  int32_t resource = 0;
  Picoseconds duration{0};
};

// The steps in their order. A cut between stages of different devices is sent, however short that takes; without
// backward passes the steps end with FN. O(stages^2). REQUIRES: the stages cover the chain in its order.
std::vector<PatternStep> PatternSteps(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                                      const ChainAllocation& allocation);

// The pattern in which micro-batch 0 starts its steps at `starts`. REQUIRES: starts.front() is in 0 .. period - 1, the
// others are later.
PeriodicPattern PatternOf(const std::vector<PatternStep>& steps, const std::vector<Picoseconds>& starts,
                          Picoseconds period);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_PATTERN_STEPS_H_
