// planwright_simulator_benchmark: how many tasks and events a second the simulator works off (docs/benchmarks.md).
//
// 1F1B with transfers on task lists that are built beforehand; processor time of one thread, the best of some runs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/schedule/task_list_builder.h"
#include "core/simulate/dynamic_simulator.h"
#include "tests/benchmarks/table.h"
#include "tests/core/schedule/pipelines.h"
#include "tests/reference/static_schedule.h"

ABSL_FLAG(double, seconds, 0.3, "processor time for each cell");

namespace planwright::benchmarks {
namespace {

struct Shape {
  int32_t stages;
  int32_t micro_batches;
};

constexpr Shape kShapes[] = {{8, 32}, {8, 256}, {8, 20'000}, {64, 512}, {64, 2'000}};

double ProcessorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Seconds of the fastest run.
double Fastest(const std::function<void()>& run) {
  const double end = ProcessorSeconds() + absl::GetFlag(FLAGS_seconds);
  double fastest = 1e9;
  do {
    const double start = ProcessorSeconds();
    run();
    fastest = std::min(fastest, ProcessorSeconds() - start);
  } while (ProcessorSeconds() < end);
  return fastest;
}

std::string MillionsPerSecond(std::size_t count, double seconds) {
  return absl::StrFormat("%.1f", static_cast<double>(count) / seconds / 1e6);
}

// Every transfer on a link of its device pair and direction.
TaskList PrivateLinks(const Shape& shape) {
  const PipelineWork work = MakePipeline({.stages = shape.stages, .forward = 1'000, .backward = 2'000, .send = 300});
  return *BuildTaskList(
      work, {.kind = ScheduleKind::kOneFOneB, .micro_batches = shape.micro_batches, .recompute = false, .order = {}});
}

// All of them on one.
TaskList SharedBus(TaskList list, int32_t stages) {
  for (Task& task : list.tasks) task.resource = std::min(task.resource, stages);
  list.resources.resize(static_cast<std::size_t>(stages) + 1);
  list.order.resize(list.resources.size());
  return list;
}

std::string DynamicCell(const TaskList& list, Contention contention) {
  return MillionsPerSecond(list.tasks.size(), Fastest([&] { SimulateTasks(list, contention); }));
}

void AddRow(const Shape& shape, Table& table) {
  const TaskList list = PrivateLinks(shape);
  const TaskList ordered = OrderedAsRun(list, SimulateTasks(list, Contention::kExclusive));
  const double compile_seconds = Fastest([&ordered] { StaticSchedule::Compile(ordered).IgnoreError(); });
  const StaticSchedule schedule = *StaticSchedule::Compile(ordered);
  std::vector<Picoseconds> durations;
  for (const Task& task : ordered.tasks) durations.push_back(task.duration);
  const std::vector<int64_t> arranged = schedule.Arrange(durations);
  std::vector<int64_t> ends(schedule.num_steps() + 1);
  const double static_seconds = Fastest([&] { schedule.Evaluate(arranged, ends); });
  const TaskList bus = SharedBus(list, shape.stages);
  table.AddRow({absl::StrCat("p = ", shape.stages, ", m = ", shape.micro_batches), absl::StrCat(list.tasks.size()),
                absl::StrFormat("%.2f", compile_seconds * 1e3), MillionsPerSecond(list.tasks.size(), static_seconds),
                DynamicCell(list, Contention::kExclusive), DynamicCell(list, Contention::kFairShare),
                DynamicCell(bus, Contention::kExclusive), DynamicCell(bus, Contention::kFairShare)});
}

void Run() {
  Table table({{"1F1B with transfers", 19},
               {"tasks", 7},
               {"compile ms", 10},
               {"static M/s", 10},
               {"exclusive M/s", 13},
               {"fair M/s", 8},
               {"bus, excl. M/s", 14},
               {"bus, fair M/s", 13}},
              std::cout);
  for (const Shape& shape : kShapes) AddRow(shape, table);
}

}  // namespace
}  // namespace planwright::benchmarks

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("measures the simulator; prints a table in Markdown");
  absl::ParseCommandLine(argc, argv);
  planwright::benchmarks::Run();
  return 0;
}
