// The constraints of periodic patterns of one allocation, as numbers that a search can hurry through.
//
// Step u of micro-batch 0 starts at s_u. Steps wait for each other, so s_v - s_u >= d_u from one step to the next. Two
// steps u before v of one resource leave each other alone exactly when for one integer k, their index shift,
//   k T + d_u <= s_v - s_u <= (k + 1) T - d_v.
// Steps without duration meet nobody; for the sake of memory, a shift then only counts starts and ends. Shifts count
// micro-batches: when the forward pass of stage i starts, its device holds k(Fi, Bi) + 1 of stage i, and k(Fj, Fi) +
// k(Fi, Bj) + 1 of an earlier, k(Fi, Bj) - k(Fi, Fj) of a later stage j. So memory is linear in the shifts, exactly,
// and peaks where a forward pass starts.
#ifndef PLANWRIGHT_CORE_SCHEDULE_PATTERN_CONSTRAINTS_H_
#define PLANWRIGHT_CORE_SCHEDULE_PATTERN_CONSTRAINTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/index.h"
#include "core/base/units.h"
#include "core/cost/chain/chain_costs.h"
#include "core/model/chain.h"
#include "core/schedule/pattern_steps.h"

namespace planwright {

struct PatternConstraints {
  // Steps of one resource, in their order: k T + ahead <= s_after - s_before <= (k + 1) T - behind.
  struct Pair {
    int32_t before;
    int32_t after;
    int64_t ahead;
    int64_t behind;
  };
  // What a stage adds to the memory of its device for each micro-batch, and the steps that begin and end that.
  struct Stored {
    int64_t bytes;
    int32_t forward;
    int32_t backward;
  };
  // Devices with memory to watch.
  struct Room {
    // Left for what is stored.
    int64_t bytes = 0;
    std::vector<Stored> stages;
  };

  std::vector<PatternStep> steps;
  // By step.
  std::vector<int64_t> duration;
  // Sum of the durations of the steps before, and of all of them at the end.
  std::vector<int64_t> earliest;
  // Pairs of devices and links with most steps come first.
  std::vector<Pair> pairs;
  // By first step x number of steps + second step: position in `pairs`, or -1.
  std::vector<int32_t> pair_of;
  // Empty if memory is unlimited or nothing has to be kept for a backward pass.
  std::vector<Room> rooms;
  // The largest load of a device or link: no period is shorter. At least 1.
  int64_t load = 1;
  // Whether one micro-batch at a time has room: otherwise no period is long enough.
  bool has_room = true;

  // The smallest shift for steps that start at these times; it is too large where they overlap. REQUIRES: period > 0.
  static int64_t ShiftOf(const Pair& pair, int64_t start_before, int64_t start_after, int64_t period) {
    return std::max<int64_t>(0, CeilDivide(start_after - start_before + pair.behind, period) - 1);
  }

  int32_t num_steps() const { return static_cast<int32_t>(steps.size()); }
  // REQUIRES: one resource, before < after.
  std::size_t PairOf(int32_t before, int32_t after) const {
    return Index(pair_of[Index(before) * steps.size() + Index(after)]);
  }
  // Micro-batches of room.stages[stage] that are kept when the forward pass of room.stages[starting] starts; `shift`:
  // of each pair, by its position.
  template <typename Shift>
  int64_t Kept(const Room& room, std::size_t starting, std::size_t stage, const Shift& shift) const {
    const int32_t now = room.stages[starting].forward;
    const Stored& other = room.stages[stage];
    const int64_t until_backward = shift(PairOf(now, other.backward));
    if (stage == starting) return until_backward + 1;
    if (stage < starting) return shift(PairOf(other.forward, now)) + until_backward + 1;
    return until_backward - shift(PairOf(now, other.forward));
  }
};

// O(steps^2).
PatternConstraints ConstraintsOf(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                                 const ChainAllocation& allocation);

// The smallest period with the given shift of every pair, and starts of micro-batch 0 that go with it; the first step
// starts at 0. Found by lengthening the period to the mean of a cycle that is too long, again and again (Newton's
// method for the maximum cycle ratio). REQUIRES: some period is long enough. O(rounds x steps x pairs).
struct ShiftedPattern {
  int64_t period = 0;
  std::vector<int64_t> starts;
};
ShiftedPattern ShortestPeriod(const PatternConstraints& constraints, const std::vector<int32_t>& shifts);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_PATTERN_CONSTRAINTS_H_
