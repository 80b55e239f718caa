#include "tests/support/periodic_example.h"

#include <cstdint>

#include "tests/support/builders.h"

namespace planwright {
namespace {

using enum PatternOperation;

constexpr OperatorId kA(0);
constexpr OperatorId kB(1);
constexpr OperatorId kC(2);

PatternTask Task(PatternOperation operation, std::size_t stage, int64_t start_ps, int32_t shift) {
  return {operation, StageId(stage), Picoseconds(start_ps), shift};
}

}  // namespace

PeriodicExample::PeriodicExample() : cluster(MakeCluster(2, 1)) {
  AddOperator(graph, "a", 10, 100);
  AddOperator(graph, "b", 20, 200);
  AddOperator(graph, "c", 30, 300);
  AddTensor(graph, kA, {kB}, 3, 30);
  AddTensor(graph, kB, {kC}, 5, 50);
  AddTensor(graph, kA, {kC}, 2, 20);
  int64_t size = 1;
  for (Operator& op : graph.operators) {
    op.costs[0].backward = 2 * op.costs[0].forward;
    op.costs[1].backward = 2 * op.costs[1].forward;
    op.activation_bytes = 100 * size;
    op.parameter_bytes = 10 * size;
    size *= 2;
  }
  for (std::size_t i = 0; i < 3; ++i) graph.operators[i].workspace_bytes = static_cast<int64_t>(i) + 1;
  cluster.interconnect = UniformInterconnect{};
  problem.schedule = ScheduleKind::kPeriodic;
  problem.overlap = Overlap::kOverlapped;
  problem.memory_model.kind = MemoryModel::Kind::kComponents;
  problem.memory_model.preset = "madpipe";
}

Placement PeriodicExample::Fastest() {
  return {
      .stages = {{{kA, kB}, {DeviceId(0)}}, {{kC}, {DeviceId(1)}}},
      .pattern = PeriodicPattern{Picoseconds(90),
                                 {Task(kForward, 0, 0, 0), Task(kBackward, 0, 30, 2), Task(kSendForward, 0, 30, 0),
                                  Task(kForward, 1, 37, 0), Task(kBackward, 1, 67, 0), Task(kSendBackward, 1, 37, 1)}}};
}

Placement PeriodicExample::Smaller() const {
  return {
      .stages = Fastest().stages,
      .pattern = PeriodicPattern{Picoseconds(104),
                                 {Task(kForward, 0, 0, 0), Task(kBackward, 0, 30, 1), Task(kSendForward, 0, 30, 0),
                                  Task(kForward, 1, 37, 0), Task(kBackward, 1, 67, 0), Task(kSendBackward, 1, 23, 1)}}};
}

// Across the cut behind a go 3 + 2 ps, across that before c 5 + 2 ps, each way.
Placement PeriodicExample::OneAfterTheOther() {
  return {
      .stages = {{{kA}, {DeviceId(0)}}, {{kB}, {DeviceId(1)}}, {{kC}, {DeviceId(0)}}},
      .pattern = PeriodicPattern{
          Picoseconds(204),
          {Task(kForward, 0, 0, 0), Task(kBackward, 0, 184, 0), Task(kSendForward, 0, 10, 0), Task(kForward, 1, 15, 0),
           Task(kBackward, 1, 139, 0), Task(kSendForward, 1, 35, 0), Task(kSendBackward, 1, 179, 0),
           Task(kForward, 2, 42, 0), Task(kBackward, 2, 72, 0), Task(kSendBackward, 2, 132, 0)}}};
}

}  // namespace planwright
