// What every placement with all loads at or below T must do with pairs of groups.
//
// If every device that holds group a but not group b has a load above T, and a cannot run elsewhere, then a and b are
// on one device. Likewise if what the cut between them
// costs in sum, on one payer at least, or on two where neither can run elsewhere, is more than the payers can spare
// beyond their work. Others count as one device: what runs there is together. A group that overloads a payer even in
// the best company must run elsewhere. Merged groups are larger, so this is repeated until nothing changes.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_INSEPARABLE_GROUPS_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_INSEPARABLE_GROUPS_H_

#include <cstdint>

#include "core/base/polling.h"
#include "core/partition/noncontiguous/certify/load_relaxation.h"

namespace planwright {

enum class RefutationVerdict {
  // No placement has all loads at or below T.
  kRefuted,
  // Not known; in a finished search: the relaxation allows it.
  kOpen,
  // The work or the clock ended it.
  kStopped,
};

// Work in steps: arcs that minimum cuts look at.
struct StepBudget {
  int64_t left = 0;
};

// Merges what every placement with loads of at most `max_load` keeps together and strikes out payers for what none of
// them can run. REQUIRES: the times and weights of `relaxation` sum up to less than kMaxQuantity / 2.
// O(rounds x pairs of neighbours) minimum cuts.
RefutationVerdict MergeInseparable(LoadRelaxation& relaxation, int64_t max_load, StepBudget& budget, Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_INSEPARABLE_GROUPS_H_
