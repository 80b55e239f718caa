// Lower bounds on the latency of every plan: each holds for any placement that the rules of the problem allow.
//
// Below, x <= y says that a path leads from x to y, or x = y.
//
// "critical_path": an operator finishes no earlier than its producers plus its own time on the fastest place that it
// may be on. The longest path is a bound. O(vertices + edges).
//
// "accelerator_work": suppose that a plan has latency T. An operator whose least head (longest path before it) + time
// on a CPU + least tail exceeds T is on no CPU. The accelerators run such operators one after the other, none before
// the least head of all or after T less the least tail, so the sum of their least times is at most (number of
// accelerators) x (T - least head - least tail). The least T for which that holds is a bound. O((vertices + edges) +
// vertices log).
//
// "path_cut": take a path v_1 ... v_L. A plan cuts it into operators on CPUs and *segments* v_i .. v_j that are in one
// subgraph, each subgraph met once, because the path cannot come back to it. Units on the path run one after the other,
// so the latency is at least the sum of their durations. Of the subgraph S of a segment more is known:
//   (1) it holds C = {x : v_i <= x <= v_j}: S would wait for itself if it left out an operator between two of its own;
//   (2) nothing x <= v_(i-1) is in S, else v_(i-1) would be between x and v_i; nor is anything >= v_(j+1). So S pays
//       the transfers of the tensors from an operator <= v_(i-1) into C, and of those from C to an operator >= v_(j+1);
//   (3) the memory of its accelerator holds all groups of C, each of which may be there.
// The sum over a cut is least for some cut with at most (accelerators x subgraph limit) segments of each pass: a
// dynamic program. Its value is a bound; the best of several paths is kept. O(paths x L x (vertices + tensor ends + L x
// segments)); a path that takes too many steps is given up.
//
// The critical path and the work bound are the usual ones for scheduling; the path cut is ours.
#ifndef PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_BOUNDS_H_
#define PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_BOUNDS_H_

#include <vector>

#include "core/base/limits.h"
#include "core/base/units.h"
#include "core/model/plan.h"
#include "core/partition/latency/latency_instance.h"

namespace planwright {

// Ascending by name of the method; those that the limits leave no time for are left out, as is what would take long
// where a bound reaches `enough`. REQUIRES: every group may be somewhere.
std::vector<Bound> LatencyBounds(const LatencyInstance& instance, const SolveLimits& limits,
                                 Picoseconds enough = Picoseconds::max());

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_BOUNDS_H_
