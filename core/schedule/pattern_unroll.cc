#include "core/schedule/pattern_unroll.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "core/base/index.h"
#include "core/base/status_macros.h"
#include "core/base/violations.h"
#include "core/cost/chain/chain_costs.h"
#include "core/cost/chain/periodic_costing.h"
#include "core/schedule/pattern_steps.h"
#include "core/schedule/task_numbers.h"

namespace planwright {
namespace {

TaskKind KindOf(PatternOperation operation) {
  switch (operation) {
    case PatternOperation::kForward:
      return TaskKind::kForward;
    case PatternOperation::kBackward:
      return TaskKind::kBackward;
    case PatternOperation::kSendForward:
      return TaskKind::kSendForward;
    case PatternOperation::kSendBackward:
      break;
  }
  return TaskKind::kSendBackward;
}

ScheduleExtent ExtentOf(const std::vector<PatternStep>& steps, const Chain& chain) {
  const auto count = static_cast<int64_t>(steps.size());
  // Steps that take no time may have two more (OrderByPattern).
  ScheduleExtent extent{.tasks = count, .precedences = 3 * count};
  for (const PatternStep& step : steps) extent.AddTime(step.duration);
  for (const ChainLayer& layer : chain.layers) extent.AddStored(layer.stored_bytes + layer.received_bytes);
  return extent;
}

// When micro-batch 0 starts each step.
std::vector<Picoseconds> StartsOf(const std::vector<PatternStep>& steps, const PeriodicPattern& pattern) {
  std::vector<Picoseconds> starts;
  for (const PatternStep& step : steps) {
    const auto task = std::find_if(pattern.tasks.begin(), pattern.tasks.end(), [&](const PatternTask& any) {
      return any.operation == step.operation && any.stage.index() == Index(step.stage);
    });
    starts.push_back(task->start + task->shift * pattern.period);
  }
  return starts;
}

// The name of each link: that of the first step that uses it.
std::string LinkOf(const PatternStep& step, const ChainDevices& devices, const ChainAllocation& allocation,
                   const std::vector<std::string>& names) {
  const int32_t neighbour = step.operation == PatternOperation::kSendForward ? step.stage + 1 : step.stage - 1;
  int32_t from = allocation[Index(step.stage)].device;
  int32_t to = allocation[Index(neighbour)].device;
  if (!devices.full_duplex && to < from) std::swap(from, to);
  return LinkName(names[Index(from)], names[Index(to)], devices.full_duplex);
}

// Every task after the one before it of its micro-batch.
void AddMicroBatch(const std::vector<PatternStep>& steps, int32_t micro_batch, TaskList& list) {
  for (const PatternStep& step : steps) {
    const auto task = static_cast<int32_t>(list.tasks.size());
    if (&step != &steps.front()) list.precedences.push_back({task - 1, task});
    list.tasks.push_back({.kind = KindOf(step.operation),
                          .stage = step.stage,
                          .micro_batch = micro_batch,
                          .resource = step.resource,
                          .duration = step.duration});
  }
}

// What each stage stores from its forward pass to its last one.
void AddMemory(const ChainSums& sums, const ChainAllocation& allocation, TaskList& list) {
  const TaskKind last = sums.has_backward() ? TaskKind::kBackward : TaskKind::kForward;
  for (Task& task : list.tasks) {
    const auto& [first_layer, last_layer, device] = allocation[Index(task.stage)];
    const int64_t stored_bytes = sums.stored_bytes(first_layer, last_layer);
    if (task.kind == TaskKind::kForward) task.memory_at_start_bytes = stored_bytes;
    if (task.kind == last) task.memory_at_end_bytes = -stored_bytes;
  }
}

// The order of a resource while it is made.
struct OrderTail {
  // When the last task in it ends.
  Picoseconds end{0};
  // Tasks that take no time and lie in the middle of that one.
  std::vector<int32_t> inside;
};

// A task that takes no time may lie in the middle of another one of its resource. Then it is in no order, but comes
// between what is before and what is behind the other one: both may take or give back memory.
void OrderByPattern(const std::vector<Picoseconds>& starts, Picoseconds period, TaskList& list) {
  list.order.resize(list.resources.size());
  std::vector<std::tuple<Picoseconds, Picoseconds, int32_t>> by_start;
  for (std::size_t task = 0; task < list.tasks.size(); ++task) {
    const Picoseconds start = starts[task % starts.size()] + list.tasks[task].micro_batch * period;
    by_start.emplace_back(start, list.tasks[task].duration, static_cast<int32_t>(task));
  }
  std::sort(by_start.begin(), by_start.end());
  std::vector<OrderTail> tails(list.resources.size());
  for (const auto& [start, duration, task] : by_start) {
    const std::size_t resource = Index(list.tasks[Index(task)].resource);
    std::vector<int32_t>& order = list.order[resource];
    OrderTail& tail = tails[resource];
    if (duration == Picoseconds(0) && start < tail.end) {
      if (order.size() > 1) list.precedences.push_back({order[order.size() - 2], task});
      tail.inside.push_back(task);
      continue;
    }
    for (const int32_t inside : tail.inside) list.precedences.push_back({inside, task});
    tail = {start + duration, {}};
    order.push_back(task);
  }
}

// Numbers the resources that have tasks without gaps.
void DropIdleResources(TaskList& list) {
  std::vector<bool> used(list.resources.size());
  for (const Task& task : list.tasks) used[Index(task.resource)] = true;
  std::vector<int32_t> numbers(list.resources.size());
  std::vector<TaskResource> kept;
  for (std::size_t i = 0; i < list.resources.size(); ++i) {
    numbers[i] = static_cast<int32_t>(kept.size());
    if (used[i]) kept.push_back(std::move(list.resources[i]));
  }
  list.resources = std::move(kept);
  for (Task& task : list.tasks) task.resource = numbers[Index(task.resource)];
}

}  // namespace

absl::StatusOr<TaskList> UnrollPattern(const Chain& chain, const ChainDevices& devices,
                                       const ChainAllocation& allocation, const PeriodicPattern& pattern,
                                       const std::vector<std::string>& device_names, int32_t micro_batches) {
  const ChainSums sums(chain);
  const std::vector<PatternStep> steps = PatternSteps(chain, sums, devices, allocation);
  Violations violations;
  CheckExtent(ExtentOf(steps, chain), micro_batches, violations);
  RETURN_IF_ERROR(violations.ToStatus());
  TaskList list;
  const std::vector<int64_t> fixed_bytes = FixedBytes(chain, sums, devices, allocation);
  for (std::size_t device = 0; device < fixed_bytes.size(); ++device) {
    list.resources.push_back({device_names[device], TaskResource::Kind::kDevice, fixed_bytes[device]});
  }
  for (const PatternStep& step : steps) {
    // Links are numbered in the order of their first use.
    if (Index(step.resource) < list.resources.size()) continue;
    list.resources.push_back({LinkOf(step, devices, allocation, device_names), TaskResource::Kind::kLink, 0});
  }
  for (int32_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch) AddMicroBatch(steps, micro_batch, list);
  AddMemory(sums, allocation, list);
  DropIdleResources(list);
  OrderByPattern(StartsOf(steps, pattern), pattern.period, list);
  return list;
}

}  // namespace planwright
