#include "core/model/plan.h"

#include <array>
#include <cstddef>
#include <utility>

#include "core/model/periodic_pattern.h"
#include "core/model/task_list.h"

namespace planwright {
namespace {

// Names of the operations of a periodic pattern, by PatternOperation.
constexpr std::array<std::string_view, 4> kOperationNames = {"forward", "backward", "send_forward", "send_backward"};

PeriodicPattern PatternOf(const Plan& plan) {
  PeriodicPattern pattern{.period = plan.objective, .tasks = {}};
  for (const ScheduledTask& task : plan.tasks) {
    const std::optional<PatternOperation> operation = PatternOperationOf(task.operation);
    if (operation.has_value()) pattern.tasks.push_back({*operation, task.stage, task.start, task.index_shift});
  }
  return pattern;
}

}  // namespace

std::string_view NameOf(PatternOperation operation) { return kOperationNames.at(static_cast<std::size_t>(operation)); }

std::optional<PatternOperation> PatternOperationOf(std::string_view name) {
  for (std::size_t i = 0; i < kOperationNames.size(); ++i) {
    if (kOperationNames[i] == name) return static_cast<PatternOperation>(i);
  }
  return std::nullopt;
}

Pass PassOf(PatternOperation operation) {
  return operation == PatternOperation::kForward || operation == PatternOperation::kSendForward ? Pass::kForward
                                                                                                : Pass::kBackward;
}

double RelativeGap(Picoseconds objective, Picoseconds lower_bound) {
  if (objective.count() == 0) return 0;
  return static_cast<double>((objective - lower_bound).count()) / static_cast<double>(objective.count());
}

std::string LinkName(const Cluster& cluster, DeviceId from, DeviceId to, bool full_duplex) {
  if (!full_duplex && to < from) std::swap(from, to);
  return LinkName(cluster.devices[from.index()].name, cluster.devices[to.index()].name, full_duplex);
}

Placement PlacementOf(const Plan& plan) {
  Placement placement;
  placement.stages.reserve(plan.stages.size());
  for (const Stage& stage : plan.stages) {
    Placement::Stage& placed = placement.stages.emplace_back();
    placed.operators = stage.operators;
    placed.ring = stage.ring_order;
    for (const Replica& replica : stage.replicas) placed.devices.push_back(replica.device);
  }
  if (plan.problem.schedule == ScheduleKind::kPeriodic && !plan.tasks.empty()) placement.pattern = PatternOf(plan);
  placement.joint = plan.joint;
  return placement;
}

}  // namespace planwright
