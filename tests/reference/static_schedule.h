// Simulation of a schedule whose every resource runs its tasks in a fixed order.
//
// The order of a resource is one more thing to wait for, so each task ends at (the latest end of what it waits for) +
// (its duration), and one scan in topological order gives all ends. Compiling sorts the tasks so and gives each at most
// three predecessors (joins that take no time stand in for more); evaluating is then a loop without branches over flat
// arrays, and is repeated for other durations at about a nanosecond a task.
#ifndef PLANWRIGHT_TESTS_REFERENCE_STATIC_SCHEDULE_H_
#define PLANWRIGHT_TESTS_REFERENCE_STATIC_SCHEDULE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/units.h"
#include "core/model/task_list.h"
#include "core/simulate/timeline.h"

namespace planwright {

// Immutable.
class StaticSchedule {
 public:
  // REQUIRES: an order for every resource (OrderedAsRun makes one). O(tasks + precedences), about 0.03 us a task.
  // Errors: INVALID_ARGUMENT, tasks wait for each other (CycleText).
  static absl::StatusOr<StaticSchedule> Compile(const TaskList& list);

  // Tasks and joins.
  std::size_t num_steps() const { return predecessors_.size(); }

  // One duration for each task, as Evaluate takes them: one for each step.
  std::vector<int64_t> Arrange(std::span<const Picoseconds> durations) const;

  // Writes the end of each step, in picoseconds, and returns the latest. REQUIRES: `durations` come from Arrange;
  // `ends` has num_steps() + 1 elements, of which the first is the time before all steps. O(steps).
  int64_t Evaluate(std::span<const int64_t> durations, std::span<int64_t> ends) const;

  // The whole timeline for the durations of the list that was compiled.
  Timeline Run(const TaskList& list) const;

 private:
  // Ends to wait for; 0: the time before all steps.
  using Predecessors = std::array<uint32_t, 3>;

  // By step; step i writes end i + 1.
  std::vector<Predecessors> predecessors_;
  // Step of each task.
  std::vector<uint32_t> step_of_;
};

// The list with the order in which `timeline` ran the tasks of each resource.
TaskList OrderedAsRun(TaskList list, const Timeline& timeline);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_REFERENCE_STATIC_SCHEDULE_H_
