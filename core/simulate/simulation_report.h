// What a simulation says: step time, idle time, memory.
#ifndef PLANWRIGHT_CORE_SIMULATE_SIMULATION_REPORT_H_
#define PLANWRIGHT_CORE_SIMULATE_SIMULATION_REPORT_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/model/task_list.h"
#include "core/simulate/timeline.h"

namespace planwright {

// What a resource spends on tasks of one kind.
struct KindTime {
  TaskKind kind = TaskKind::kForward;
  // Sum of their times, and what contention added to it.
  Picoseconds busy{0};
  Picoseconds added{0};
};

struct ResourceReport {
  int64_t tasks = 0;
  // Time in which it runs something.
  Picoseconds busy{0};
  // Only for devices: the most memory that it holds, and when it first does so.
  int64_t peak_memory_bytes = 0;
  Picoseconds peak_memory_at{0};
  // In the order of TaskKind, those with time alone.
  std::vector<KindTime> kinds;
};

struct SimulationReport {
  // Until the last task has ended.
  Picoseconds step_time{0};
  // One for each resource of the list.
  std::vector<ResourceReport> resources;
  // Share of the time of all devices together in which they run nothing.
  double bubble_fraction = 0;
};

// Tasks count for their resource and for all links that they use. REQUIRES: `timeline` is one of the list. O(tasks).
SimulationReport ReportOn(const TaskList& list, const Timeline& timeline);

// busy / step_time; 0 for a step that takes no time.
double Utilization(const ResourceReport& resource, Picoseconds step_time);

// Mean time between the ends of the micro-batches of the middle half: how fast a schedule that never flushes is between
// its ramps, given enough of them. 0 for fewer than 4 micro-batches. REQUIRES: `timeline` is one of the list. O(tasks).
Picoseconds SteadyPeriod(const TaskList& list, const Timeline& timeline, int32_t micro_batches);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SIMULATE_SIMULATION_REPORT_H_
