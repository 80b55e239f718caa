#include "core/joint/roundrobin/turn_tasks.h"

#include <algorithm>
#include <cstddef>

#include "core/base/interruption.h"
#include "core/base/units.h"

namespace planwright {
namespace {

// First and last task of a pass.
struct Ends {
  int32_t first = 0;
  int32_t last = 0;
};

class TurnWriter {
 public:
  explicit TurnWriter(const JointPlan& plan)
      : plan_(plan),
        forward_(plan.stages.size(), std::vector<Ends>(static_cast<std::size_t>(plan.micro_batches))),
        backward_(forward_) {}

  TaskList Write(const std::vector<std::vector<std::string>>& names) {
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const JointMemory& memory = plan_.stages[s].memory;
      std::vector<int32_t> last_passes;
      for (const std::string& name : names[s]) {
        const auto rank = static_cast<int64_t>(last_passes.size());
        list_.resources.push_back({name, TaskResource::Kind::kDevice, memory.total() - memory.activations});
        list_.order.emplace_back();
        AddPasses(s, rank);
        last_passes.push_back(static_cast<int32_t>(list_.tasks.size()) - 1);
      }
      AddReductions(s, last_passes);
    }
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      for (std::size_t batch = 0; batch < forward_[s].size(); ++batch) Connect(s, batch);
    }
    return std::move(list_);
  }

 private:
  void AddPasses(std::size_t s, int64_t rank) {
    const JointStage& stage = plan_.stages[s];
    const int64_t count = plan_.micro_batches / stage.degrees.data;
    const int64_t ahead = std::min<int64_t>(stage.in_flight, count);
    const auto batch = [&](int64_t turn) { return rank + turn * stage.degrees.data; };
    for (int64_t turn = 0; turn < count + ahead; ++turn) {
      InterruptionPoint();
      if (turn >= ahead) AddPass(s, batch(turn - ahead), true);
      if (turn < count) AddPass(s, batch(turn), false);
    }
  }

  void AddPass(std::size_t s, int64_t batch, bool is_backward) {
    const JointStage& stage = plan_.stages[s];
    const int64_t kept = stage.memory.activations / stage.in_flight;
    const auto first = static_cast<int32_t>(list_.tasks.size());
    // Each way of a transfer takes half of both; what is left of odd ones is in the backward pass.
    const Picoseconds sent = stage.transfers - stage.received;
    const auto half = [&](Picoseconds both) { return is_backward ? both - both / 2 : both / 2; };
    const Picoseconds in = half(is_backward ? sent : stage.received);
    const Picoseconds out = half(is_backward ? stage.received : sent);
    if (in > Picoseconds(0)) Add(is_backward ? TaskKind::kReceiveBackward : TaskKind::kReceiveForward, s, batch, in);
    if (is_backward) {
      Add(TaskKind::kBackward, s, batch, stage.backward);
      list_.tasks.back().memory_at_end_bytes = -kept;
    } else {
      Add(TaskKind::kForward, s, batch, stage.forward);
      list_.tasks.back().memory_at_start_bytes = kept;
    }
    if (out > Picoseconds(0)) Add(is_backward ? TaskKind::kSendBackward : TaskKind::kSendForward, s, batch, out);
    EndsOf(is_backward, s, static_cast<std::size_t>(batch)) = {first, static_cast<int32_t>(list_.tasks.size()) - 1};
  }

  // Adds the all-reduces of the gradients of all micro-batches, which begin when all replicas have theirs.
  void AddReductions(std::size_t s, const std::vector<int32_t>& last_passes) {
    const Picoseconds once(SaturatingMultiply(plan_.stages[s].step_end.count(), plan_.micro_batches));
    if (once == Picoseconds(0)) return;
    const std::size_t first = list_.resources.size() - last_passes.size();
    for (std::size_t rank = 0; rank < last_passes.size(); ++rank) {
      Add(TaskKind::kAllReduce, s, 0, once, first + rank);
      for (const int32_t pass : last_passes) {
        list_.precedences.push_back({pass, static_cast<int32_t>(list_.tasks.size()) - 1});
      }
    }
  }

  void Add(TaskKind kind, std::size_t s, int64_t batch, Picoseconds duration) {
    Add(kind, s, batch, duration, list_.resources.size() - 1);
  }

  void Add(TaskKind kind, std::size_t s, int64_t batch, Picoseconds duration, std::size_t resource) {
    list_.order[resource].push_back(static_cast<int32_t>(list_.tasks.size()));
    Task& task = list_.tasks.emplace_back();
    task.kind = kind;
    task.stage = static_cast<int32_t>(s);
    task.micro_batch = static_cast<int32_t>(batch);
    task.resource = static_cast<int32_t>(resource);
    task.duration = duration;
  }

  Ends& EndsOf(bool is_backward, std::size_t s, std::size_t batch) {
    return (is_backward ? backward_ : forward_)[s][batch];
  }

  // What the passes of a stage wait for.
  void Connect(std::size_t s, std::size_t batch) {
    if (s > 0) list_.precedences.push_back({EndsOf(false, s - 1, batch).last, EndsOf(false, s, batch).first});
    const bool is_last = s + 1 == plan_.stages.size();
    const Ends& before = is_last ? EndsOf(false, s, batch) : EndsOf(true, s + 1, batch);
    list_.precedences.push_back({before.last, EndsOf(true, s, batch).first});
  }

  const JointPlan& plan_;
  // By stage and micro-batch.
  std::vector<std::vector<Ends>> forward_;
  std::vector<std::vector<Ends>> backward_;
  TaskList list_;
};

}  // namespace

int64_t MostTurnTasks(const JointPlan& plan) {
  constexpr int64_t kTasksOfPasses = 6;
  int64_t tasks = 0;
  for (const JointStage& stage : plan.stages) {
    tasks = SaturatingAdd(tasks, SaturatingMultiply(plan.micro_batches, kTasksOfPasses));
    // An exchange of each rank waits for all of them.
    tasks = SaturatingAdd(tasks, int64_t{stage.degrees.data} * stage.degrees.data);
  }
  return tasks;
}

TaskList TurnTasks(const JointPlan& plan, const std::vector<std::vector<std::string>>& names) {
  return TurnWriter(plan).Write(names);
}

}  // namespace planwright
