// Task lists in few lines.
#ifndef PLANWRIGHT_TESTS_CORE_SIMULATE_SMALL_LISTS_H_
#define PLANWRIGHT_TESTS_CORE_SIMULATE_SMALL_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "core/model/task_list.h"
#include "core/simulate/timeline.h"

namespace planwright {

inline constexpr TaskResource::Kind kDevice = TaskResource::Kind::kDevice;
inline constexpr TaskResource::Kind kLink = TaskResource::Kind::kLink;

struct SmallTask {
  int32_t resource;
  int64_t duration;
};

// Task i is the forward pass of micro-batch i. Resources without an order.
inline TaskList MakeList(const std::vector<TaskResource::Kind>& kinds, const std::vector<SmallTask>& tasks,
                         const std::vector<Precedence>& precedences) {
  TaskList list;
  for (const TaskResource::Kind kind : kinds) {
    list.resources.push_back({kind == kDevice ? "device" : "link", kind, 0});
  }
  for (const auto& [resource, duration] : tasks) {
    Task& task = list.tasks.emplace_back();
    task.micro_batch = static_cast<int32_t>(list.tasks.size() - 1);
    task.resource = resource;
    task.duration = Picoseconds(duration);
  }
  list.precedences = precedences;
  list.order.resize(kinds.size());
  return list;
}

inline std::vector<int64_t> Counts(const std::vector<Picoseconds>& times) {
  std::vector<int64_t> counts;
  for (const Picoseconds time : times) counts.push_back(time.count());
  return counts;
}

// Any acyclic list: up to five predecessors each, some tasks that take no time, resources in the order of the tasks.
inline TaskList RandomOrderedList(uint64_t seed, int32_t num_tasks) {
  RandomStream random(seed);
  TaskList list = MakeList({kDevice, kDevice, kDevice, kLink, kLink}, {}, {});
  for (int32_t task = 0; task < num_tasks; ++task) {
    Task& made = list.tasks.emplace_back();
    made.micro_batch = task;
    made.resource = static_cast<int32_t>(random.Below(list.resources.size()));
    made.duration = Picoseconds(static_cast<int64_t>(random.Below(20)));
    for (uint64_t i = random.Below(6); i > 0 && task > 0; --i) {
      list.precedences.push_back({static_cast<int32_t>(random.Below(static_cast<uint64_t>(task))), task});
    }
    list.order[static_cast<std::size_t>(made.resource)].push_back(task);
  }
  return list;
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_SIMULATE_SMALL_LISTS_H_
