#include "core/cost/latency_schedule.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace planwright {
namespace {

// What has one start and one finish: a stage on an accelerator, or one operator on a CPU.
struct StageTask {
  Picoseconds duration{0};
  Picoseconds start{0};
  std::size_t waits_for = 0;
  std::vector<std::size_t> successors;
};

class Scheduler {
 public:
  Scheduler(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs,
            const std::vector<Stage>& stages)
      : graph_(graph), cluster_(cluster), costs_(costs), stages_(stages), task_of_(graph.operators.size(), kNone) {}

  LatencySchedule Run() {
    AddTasks();
    AddPrecedence();
    StartAll();
    LatencySchedule schedule;
    for (const StageTask& task : tasks_) schedule.makespan = std::max(schedule.makespan, task.start + task.duration);
    for (const Stage& stage : stages_) schedule.starts.push_back(StartOf(stage));
    schedule.peak_cpu_operators = PeakOfCpuOperators();
    return schedule;
  }

 private:
  static constexpr auto kNone = static_cast<std::size_t>(-1);

  bool IsOnCpu(const Stage& stage) const {
    return cluster_.class_of(stage.replicas.front().device).kind == DeviceKind::kCpu;
  }

  // Subgraphs first, in the order of their stages, each behind the one before it on its device.
  void AddTasks() {
    std::vector<std::size_t> last_on(cluster_.devices.size(), kNone);
    for (const Stage& stage : stages_) {
      if (IsOnCpu(stage)) continue;
      for (const OperatorId op : stage.operators) task_of_[op.index()] = tasks_.size();
      const std::size_t before = std::exchange(last_on[stage.replicas.front().device.index()], tasks_.size());
      tasks_.emplace_back().duration = stage.load;
      if (before != kNone) Order(before, tasks_.size() - 1);
    }
    first_cpu_task_ = tasks_.size();
    for (const Stage& stage : stages_) {
      if (!IsOnCpu(stage)) continue;
      const DeviceClassId device_class = cluster_.devices[stage.replicas.front().device.index()].device_class;
      for (const OperatorId op : stage.operators) {
        task_of_[op.index()] = tasks_.size();
        tasks_.emplace_back().duration = costs_.time(op, device_class).total();
      }
    }
  }

  void AddPrecedence() {
    for (const Tensor& tensor : graph_.tensors) {
      const std::size_t producer = task_of_[tensor.producer.index()];
      if (producer == kNone) continue;
      for (const OperatorId consumer : tensor.consumers) {
        const std::size_t task = task_of_[consumer.index()];
        if (task != kNone && task != producer) Order(producer, task);
      }
    }
  }

  void Order(std::size_t before, std::size_t after) {
    tasks_[before].successors.push_back(after);
    ++tasks_[after].waits_for;
  }

  void StartAll() {
    std::vector<std::size_t> ready;
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      if (tasks_[task].waits_for == 0) ready.push_back(task);
    }
    while (!ready.empty()) {
      const StageTask& task = tasks_[ready.back()];
      ready.pop_back();
      for (const std::size_t successor : task.successors) {
        StageTask& next = tasks_[successor];
        next.start = std::max(next.start, task.start + task.duration);
        if (--next.waits_for == 0) ready.push_back(successor);
      }
    }
  }

  Picoseconds StartOf(const Stage& stage) const {
    Picoseconds start = tasks_[task_of_[stage.operators.front().index()]].start;
    for (const OperatorId op : stage.operators) start = std::min(start, tasks_[task_of_[op.index()]].start);
    return start;
  }

  // Sweeps over starts and ends; at the same time ends come first.
  int32_t PeakOfCpuOperators() const {
    std::vector<std::pair<Picoseconds, int32_t>> changes;
    for (std::size_t task = first_cpu_task_; task < tasks_.size(); ++task) {
      if (tasks_[task].duration == Picoseconds(0)) continue;
      changes.emplace_back(tasks_[task].start, 1);
      changes.emplace_back(tasks_[task].start + tasks_[task].duration, -1);
    }
    std::sort(changes.begin(), changes.end());
    int32_t running = 0;
    int32_t peak = 0;
    for (const auto& [time, change] : changes) {
      running += change;
      peak = std::max(peak, running);
    }
    return peak;
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const CostTable& costs_;
  const std::vector<Stage>& stages_;
  std::vector<StageTask> tasks_;
  std::size_t first_cpu_task_ = 0;
  // By operator; kNone: the workload drops it.
  std::vector<std::size_t> task_of_;
};

}  // namespace

LatencySchedule ScheduleForLatency(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs,
                                   const std::vector<Stage>& stages) {
  return Scheduler(graph, cluster, costs, stages).Run();
}

}  // namespace planwright
