// A schedule as work for machines: tasks on resources with dependencies and memory, the one form that every schedule
// takes and that the simulator runs.
#ifndef PLANWRIGHT_CORE_MODEL_TASK_LIST_H_
#define PLANWRIGHT_CORE_MODEL_TASK_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace planwright {

// kBackward: the whole backward pass, or its part that makes the input's gradient where kBackwardWeight is a task of
// its own (zero bubble).
enum class TaskKind { kForward, kBackward, kBackwardWeight, kRecompute, kSendForward, kSendBackward, kAllReduce };

struct Task {
  TaskKind kind = TaskKind::kForward;
  int32_t stage = 0;
  int32_t micro_batch = 0;
  // Copy of the pipeline or of the stage.
  int32_t copy = 0;
  // Position in TaskList::resources.
  int32_t resource = 0;
  Picoseconds duration{0};
  // Positions of earlier or later tasks that must have ended.
  std::vector<int32_t> dependencies;
  // Change of the memory of `memory_device` when the task starts and when it ends.
  int32_t memory_device = 0;
  int64_t memory_at_start_bytes = 0;
  int64_t memory_at_end_bytes = 0;
};

struct TaskResource {
  enum class Kind { kDevice, kLink };
  std::string name;
  Kind kind = Kind::kDevice;
};

struct TaskList {
  std::vector<TaskResource> resources;
  // Memory of each device before anything runs, by position in `resources`; 0 for links.
  std::vector<int64_t> initial_memory_bytes;
  std::vector<Task> tasks;
  // For each resource, its tasks in the order in which it runs them.
  std::vector<std::vector<int32_t>> order;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_TASK_LIST_H_
