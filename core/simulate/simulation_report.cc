#include "core/simulate/simulation_report.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/base/index.h"

namespace planwright {
namespace {

// Follows one resource through its tasks, in the order in which they start.
class Follower {
 public:
  explicit Follower(int64_t initial_memory_bytes) : memory_bytes_(initial_memory_bytes) {
    report_.peak_memory_bytes = initial_memory_bytes;
  }

  // On its own resource.
  void Follow(const Task& task, Picoseconds start, Picoseconds end) {
    Occupy(task, start, end);
    Change(task.memory_at_start_bytes, start);
    Change(task.memory_at_end_bytes, end);
  }

  void Occupy(const Task& task, Picoseconds start, Picoseconds end) {
    ++report_.tasks;
    // Transfers that share a link overlap.
    if (end > covered_until_) {
      report_.busy += end - std::max(start, covered_until_);
      covered_until_ = end;
    }
    KindTime& time = times_.at(static_cast<std::size_t>(task.kind));
    time.busy += end - start;
    time.added += end - start - task.duration;
  }

  ResourceReport Finish() const {
    ResourceReport report = report_;
    for (std::size_t kind = 0; kind < kNumTaskKinds; ++kind) {
      if (times_.at(kind).busy == Picoseconds(0)) continue;
      report.kinds.push_back({static_cast<TaskKind>(kind), times_.at(kind).busy, times_.at(kind).added});
    }
    return report;
  }

 private:
  void Change(int64_t bytes, Picoseconds when) {
    memory_bytes_ += bytes;
    if (memory_bytes_ <= report_.peak_memory_bytes) return;
    report_.peak_memory_bytes = memory_bytes_;
    report_.peak_memory_at = when;
  }

  ResourceReport report_;
  // By TaskKind.
  std::array<KindTime, kNumTaskKinds> times_;
  Picoseconds covered_until_{0};
  int64_t memory_bytes_;
};

double BubbleFraction(const TaskList& list, const SimulationReport& report) {
  double utilization = 0;
  double devices = 0;
  for (std::size_t i = 0; i < list.resources.size(); ++i) {
    if (list.resources[i].kind != TaskResource::Kind::kDevice) continue;
    utilization += Utilization(report.resources[i], report.step_time);
    devices += 1;
  }
  return devices > 0 && report.step_time > Picoseconds(0) ? 1 - utilization / devices : 0;
}

}  // namespace

SimulationReport ReportOn(const TaskList& list, const Timeline& timeline) {
  std::vector<Follower> followers =
      Mapped(list.resources, [&](const TaskResource& resource) { return Follower(resource.initial_memory_bytes); });
  SimulationReport report;
  for (const int32_t task : timeline.sequence) {
    const Picoseconds end = timeline.ends[Index(task)];
    const Task& what = list.tasks[Index(task)];
    const Picoseconds start = timeline.starts[Index(task)];
    followers[Index(what.resource)].Follow(what, start, end);
    if (what.link_uses != Task::kNoLinks) {
      for (const LinkUse& use : list.link_uses[Index(what.link_uses)]) {
        if (use.link != what.resource) followers[Index(use.link)].Occupy(what, start, end);
      }
    }
    report.step_time = std::max(report.step_time, end);
  }
  for (const Follower& follower : followers) report.resources.push_back(follower.Finish());
  report.bubble_fraction = BubbleFraction(list, report);
  return report;
}

double Utilization(const ResourceReport& resource, Picoseconds step_time) {
  if (step_time == Picoseconds(0)) return 0;
  return static_cast<double>(resource.busy.count()) / static_cast<double>(step_time.count());
}

Picoseconds SteadyPeriod(const TaskList& list, const Timeline& timeline, int32_t micro_batches) {
  constexpr int32_t kFewest = 4;
  if (micro_batches < kFewest) return Picoseconds(0);
  std::vector<Picoseconds> ends(Index(micro_batches));
  for (std::size_t task = 0; task < list.tasks.size(); ++task) {
    Picoseconds& end = ends[Index(list.tasks[task].micro_batch)];
    end = std::max(end, timeline.ends[task]);
  }
  std::sort(ends.begin(), ends.end());
  const std::size_t first = ends.size() / 4;
  const std::size_t last = ends.size() - 1 - first;
  return (ends[last] - ends[first]) / static_cast<int64_t>(last - first);
}

}  // namespace planwright
