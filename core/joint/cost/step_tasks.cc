#include "core/joint/cost/step_tasks.h"

#include <cstddef>

#include "core/base/interruption.h"
#include "core/base/units.h"
#include "core/joint/cost/step_simulation.h"

namespace planwright {
namespace {

// First and last task of a pass.
struct Ends {
  int32_t first = 0;
  int32_t last = 0;
};

class TaskWriter {
 public:
  TaskWriter(const LayerPricer& pricer, const DeviceRow& row, const JointPlan& plan)
      : plan_(plan),
        costs_(CostChunks(pricer, row, plan)),
        shape_{plan.order, static_cast<int64_t>(plan.stages.size()), plan.chunks, plan.micro_batches},
        forward_(static_cast<std::size_t>(shape_.runs() * shape_.micro_batches)),
        backward_(forward_) {}

  TaskList Write(const std::vector<std::string>& names) {
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const JointMemory& memory = plan_.stages[s].memory;
      list_.resources.push_back({names[s], TaskResource::Kind::kDevice, memory.total() - memory.activations});
      AddStage(static_cast<int64_t>(s));
    }
    for (int64_t run = 0; run < shape_.runs(); ++run) {
      for (int64_t batch = 0; batch < shape_.micro_batches; ++batch) Connect(run, batch);
    }
    return std::move(list_);
  }

 private:
  void AddStage(int64_t stage) {
    stage_ = stage;
    list_.order.emplace_back();
    for (int64_t number = 0; number < shape_.tasks(); ++number) {
      InterruptionPoint();
      AddPass(StepTaskAt(shape_, stage, number));
    }
    const Picoseconds end = plan_.stages[static_cast<std::size_t>(stage)].step_end;
    if (end > Picoseconds(0)) Add(TaskKind::kAllReduce, stage, 0, end.count());
  }

  void AddPass(const StepTask& pass) {
    const ChunkCost& cost = costs_[static_cast<std::size_t>(stage_)][static_cast<std::size_t>(pass.chunk)];
    if (pass.pass == StepTask::Pass::kWeights) {
      Add(TaskKind::kBackwardWeight, pass.run, pass.micro_batch, cost.weights_ps);
      list_.tasks.back().memory_at_end_bytes = -cost.weights_kept_bytes;
      return;
    }
    const bool is_backward = pass.pass == StepTask::Pass::kBackward;
    const auto first = static_cast<int32_t>(list_.tasks.size());
    // Each way of a transfer takes half of both.
    const int64_t in = (is_backward ? cost.sent_ps : cost.received_ps) / 2;
    const int64_t out = (is_backward ? cost.received_ps : cost.sent_ps) / 2;
    if (in > 0) {
      Add(is_backward ? TaskKind::kReceiveBackward : TaskKind::kReceiveForward, pass.run, pass.micro_batch, in);
    }
    if (is_backward) {
      AddBackward(pass, cost);
    } else {
      Add(TaskKind::kForward, pass.run, pass.micro_batch, cost.forward_ps);
      list_.tasks.back().memory_at_start_bytes = cost.kept_bytes;
    }
    if (out > 0) Add(is_backward ? TaskKind::kSendBackward : TaskKind::kSendForward, pass.run, pass.micro_batch, out);
    EndsOf(is_backward, pass.run, pass.micro_batch) = {first, static_cast<int32_t>(list_.tasks.size()) - 1};
  }

  void AddBackward(const StepTask& pass, const ChunkCost& cost) {
    const bool is_split = plan_.order == PipelineOrder::kZeroBubble;
    Add(is_split ? TaskKind::kBackwardInput : TaskKind::kBackward, pass.run, pass.micro_batch, cost.backward_ps);
    Task& task = list_.tasks.back();
    task.memory_at_start_bytes = is_split ? cost.changing_bytes - cost.kept_bytes : 0;
    task.memory_at_end_bytes = is_split ? cost.weights_kept_bytes - cost.changing_bytes : -cost.kept_bytes;
  }

  void Add(TaskKind kind, int64_t run, int64_t micro_batch, int64_t duration_ps) {
    list_.order.back().push_back(static_cast<int32_t>(list_.tasks.size()));
    Task& task = list_.tasks.emplace_back();
    task.kind = kind;
    task.stage = static_cast<int32_t>(run);
    task.micro_batch = static_cast<int32_t>(micro_batch);
    task.resource = static_cast<int32_t>(stage_);
    task.duration = Picoseconds(duration_ps);
  }

  Ends& EndsOf(bool is_backward, int64_t run, int64_t micro_batch) {
    return (is_backward ? backward_ : forward_)[static_cast<std::size_t>(run * shape_.micro_batches + micro_batch)];
  }

  // What the passes of a run wait for.
  void Connect(int64_t run, int64_t batch) {
    if (run > 0) {
      list_.precedences.push_back({EndsOf(false, run - 1, batch).last, EndsOf(false, run, batch).first});
    }
    const bool is_last = run + 1 == shape_.runs();
    const Ends& before = is_last ? EndsOf(false, run, batch) : EndsOf(true, run + 1, batch);
    list_.precedences.push_back({before.last, EndsOf(true, run, batch).first});
  }

  const JointPlan& plan_;
  const std::vector<std::vector<ChunkCost>> costs_;
  const StepShape shape_;
  // By run and micro-batch.
  std::vector<Ends> forward_;
  std::vector<Ends> backward_;
  int64_t stage_ = 0;
  TaskList list_;
};

}  // namespace

int64_t MostStepTasks(const JointPlan& plan) {
  const int64_t tasks_of_passes = plan.order == PipelineOrder::kZeroBubble ? 7 : 6;
  const int64_t stages = static_cast<int64_t>(plan.stages.size());
  const int64_t runs = SaturatingMultiply(stages, plan.chunks);
  return SaturatingAdd(SaturatingMultiply(SaturatingMultiply(runs, plan.micro_batches), tasks_of_passes), stages);
}

TaskList StepTasks(const LayerPricer& pricer, const DeviceRow& row, const JointPlan& plan,
                   const std::vector<std::string>& names) {
  return TaskWriter(pricer, row, plan).Write(names);
}

}  // namespace planwright
