#include "core/simulate/simulation_report.h"

#include <algorithm>
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

  void Follow(const Task& task, Picoseconds start, Picoseconds end) {
    ++report_.tasks;
    // Transfers that share a link overlap.
    if (end > covered_until_) {
      report_.busy += end - std::max(start, covered_until_);
      covered_until_ = end;
    }
    Change(task.memory_at_start_bytes, start);
    Change(task.memory_at_end_bytes, end);
  }

  const ResourceReport& report() const { return report_; }

 private:
  void Change(int64_t bytes, Picoseconds when) {
    memory_bytes_ += bytes;
    if (memory_bytes_ <= report_.peak_memory_bytes) return;
    report_.peak_memory_bytes = memory_bytes_;
    report_.peak_memory_at = when;
  }

  ResourceReport report_;
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
  std::vector<Follower> followers;
  followers.reserve(list.resources.size());
  for (const TaskResource& resource : list.resources) followers.emplace_back(resource.initial_memory_bytes);
  SimulationReport report;
  for (const int32_t task : timeline.sequence) {
    const Picoseconds end = timeline.ends[Index(task)];
    followers[Index(list.tasks[Index(task)].resource)].Follow(list.tasks[Index(task)], timeline.starts[Index(task)],
                                                              end);
    report.step_time = std::max(report.step_time, end);
  }
  for (const Follower& follower : followers) report.resources.push_back(follower.report());
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
