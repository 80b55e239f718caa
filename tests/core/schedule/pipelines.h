// Pipelines of equal stages in few lines.
#ifndef PLANWRIGHT_TESTS_CORE_SCHEDULE_PIPELINES_H_
#define PLANWRIGHT_TESTS_CORE_SCHEDULE_PIPELINES_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/cost/pipeline_work.h"
#include "core/schedule/task_list_builder.h"
#include "core/simulate/dynamic_simulator.h"
#include "core/simulate/simulation_report.h"

namespace planwright {

// Times in picoseconds.
struct EqualStages {
  int32_t stages = 4;
  // Stage s runs on device s mod `devices`; 0: as many as stages.
  int32_t devices = 0;
  int64_t forward = 10;
  int64_t backward = 20;
  int64_t backward_weight = 0;
  int64_t stored_bytes = 1;
  int64_t static_bytes = 0;
  // Of an activation or a gradient, over a link of its own for each pair and direction.
  int64_t send = 0;
  Overlap overlap = Overlap::kFullDuplex;
  bool training = true;
};

inline void Connect(const EqualStages& shape, int32_t from, int32_t to, TaskKind kind, PipelineWork& work) {
  const auto pass = [&](int32_t stage) { return kind == TaskKind::kSendForward ? stage : shape.stages + stage; };
  if (work.stages[static_cast<std::size_t>(from)].devices == work.stages[static_cast<std::size_t>(to)].devices) {
    work.precedences.push_back({pass(from), pass(to)});
    return;
  }
  const auto transfer = 2 * shape.stages + static_cast<int32_t>(work.transfers.size());
  work.transfers.push_back({.kind = kind, .stage = from, .peer = to, .times = {{0, Picoseconds(shape.send)}}});
  work.precedences.push_back({pass(from), transfer});
  work.precedences.push_back({transfer, pass(to)});
}

inline PipelineWork MakePipeline(const EqualStages& shape) {
  PipelineWork work{Network(UniformInterconnect{1.0, Picoseconds(0)})};
  work.overlap = shape.overlap;
  work.training = shape.training;
  const int32_t devices = shape.devices == 0 ? shape.stages : shape.devices;
  for (int32_t device = 0; device < devices; ++device) {
    work.devices.push_back(
        {DeviceId(static_cast<std::size_t>(device)), absl::StrCat("gpu", device), shape.static_bytes});
  }
  for (int32_t stage = 0; stage < shape.stages; ++stage) {
    work.stages.push_back({.forward = Picoseconds(shape.forward),
                           .backward = Picoseconds(shape.backward),
                           .backward_weight = Picoseconds(shape.backward_weight),
                           .stored_bytes = shape.stored_bytes,
                           .devices = {stage % devices}});
  }
  for (int32_t stage = 1; stage < shape.stages; ++stage) {
    Connect(shape, stage - 1, stage, TaskKind::kSendForward, work);
    if (shape.training) Connect(shape, stage, stage - 1, TaskKind::kSendBackward, work);
  }
  return work;
}

// The same with every stage on its device and on the mirrored one, for Chimera.
inline PipelineWork MakeBidirectional(const EqualStages& shape) {
  PipelineWork work = MakePipeline(shape);
  for (int32_t stage = 0; stage < shape.stages; ++stage) {
    work.stages[static_cast<std::size_t>(stage)].devices = {stage, shape.stages - 1 - stage};
  }
  return work;
}

inline SimulationReport Simulate(const TaskList& list, Contention contention = Contention::kExclusive) {
  return ReportOn(list, SimulateTasks(list, contention));
}

inline SimulationReport Simulate(const PipelineWork& work, const ScheduleSettings& settings) {
  return Simulate(*BuildTaskList(work, settings));
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_SCHEDULE_PIPELINES_H_
