#include "tests/reference/static_schedule.h"

#include <algorithm>
#include <tuple>

#include "core/base/index.h"
#include "core/simulate/task_graph.h"

namespace planwright {

absl::StatusOr<StaticSchedule> StaticSchedule::Compile(const TaskList& list) {
  const TaskGraph graph(list.tasks.size(), PrecedencesWithOrder(list));
  const std::vector<int32_t> sequence = TopologicalSequence(graph);
  if (sequence.size() < list.tasks.size()) return absl::InvalidArgumentError(CycleText(list, FindCycle(list)));
  StaticSchedule schedule;
  schedule.step_of_.resize(list.tasks.size());
  schedule.predecessors_.reserve(list.tasks.size());
  // Ends that each task waits for, three in a join at most. A join is made as soon as three have come, after their
  // steps and before that of the task.
  std::vector<Predecessors> pending(list.tasks.size());
  std::vector<uint8_t> filled(list.tasks.size());
  for (const int32_t task : sequence) {
    schedule.predecessors_.push_back(pending[Index(task)]);
    schedule.step_of_[Index(task)] = static_cast<uint32_t>(schedule.predecessors_.size() - 1);
    const auto end = static_cast<uint32_t>(schedule.predecessors_.size());
    for (const int32_t successor : graph.SuccessorsOf(task)) {
      Predecessors& waits_for = pending[Index(successor)];
      uint8_t& count = filled[Index(successor)];
      if (count == waits_for.size()) {
        schedule.predecessors_.push_back(waits_for);
        waits_for = {static_cast<uint32_t>(schedule.predecessors_.size())};
        count = 1;
      }
      waits_for[count++] = end;
    }
  }
  return schedule;
}

std::vector<int64_t> StaticSchedule::Arrange(std::span<const Picoseconds> durations) const {
  std::vector<int64_t> arranged(num_steps());
  for (std::size_t task = 0; task < durations.size(); ++task) arranged[step_of_[task]] = durations[task].count();
  return arranged;
}

int64_t StaticSchedule::Evaluate(std::span<const int64_t> durations, std::span<int64_t> ends) const {
  ends[0] = 0;
  int64_t latest = 0;
  for (std::size_t step = 0; step < predecessors_.size(); ++step) {
    const auto [a, b, c] = predecessors_[step];
    const int64_t end = std::max({ends[a], ends[b], ends[c]}) + durations[step];
    ends[step + 1] = end;
    latest = std::max(latest, end);
  }
  return latest;
}

Timeline StaticSchedule::Run(const TaskList& list) const {
  std::vector<Picoseconds> durations;
  durations.reserve(list.tasks.size());
  for (const Task& task : list.tasks) durations.push_back(task.duration);
  std::vector<int64_t> ends(num_steps() + 1);
  Evaluate(Arrange(durations), ends);
  Timeline timeline;
  timeline.starts.resize(list.tasks.size());
  timeline.ends.resize(list.tasks.size());
  timeline.sequence.resize(list.tasks.size());
  for (std::size_t task = 0; task < list.tasks.size(); ++task) {
    timeline.ends[task] = Picoseconds(ends[step_of_[task] + 1]);
    timeline.starts[task] = timeline.ends[task] - durations[task];
    timeline.sequence[task] = static_cast<int32_t>(task);
  }
  // Of tasks that start together, each after those that it waits for.
  std::sort(timeline.sequence.begin(), timeline.sequence.end(), [&](int32_t a, int32_t b) {
    return std::tuple(timeline.starts[Index(a)], step_of_[Index(a)]) <
           std::tuple(timeline.starts[Index(b)], step_of_[Index(b)]);
  });
  return timeline;
}

TaskList OrderedAsRun(TaskList list, const Timeline& timeline) {
  list.order.assign(list.resources.size(), {});
  for (const int32_t task : timeline.sequence) list.order[Index(list.tasks[Index(task)].resource)].push_back(task);
  return list;
}

}  // namespace planwright
