// Branch and bound over placements, to prove that none has all loads at or below T.
//
// Groups are decided one after the other, the longest and those next to decided ones first: on one of the payers in
// use, on one more (payers are alike, so one stands for all that are empty), or elsewhere. A payer that holds A and
// must not hold what is decided otherwise spends at least the minimum cut around A, beside the times of A; with the
// times of undecided groups as the price of taking them along, its load is at least another minimum cut. A branch ends
// when a load is above T, or when what the payers must spend in sum leaves no room for the undecided groups
// (packing_bound.h). Decisions that agree with a cut leave it as it is, so most branches compute one or two flows.
//
// The relaxation with integral decisions is much tighter than the linear one, where every group is spread evenly over
// all payers and no transfer costs anything; what makes it fast is that few transfers fit into the spare time.
// Exponential in the worst case: it runs on a budget.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_LOAD_REFUTATION_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_LOAD_REFUTATION_H_

#include <cstdint>

#include "core/base/polling.h"
#include "core/partition/noncontiguous/certify/inseparable_groups.h"
#include "core/partition/noncontiguous/certify/load_relaxation.h"

namespace planwright {

// Tries to refute `max_load`. REQUIRES: as MergeInseparable. Memory: O(groups^2 x payers) bits, at most 128 MiB; where
// that is not enough, or there are more than 3,000 groups, groups are only merged.
RefutationVerdict RefuteMaxLoad(const LoadRelaxation& relaxation, int64_t max_load, StepBudget& budget, Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_LOAD_REFUTATION_H_
