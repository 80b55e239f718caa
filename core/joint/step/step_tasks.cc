#include "core/joint/step/step_tasks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/base/index.h"
#include "core/base/interruption.h"
#include "core/base/units.h"
#include "core/joint/cost/step_simulation.h"
#include "core/joint/step/pass_slices.h"

namespace planwright {
namespace {

// Of ExchangeGroup.
constexpr std::array kExchangeKinds = {TaskKind::kTensorExchange, TaskKind::kContextExchange, TaskKind::kExpertExchange,
                                       TaskKind::kDataExchange, TaskKind::kDataExchange};

// First and last task of a pass on its stage; behind the first so many that begin with it.
struct Ends {
  int32_t first = 0;
  int32_t last = 0;
  int32_t beside_first = 0;
};

class TaskWriter {
 public:
  // `uses`: nullptr where no task uses links.
  TaskWriter(const LayerPricer& pricer, const DeviceRow& row, const JointPlan& plan,
             const std::vector<StageSlices>& slices, const StageLinkUses* uses)
      : plan_(plan),
        slices_(slices),
        uses_(uses),
        costs_(CostChunks(pricer, row, plan)),
        shape_{plan.order, static_cast<int64_t>(plan.stages.size()), plan.chunks, plan.micro_batches},
        forward_(static_cast<std::size_t>(shape_.runs() * shape_.micro_batches)),
        backward_(forward_) {}

  TaskList Write(const std::vector<std::string>& names) {
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const JointMemory& memory = plan_.stages[s].memory;
      list_.resources.push_back({names[s], TaskResource::Kind::kDevice, memory.total() - memory.activations});
    }
    if (uses_ != nullptr) AddLinks();
    list_.order.resize(list_.resources.size());
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) AddStage(static_cast<int64_t>(s));
    for (int64_t run = 0; run < shape_.runs(); ++run) {
      for (int64_t batch = 0; batch < shape_.micro_batches; ++batch) {
        InterruptionPoint();
        Connect(run, batch);
      }
    }
    return std::move(list_);
  }

 private:
  void AddLinks() {
    const auto first = static_cast<int32_t>(list_.resources.size());
    for (const std::string& name : uses_->links) list_.resources.push_back({name, TaskResource::Kind::kLink, 0});
    for (const auto& exchanges : uses_->stages) {
      for (std::vector<LinkUse> uses : exchanges) {
        for (LinkUse& use : uses) use.link += first;
        list_.link_uses.push_back(std::move(uses));
      }
    }
  }

  void AddStage(int64_t stage) {
    stage_ = stage;
    last_ = kNone;
    pending_.clear();
    for (int64_t number = 0; number < shape_.tasks(); ++number) {
      InterruptionPoint();
      AddPass(StepTaskAt(shape_, stage, number), number + 1 == shape_.tasks());
    }
    AddEnd();
  }

  const StageSlices& slices() const { return slices_[static_cast<std::size_t>(stage_)]; }

  void AddPass(const StepTask& pass, bool is_last) {
    const ChunkCost& cost = costs_[static_cast<std::size_t>(stage_)][static_cast<std::size_t>(pass.chunk)];
    run_ = pass.run;
    micro_batch_ = pass.micro_batch;
    if (pass.pass == StepTask::Pass::kWeights) {
      const int32_t before = last_;
      Add(TaskKind::kBackwardWeight, cost.weights_ps);
      list_.tasks.back().memory_at_end_bytes = -cost.weights_kept_bytes;
      if (is_last) AddHiddenEnd(before, cost.weights_ps);
      return;
    }
    const bool is_backward = pass.pass == StepTask::Pass::kBackward;
    const auto first = static_cast<int32_t>(list_.tasks.size());
    // Each way of a transfer takes half of both.
    const int64_t in = (is_backward ? cost.sent_ps : cost.received_ps) / 2;
    const int64_t out = (is_backward ? cost.received_ps : cost.sent_ps) / 2;
    if (in > 0) {
      AddTransfer(is_backward ? StageTransfer::kReceiveBackward : StageTransfer::kReceiveForward, in);
    }
    const int32_t beside = is_backward ? AddBackward(pass, cost, is_last) : AddForward(pass, cost);
    if (out > 0) AddTransfer(is_backward ? StageTransfer::kSendBackward : StageTransfer::kSendForward, out);
    EndsOf(is_backward, pass.run, pass.micro_batch) = {first, last_, in > 0 ? 0 : beside};
  }

  void AddTransfer(StageTransfer transfer, int64_t duration_ps) {
    // In the order of StageTransfer.
    constexpr std::array kKinds = {TaskKind::kSendForward, TaskKind::kReceiveForward, TaskKind::kSendBackward,
                                   TaskKind::kReceiveBackward};
    Add(kKinds.at(static_cast<std::size_t>(transfer)), duration_ps);
    SetUses(kNumExchangeGroups + static_cast<std::size_t>(transfer));
  }

  int32_t AddForward(const StepTask& pass, const ChunkCost& cost) {
    const auto first = list_.tasks.size();
    const int32_t beside = AddSlices(TaskKind::kForward, slices().chunks[static_cast<std::size_t>(pass.chunk)].forward);
    list_.tasks[first].memory_at_start_bytes = cost.kept_bytes;
    return beside;
  }

  int32_t AddBackward(const StepTask& pass, const ChunkCost& cost, bool is_last) {
    const bool is_split = plan_.order == PipelineOrder::kZeroBubble;
    const std::vector<PassSlice>& slices = this->slices().chunks[static_cast<std::size_t>(pass.chunk)].backward;
    const int32_t before = last_;
    const auto first = list_.tasks.size();
    const int32_t beside = AddSlices(is_split ? TaskKind::kBackwardInput : TaskKind::kBackward, slices);
    list_.tasks[first].memory_at_start_bytes = is_split ? cost.changing_bytes - cost.kept_bytes : 0;
    list_.tasks[Index(last_)].memory_at_end_bytes +=
        is_split ? cost.weights_kept_bytes - cost.changing_bytes : -cost.kept_bytes;
    if (is_last) AddHiddenEnd(before, cost.backward_ps);
    return beside;
  }

  // Returns how many tasks begin with the first.
  int32_t AddSlices(TaskKind kind, const std::vector<PassSlice>& slices) {
    int32_t beside_first = 0;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const int32_t before = last_;
      Add(kind, slices[i].compute_ps);
      pending_ = AddHidden(before, slices[i].exchanges);
      if (i == 0) beside_first = static_cast<int32_t>(pending_.size());
      for (std::size_t group = 0; group < kNumExchangeGroups; ++group) {
        if (slices[i].exchanges[group].shown_ps == 0) continue;
        Add(kExchangeKinds.at(group), slices[i].exchanges[group].shown_ps);
        SetUses(group);
      }
    }
    return beside_first;
  }

  // Two lanes that begin behind `before`, their first tasks first; returns the last of each.
  std::vector<int32_t> AddHidden(int32_t before, const PassExchanges& exchanges) {
    constexpr auto kData = static_cast<std::size_t>(ExchangeGroup::kData);
    std::array<std::vector<std::size_t>, 2> lanes;
    for (std::size_t group = 0; group < kNumExchangeGroups; ++group) {
      if (exchanges[group].hidden_ps > 0) lanes.at(group < kData ? 0 : 1).push_back(group);
    }
    std::vector<int32_t> ends;
    for (const auto& lane : lanes) {
      if (lane.empty()) continue;
      ends.push_back(AddBeside(lane.front(), exchanges[lane.front()].hidden_ps));
      if (before != kNone) Wait(ends.back(), before);
    }
    auto end = ends.begin();
    for (const auto& lane : lanes) {
      for (std::size_t i = 1; i < lane.size(); ++i) {
        const int32_t next = AddBeside(lane[i], exchanges[lane[i]].hidden_ps);
        Wait(next, std::exchange(*end, next));
      }
      if (!lane.empty()) ++end;
    }
    return ends;
  }

  // What is hidden at the end of the step, beside the last pass, which takes so long.
  void AddHiddenEnd(int32_t before, int64_t longest_ps) {
    PassExchanges exchanges = slices().end.exchanges;
    int64_t left = longest_ps;
    for (ExchangeTime& time : exchanges) {
      time.hidden_ps = std::min(time.hidden_ps, left);
      left -= time.hidden_ps;
    }
    beside_last_ = AddHidden(before, exchanges);
  }

  void AddEnd() {
    const StepEndSlice& end = slices().end;
    pending_.insert(pending_.end(), beside_last_.begin(), beside_last_.end());
    run_ = stage_;
    micro_batch_ = 0;
    for (std::size_t group = 0; group < kNumExchangeGroups; ++group) {
      if (end.exchanges[group].shown_ps == 0) continue;
      Add(TaskKind::kAllReduce, end.exchanges[group].shown_ps);
      SetUses(group);
    }
    if (end.ends_ps > 0) {
      Add(TaskKind::kAllReduce, end.ends_ps);
      SetUses(kNumExchangeGroups + static_cast<std::size_t>(StageTransfer::kEnds));
    }
    if (end.update_ps > 0) Add(uses_ == nullptr ? TaskKind::kAllReduce : TaskKind::kUpdate, end.update_ps);
  }

  // On the stage, behind its last task and what runs beside that.
  void Add(TaskKind kind, int64_t duration_ps) {
    const auto task = static_cast<int32_t>(list_.tasks.size());
    Put(kind, static_cast<int32_t>(stage_), duration_ps);
    list_.order[static_cast<std::size_t>(stage_)].push_back(task);
    for (const int32_t before : pending_) Wait(task, before);
    pending_.clear();
    last_ = task;
  }

  // On the link of which the exchange uses most.
  int32_t AddBeside(std::size_t group, int64_t duration_ps) {
    const auto task = static_cast<int32_t>(list_.tasks.size());
    const std::vector<LinkUse>& uses = list_.link_uses[PositionOf(group)];
    const auto most = std::max_element(uses.begin(), uses.end(),
                                       [](const LinkUse& a, const LinkUse& b) { return a.share < b.share; });
    Put(kExchangeKinds.at(group), most == uses.end() ? static_cast<int32_t>(stage_) : most->link, duration_ps);
    SetUses(group);
    return task;
  }

  void Put(TaskKind kind, int32_t resource, int64_t duration_ps) {
    Task& task = list_.tasks.emplace_back();
    task.kind = kind;
    task.stage = static_cast<int32_t>(run_);
    task.micro_batch = static_cast<int32_t>(micro_batch_);
    task.resource = resource;
    task.duration = Picoseconds(duration_ps);
  }

  std::size_t PositionOf(std::size_t exchange) const {
    return static_cast<std::size_t>(stage_) * kNumStageExchanges + exchange;
  }

  // Of the last task.
  void SetUses(std::size_t exchange) {
    if (uses_ == nullptr || list_.link_uses[PositionOf(exchange)].empty()) return;
    list_.tasks.back().link_uses = static_cast<int32_t>(PositionOf(exchange));
  }

  void Wait(int32_t after, int32_t before) { list_.precedences.push_back({before, after}); }

  Ends& EndsOf(bool is_backward, int64_t run, int64_t micro_batch) {
    return (is_backward ? backward_ : forward_)[static_cast<std::size_t>(run * shape_.micro_batches + micro_batch)];
  }

  void WaitForEnd(const Ends& after, const Ends& before) {
    for (int32_t i = 0; i <= after.beside_first; ++i) Wait(after.first + i, before.last);
  }

  // What the passes of a run wait for.
  void Connect(int64_t run, int64_t batch) {
    if (run > 0) WaitForEnd(EndsOf(false, run, batch), EndsOf(false, run - 1, batch));
    const bool is_last = run + 1 == shape_.runs();
    WaitForEnd(EndsOf(true, run, batch), is_last ? EndsOf(false, run, batch) : EndsOf(true, run + 1, batch));
  }

  static constexpr int32_t kNone = -1;

  const JointPlan& plan_;
  const std::vector<StageSlices>& slices_;
  const StageLinkUses* const uses_;
  const std::vector<std::vector<ChunkCost>> costs_;
  const StepShape shape_;
  // By run and micro-batch.
  std::vector<Ends> forward_;
  std::vector<Ends> backward_;
  // Of the stage in hand: its last task so far, and exchanges beside it that the next one waits for.
  int64_t stage_ = 0;
  int32_t last_ = kNone;
  std::vector<int32_t> pending_;
  // Beside the last pass.
  std::vector<int32_t> beside_last_;
  int64_t run_ = 0;
  int64_t micro_batch_ = 0;
  TaskList list_;
};

// Passes in one piece each.
std::vector<StageSlices> WholePasses(const LayerPricer& pricer, const DeviceRow& row, const JointPlan& plan) {
  std::vector<StageSlices> stages;
  for (const std::vector<ChunkCost>& chunks : CostChunks(pricer, row, plan)) {
    StageSlices& slices = stages.emplace_back();
    for (const ChunkCost& cost : chunks) {
      slices.chunks.push_back({{{cost.forward_ps, {}}}, {{cost.backward_ps, {}}}});
    }
    slices.end.update_ps = plan.stages[stages.size() - 1].step_end.count();
  }
  return stages;
}

int64_t TasksOf(const std::vector<PassSlice>& slices) {
  auto tasks = static_cast<int64_t>(slices.size());
  for (const PassSlice& slice : slices) {
    for (const ExchangeTime& time : slice.exchanges)
      tasks += (time.shown_ps > 0 ? 1 : 0) + (time.hidden_ps > 0 ? 1 : 0);
  }
  return tasks;
}

// Of copying and joining a slice.
constexpr std::size_t kUnitsPerSlice = 50;

// Layers of the longest run.
int64_t LongestRun(const JointPlan& plan) {
  std::size_t longest = 1;
  for (const JointStage& stage : plan.stages) {
    for (const JointChunk& chunk : stage.chunks) longest = std::max(longest, chunk.recomputation.size());
  }
  return static_cast<int64_t>(longest);
}

// No fewer than there are: of a run and micro-batch four transfers and the gradients of weights beside its slices, of a
// stage all exchanges at the end.
int64_t TasksOf(const std::vector<StageSlices>& stages, const JointPlan& plan) {
  constexpr int64_t kBesideSlices = 5;
  constexpr int64_t kAtTheEnd = 2 * kNumExchangeGroups + 2;
  int64_t tasks = 0;
  for (const StageSlices& stage : stages) {
    for (const ChunkSlices& chunk : stage.chunks) {
      tasks += TasksOf(chunk.forward) + TasksOf(chunk.backward) + kBesideSlices;
    }
  }
  return SaturatingAdd(SaturatingMultiply(tasks, plan.micro_batches), kAtTheEnd * std::ssize(stages));
}

}  // namespace

int64_t MostStepTasks(const JointPlan& plan) {
  const int64_t tasks_of_passes = plan.order == PipelineOrder::kZeroBubble ? 7 : 6;
  const auto stages = static_cast<int64_t>(plan.stages.size());
  const int64_t runs = SaturatingMultiply(stages, plan.chunks);
  return SaturatingAdd(SaturatingMultiply(SaturatingMultiply(runs, plan.micro_batches), tasks_of_passes), stages);
}

TaskList StepTasks(const LayerPricer& pricer, const DeviceRow& row, const JointPlan& plan,
                   const std::vector<std::string>& names) {
  return TaskWriter(pricer, row, plan, WholePasses(pricer, row, plan), nullptr).Write(names);
}

std::optional<StepOnLinks> StepTasksOnLinks(const LayerPricer& pricer, const DeviceRow& row, const JointPlan& plan,
                                            const std::vector<std::string>& names, const StageLinkUses& uses,
                                            const TaskLimits& limits) {
  const std::vector<StageSlices> layers = SlicesOf(pricer, row, plan);
  const int64_t longest = LongestRun(plan);
  StepOnLinks step;
  std::vector<StageSlices> slices = layers;
  while (step.layers_per_task < longest && TasksOf(slices, plan) > limits.wanted) {
    InterruptionPoint(pricer.kinds().size() * kUnitsPerSlice);
    slices = layers;
    JoinSlices(++step.layers_per_task, slices);
  }
  if (TasksOf(slices, plan) > limits.most) return std::nullopt;
  step.list = TaskWriter(pricer, row, plan, slices, &uses).Write(names);
  return step;
}

}  // namespace planwright
