// Time of an operator from its arithmetic and memory traffic (docs/cost-model.md section 2).
//
// A kernel is bound by arithmetic or by memory, whichever takes longer, and starting it costs a fixed overhead.
// Source: Williams, Waterman, Patterson: Roofline: an insightful visual performance model, 2009.
#ifndef PLANWRIGHT_CORE_COST_TERMS_ROOFLINE_H_
#define PLANWRIGHT_CORE_COST_TERMS_ROOFLINE_H_

#include <cstdint>
#include <optional>

#include "core/base/units.h"
#include "core/model/cluster.h"

namespace planwright {

// 1000 x max(flops / (peak_flops x compute_efficiency), bytes / memory bandwidth) milliseconds, rounded to the nearest
// picosecond, + kernel_overhead. A number that is 0 takes no part.
// nullopt: `flops` and `bytes` are both 0, or the class lacks the speed that one of them needs.
// REQUIRES: flops finite and >= 0, bytes >= 0, a valid class.
std::optional<Picoseconds> RooflineTime(const DeviceClass& device_class, double flops, int64_t bytes);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_TERMS_ROOFLINE_H_
