// How long a micro-batch is away: the arithmetic of the groups of 1F1B* (MadPipe, sections 4.1 and 4.2.2).
//
// At a place of the pipeline, the delay is the time from the moment at which a micro-batch passes it on its way forward
// to the moment at which it is back. Going towards the front, each device or link in turn runs the forward task, waits
// and runs the backward task. In a pattern of period T one resource must do both tasks of every micro-batch without
// overlap, so with loads of y together it can wait for x only if x mod T <= T - y. The least such x is the delay itself
// or the next multiple of T, where a new group begins: the operation (+) of the paper.
//
// A delay is kept as laps x period + rest, so that no step divides.
#ifndef PLANWRIGHT_CORE_SCHEDULE_DELAY_H_
#define PLANWRIGHT_CORE_SCHEDULE_DELAY_H_

#include <algorithm>
#include <compare>
#include <cstdint>

#include "core/base/units.h"
#include "core/model/chain.h"

namespace planwright {

// Plain value; all delays that meet belong to one period.
struct Delay {
  int32_t laps = 0;
  // 0 <= rest < period.
  Picoseconds rest{0};

  // By length.
  auto operator<=>(const Delay&) const = default;

  Picoseconds Length(Picoseconds period) const { return laps * period + rest; }

  // The least wait, from this delay on, of a resource that spends `load` on both passes. REQUIRES: load <= period.
  Delay Wait(Picoseconds load, Picoseconds period) const {
    return rest + load <= period || rest == Picoseconds(0) ? *this : Delay{laps + 1, Picoseconds(0)};
  }

  // Waits likewise for a resource with these two tasks: one without duration meets nobody and need not wait.
  Delay Wait(Picoseconds forward, Picoseconds backward, Picoseconds period) const {
    return std::min(forward, backward) == Picoseconds(0) ? *this : Wait(forward + backward, period);
  }

  // `time` longer. REQUIRES: 0 <= time <= 2 x period.
  Delay Plus(Picoseconds time, Picoseconds period) const {
    Delay sum{laps, rest + time};
    while (sum.rest >= period) sum = {sum.laps + 1, sum.rest - period};
    return sum;
  }

  // The delay in front of that resource: the (+) of the paper. REQUIRES: load <= period.
  Delay Behind(Picoseconds load, Picoseconds period) const { return Wait(load, period).Plus(load, period); }
  Delay Behind(Picoseconds forward, Picoseconds backward, Picoseconds period) const {
    return Wait(forward, backward, period).Plus(forward + backward, period);
  }

  // Micro-batches that a stage keeps at most, from the start of their forward to the end of their backward task, where
  // this is the delay in front of it.
  int32_t Batches() const { return std::max(1, laps + (rest > Picoseconds(0) ? 1 : 0)); }
};

// What a cut between two devices asks of its busiest link: both directions take turns on one link, or have one each.
inline Picoseconds LinkLoad(const ChainCut& cut, bool full_duplex) {
  return full_duplex ? std::max(cut.send_forward, cut.send_backward) : cut.send_forward + cut.send_backward;
}

// The delay in front of a cut, from the one behind it. Two links never make each other wait.
// REQUIRES: LinkLoad <= period.
inline Delay AcrossCut(Delay delay, const ChainCut& cut, bool full_duplex, Picoseconds period) {
  return full_duplex ? delay.Plus(cut.send_forward + cut.send_backward, period)
                     : delay.Behind(cut.send_forward, cut.send_backward, period);
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_DELAY_H_
