// Bisection for the least period at which something is possible, where a longer period never makes it impossible.
#ifndef PLANWRIGHT_CORE_SCHEDULE_LEAST_PERIOD_H_
#define PLANWRIGHT_CORE_SCHEDULE_LEAST_PERIOD_H_

#include <optional>

#include "core/base/units.h"

namespace planwright {

// The least whole period in low .. high at which `probe` succeeds; nullopt: not even at `high`. `probe(period)` gives
// nullopt where it is not possible, else a period of at most that at which it is possible as well. A probe that finds
// shorter ones may find the least at once, so every second probe then asks just below what is known.
// REQUIRES: low <= high. At most 2 + 2 log2(high - low) probes.
template <typename Probe>
std::optional<Picoseconds> LeastPeriod(Picoseconds low, Picoseconds high, const Probe& probe) {
  constexpr Picoseconds kStep(1);
  // The lower end is often the answer.
  std::optional<Picoseconds> least = probe(low);
  if (least.has_value()) return least;
  if (low == high) return std::nullopt;
  least = probe(high);
  if (!least.has_value()) return std::nullopt;
  bool finds_shorter = *least < high;
  bool asked_below = false;
  // Not possible at `low`, possible at `least`.
  while (low + kStep < *least) {
    const bool asks_below = finds_shorter && !asked_below;
    const Picoseconds target = asks_below ? *least - kStep : low + (*least - low) / 2;
    const std::optional<Picoseconds> found = probe(target);
    if (found.has_value()) {
      least = found;
      finds_shorter |= *found < target;
    } else {
      low = target;
    }
    asked_below = asks_below;
  }
  return least;
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_LEAST_PERIOD_H_
