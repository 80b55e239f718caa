// How large a schedule may become.
#ifndef PLANWRIGHT_CORE_SCHEDULE_SCHEDULE_EXTENT_H_
#define PLANWRIGHT_CORE_SCHEDULE_SCHEDULE_EXTENT_H_

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "core/base/units.h"
#include "core/base/violations.h"

namespace planwright {

// Limits of one task list: they bound the memory of building and simulating it to about 300 MB.
inline constexpr int64_t kMaxTasks = 1'000'000;
inline constexpr int64_t kMaxPrecedences = 4'000'000;

// What one micro-batch adds to a task list, at most.
struct ScheduleExtent {
  int64_t tasks = 1;
  int64_t precedences = 1;
  // Times and stored bytes of all its tasks together.
  int64_t time_ps = 0;
  int64_t stored_bytes = 0;

  void AddTime(Picoseconds time) { time_ps = SaturatingAdd(time_ps, time.count()); }
  void AddStored(int64_t bytes) { stored_bytes = SaturatingAdd(stored_bytes, bytes); }
};

// Adds a violation at "micro_batches" where that many are too many to be simulated.
inline void CheckExtent(const ScheduleExtent& extent, int32_t micro_batches, Violations& violations) {
  const int64_t most = std::min(kMaxTasks / extent.tasks, kMaxPrecedences / extent.precedences);
  if (micro_batches > most) {
    violations.Add("micro_batches",
                   absl::StrCat("must be at most ", most, " for this plan, is ", micro_batches,
                                ": a simulation has at most ", kMaxTasks, " tasks and ", kMaxPrecedences,
                                " dependencies; the time per micro-batch hardly depends on so many"));
  } else if (SaturatingMultiply(extent.time_ps, micro_batches) == kMaxQuantity ||
             SaturatingMultiply(extent.stored_bytes, micro_batches) == kMaxQuantity) {
    violations.Add("micro_batches", "the times or the sizes of all micro-batches add up to too much; ask for fewer");
  }
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_SCHEDULE_EXTENT_H_
