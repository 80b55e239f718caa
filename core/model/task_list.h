// A schedule as work for machines: tasks on resources with dependencies and memory, the one form that every schedule
// takes and that the simulator runs.
#ifndef PLANWRIGHT_CORE_MODEL_TASK_LIST_H_
#define PLANWRIGHT_CORE_MODEL_TASK_LIST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace planwright {

// kBackward is the whole backward pass; where its two parts are tasks of their own (zero bubble), kBackwardInput makes
// the gradient of the input, which other stages wait for, and kBackwardWeight that of the weights. Exchanges inside
// layers are those of the tensor, context and expert ranks of a stage, and of its data ranks, which gather sharded
// parameters and scatter gradients; kUpdate is the optimizer's.
enum class TaskKind {
  kForward,
  kBackward,
  kBackwardInput,
  kBackwardWeight,
  kRecompute,
  kSendForward,
  kReceiveForward,
  kSendBackward,
  kReceiveBackward,
  kAllReduce,
  kTensorExchange,
  kContextExchange,
  kExpertExchange,
  kDataExchange,
  kUpdate
};
inline constexpr std::size_t kNumTaskKinds = 15;

struct Task {
  TaskKind kind = TaskKind::kForward;
  // The stage whose pass it is; of a transfer the stage at its end of the link.
  int32_t stage = 0;
  // An all-reduce has the first micro-batch whose gradients it adds up.
  int32_t micro_batch = 0;
  // Position in TaskList::resources.
  int32_t resource = 0;
  Picoseconds duration{0};
  // Change of the memory of the resource when the task starts and when it ends.
  int64_t memory_at_start_bytes = 0;
  int64_t memory_at_end_bytes = 0;
  // Position in TaskList::link_uses; kNoLinks: it uses none beside its resource.
  static constexpr int32_t kNoLinks = -1;
  int32_t link_uses = kNoLinks;
};

// What a task takes of a link while nothing slows it.
struct LinkUse {
  // Position in TaskList::resources.
  int32_t link = 0;
  // Of what the link carries; above 1 a task gets in its own way.
  double share = 0;
};

struct TaskResource {
  enum class Kind { kDevice, kLink };
  std::string name;
  Kind kind = Kind::kDevice;
  // What a device holds before anything runs.
  int64_t initial_memory_bytes = 0;
};

// Positions of two tasks: `before` must have ended when `after` starts.
struct Precedence {
  int32_t before = 0;
  int32_t after = 0;
};

struct TaskList {
  std::vector<TaskResource> resources;
  std::vector<Task> tasks;
  std::vector<Precedence> precedences;
  // One for each resource: its tasks in the order in which it runs them, or empty: first come, first served. An order
  // may leave out tasks that take no time: they run as soon as they can.
  std::vector<std::vector<int32_t>> order;
  // Empty: every task uses its resource alone.
  std::vector<std::vector<LinkUse>> link_uses;
};

// A pass of a stage for one micro-batch, as orders name it.
struct PassTask {
  // No transfer and no all-reduce.
  TaskKind kind = TaskKind::kForward;
  int32_t stage = 0;
  int32_t micro_batch = 0;

  bool operator==(const PassTask&) const = default;
};

// Stage, operation, micro-batch: "2F0", "0SEND_F3", "1REDUCE_GRAD"; the notation of torch.distributed.pipelining's
// schedules, with R for a recomputation, and TENSOR, CONTEXT, EXPERT, DATA and UPDATE for what it has no names for.
std::string TaskName(const Task& task);

// "a - b", or "a -> b" where the two directions are links of their own.
std::string LinkName(std::string_view from, std::string_view to, bool full_duplex);

// The pass that TaskName names so; nullopt: none.
std::optional<PassTask> ParsePassTask(std::string_view name);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_TASK_LIST_H_
