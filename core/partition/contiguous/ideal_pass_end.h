// Targets of a search by passes of a dynamic program over ideals, and how one pass ends.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEAL_PASS_END_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEAL_PASS_END_H_

#include <cstdint>

#include "core/base/limits.h"
#include "core/partition/contiguous/ideal_dp.h"
#include "core/partition/contiguous/ideals/ideal_enumeration.h"

namespace planwright {

// The first target lies this share of the gap above the bound; each refuted one makes the next step so much longer.
inline constexpr int64_t kFirstStepShare = 16;
inline constexpr int64_t kStepGrowth = 4;

// Whether a split within the target exists; or why the pass could not tell.
enum class PassEnd { kReached, kRefuted, kWorkLimit, kInterrupted, kTooManyIdeals, kTooMuchMemory };

// kReached: the table is complete.
inline PassEnd EndOfEnumeration(EnumerationEnd end) {
  switch (end) {
    case EnumerationEnd::kTooMany:
      return PassEnd::kTooManyIdeals;
    case EnumerationEnd::kTooLarge:
      return PassEnd::kTooMuchMemory;
    case EnumerationEnd::kInterrupted:
      return PassEnd::kInterrupted;
    default:
      return PassEnd::kReached;
  }
}

// How a search ends whose pass could not tell. REQUIRES: neither kReached nor kRefuted.
inline IdealDpEnd EndOfSearch(PassEnd end, const SolveLimits& limits) {
  switch (end) {
    case PassEnd::kTooManyIdeals:
      return IdealDpEnd::kTooManyIdeals;
    case PassEnd::kTooMuchMemory:
      return IdealDpEnd::kTooMuchMemory;
    case PassEnd::kWorkLimit:
      return IdealDpEnd::kWorkLimit;
    default:
      return limits.stop.stop_requested() ? IdealDpEnd::kCancelled : IdealDpEnd::kDeadline;
  }
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_IDEAL_PASS_END_H_
