// Bisection for the least period at which something is possible, where a longer period never makes it impossible.
#ifndef PLANWRIGHT_CORE_SCHEDULE_LEAST_PERIOD_H_
#define PLANWRIGHT_CORE_SCHEDULE_LEAST_PERIOD_H_

#include <optional>

#include "core/base/units.h"

namespace planwright {

// The least whole period in low .. high at which `probe` succeeds; nullopt: not even at `high`. `probe(period)` gives
// nullopt where it is not possible, else a period of at most that at which it is possible as well, so that a probe that
// finds something better saves steps. The ends are tried first: the lower one is often the answer.
// REQUIRES: low <= high. At most 2 + log2(high - low) probes.
template <typename Probe>
std::optional<Picoseconds> LeastPeriod(Picoseconds low, Picoseconds high, const Probe& probe) {
  std::optional<Picoseconds> least = probe(low);
  if (least.has_value()) return least;
  if (low == high) return std::nullopt;
  least = probe(high);
  if (!least.has_value()) return std::nullopt;
  // Not possible at `low`, possible at `least`.
  while (low + Picoseconds(1) < *least) {
    const Picoseconds middle = low + (*least - low) / 2;
    const std::optional<Picoseconds> found = probe(middle);
    if (found.has_value()) {
      least = found;
    } else {
      low = middle;
    }
  }
  return least;
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_LEAST_PERIOD_H_
