// Contiguous splits over devices in groups, with dearer transfers between groups (device-placement C.3).
//
// The ideal DP with more in its states: which group each stage is in, and for every net that an ideal cuts, in which
// group its source lies and whether that has paid for readers in other groups. So a reader knows what it pays, and a
// source decides when its stage is made: a net that it has paid dearly may be read anywhere, another only inside its
// group. A state counts the stages of each group; groups are alike, so they are opened in order. Passes decide whether
// all loads can be at most a target, as in ideal_dp.h. Targets come from an incumbent and a bound of the same problem
// with all transfers at their least, whose windows leave few ideals.
//
// Exact for two levels where loads are sums, devices are of one pool and each net is paid once per device. Nets that no
// single block sends first count as near: a lower bound then. Groups of groups count as one level, the nearest: a
// bound. Work: one unit per 64 pairs of ideals.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_GROUPED_DP_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_GROUPED_DP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/contiguous/ideal_dp.h"
#include "core/partition/search/block_instance.h"

namespace planwright {

struct Grouping {
  int32_t groups = 1;
  // Devices of each.
  int32_t size = 1;
};

enum class GroupOrder {
  // Stages go through the groups one after the other: fast, no bound.
  kRuns,
  // Any group may follow any other.
  kAny
};

struct GroupedSplit {
  struct Stage {
    int32_t group = 0;
    // Ascending.
    std::vector<int32_t> blocks;
  };
  // In pipeline order.
  std::vector<Stage> stages;
};

struct GroupedDpListener {
  // A split that may be better. Returns the least objective known, this split's included.
  std::function<int64_t(const GroupedSplit&)> on_split;
  // A proven bound; kAny only.
  std::function<void(int64_t)> on_bound;
};

// Whether SolveByGroupedDp can treat the instance.
bool CanGroup(const BlockInstance& instance, const Grouping& grouping, GroupOrder order);

// Searches between `lower_bound` (proven) and `objective`, the least one known. options.relative_gap is ignored;
// limits.work counts from 0 here. kProven: no split of the given order has a smaller max load than the best found. The
// outcome is the same every time unless the clock or a stop request ends it. REQUIRES: CanGroup.
IdealDpRun SolveByGroupedDp(const BlockInstance& instance, const Grouping& grouping, GroupOrder order,
                            int64_t lower_bound, int64_t objective, const IdealDpOptions& options,
                            const SolveLimits& limits, TaskArena& arena, const GroupedDpListener& listener);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_GROUPED_DP_H_
