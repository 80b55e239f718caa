// Proven lower bounds on the max load of non-contiguous splits, cheapest first.
//
//   "packing"           the groups fit into the devices only above it, whatever transfers cost (packing_bound.h);
//   "min_cut"           what must share a device does not fit below it (inseparable_groups.h);
//   "branch_and_bound"  no placement exists below it (load_refutation.h);
//   "configurations"    no mixture of sets that fit below it covers all groups (configuration_bound.h).
// All are *destructive*: a max load T is refuted, hence the optimum is at least T + 1 ps. Targets lie between the bound
// so far and the incumbent; a target that resists its share of the work is given up for a lower one, and tried again
// with four times the share once nothing else is left. Of the last two methods the one that raised the bound more in
// the last round goes first, and alone where it did much more, until it is stuck.
//
// The bounds hold for every placement that `evaluate` accepts, contiguous or not, for each interconnect whose transfers
// cost at least the pay-once nets of the instance, and for GPIPE's objective, which is never below the max load. Under
// OVERLAPPED and FULL_DUPLEX a device is never busy for less than its computation, nor for less than a half, or a
// third, of all that SERIAL adds up; both are refuted apart.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_CERTIFICATES_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_CERTIFICATES_H_

#include <cstdint>
#include <functional>

#include "core/base/limits.h"
#include "core/base/units.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/partition/search/block_instance.h"

namespace planwright {

// Raises the bound on the max load of `blocks` (its precedence is ignored) until it meets `incumbent`, the gap is at
// most `relative_gap`, `limits.work` is spent, or the limits say stop. `on_bound`: each better bound, scope PROBLEM.
// Returns the work done: thousands of arcs that minimum cuts look at, some 10 us each. The same for every run that
// the clock does not end. Overshoots the limits by a few milliseconds at most. REQUIRES: every group has a device that
// can run it; no replication.
int64_t CertifyMaxLoad(const BlockInstance& blocks, Overlap overlap, Picoseconds incumbent, double relative_gap,
                       const SolveLimits& limits, const std::function<void(const Bound&)>& on_bound);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_CERTIFICATES_H_
