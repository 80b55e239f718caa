#include "core/joint/cost/step_simulation.h"

#include <algorithm>
#include <cstddef>

#include "core/base/interruption.h"

namespace planwright {
namespace {

using Pass = StepTask::Pass;

constexpr int64_t kNotDone = -1;

// Chunk by chunk for as many micro-batches as there are stages, then the next micro-batches.
StepTask Forward(const StepShape& shape, int64_t stage, int64_t number) {
  if (shape.chunks == 1) return {Pass::kForward, stage, 0, number};
  const int64_t chunk = number % shape.runs() / shape.num_stages;
  return {Pass::kForward, chunk * shape.num_stages + stage, chunk,
          number / shape.runs() * shape.num_stages + number % shape.num_stages};
}

StepTask Backward(const StepShape& shape, int64_t stage, int64_t number) {
  StepTask task = Forward(shape, stage, number);
  task.pass = Pass::kBackward;
  task.chunk = shape.chunks - 1 - task.chunk;
  task.run = task.chunk * shape.num_stages + stage;
  return task;
}

StepTask ZeroBubbleTask(const StepShape& shape, int64_t stage, int64_t number) {
  const int64_t late = stage;
  const int64_t ahead = shape.num_stages - 1 - stage;
  const auto task = [stage](Pass pass, int64_t micro_batch) { return StepTask{pass, stage, 0, micro_batch}; };
  if (number < ahead) return task(Pass::kForward, number);
  int64_t left = number - ahead;
  // Turns of a forward and a backward pass, of all three, of the two parts of the backward pass, of gradients of
  // weights.
  if (left < 2 * late)
    return task(left % 2 == 0 ? Pass::kForward : Pass::kBackward, left / 2 + (left % 2 == 0 ? ahead : 0));
  left -= 2 * late;
  const int64_t whole_turns = shape.micro_batches - ahead - late;
  if (left < 3 * whole_turns) {
    const int64_t turn = left / 3;
    if (left % 3 == 0) return task(Pass::kForward, ahead + late + turn);
    return left % 3 == 1 ? task(Pass::kBackward, late + turn) : task(Pass::kWeights, turn);
  }
  left -= 3 * whole_turns;
  if (left < 2 * ahead) {
    return left % 2 == 0 ? task(Pass::kBackward, late + whole_turns + left / 2)
                         : task(Pass::kWeights, whole_turns + left / 2);
  }
  return task(Pass::kWeights, whole_turns + ahead + left - 2 * ahead);
}

class StepSimulator {
 public:
  StepSimulator(const PipelineTimes& times, PipelineOrder order, int64_t micro_batches)
      : times_(times),
        shape_{order, static_cast<int64_t>(times.size()), static_cast<int64_t>(times.front().size()), micro_batches},
        forward_(static_cast<std::size_t>(shape_.runs() * micro_batches), kNotDone),
        backward_(forward_),
        done_(times.size(), 0),
        clock_(times.size(), 0) {}

  std::vector<int64_t> Run() {
    bool is_moving = true;
    while (is_moving) {
      is_moving = false;
      for (int64_t stage = 0; stage < shape_.num_stages; ++stage) {
        int64_t& done = done_[static_cast<std::size_t>(stage)];
        InterruptionPoint();
        while (done < shape_.tasks() && Do(stage, StepTaskAt(shape_, stage, done))) {
          ++done;
          is_moving = true;
          InterruptionPoint();
        }
      }
    }
    return clock_;
  }

 private:
  int64_t& DoneAt(std::vector<int64_t>& passes, int64_t run, int64_t micro_batch) const {
    return passes[static_cast<std::size_t>(run * shape_.micro_batches + micro_batch)];
  }

  bool Do(int64_t stage, const StepTask& task) {
    int64_t ready = 0;
    if (task.pass == Pass::kBackward) {
      ready = task.run + 1 < shape_.runs() ? DoneAt(backward_, task.run + 1, task.micro_batch)
                                           : DoneAt(forward_, task.run, task.micro_batch);
    } else if (task.pass == Pass::kForward && task.run > 0) {
      ready = DoneAt(forward_, task.run - 1, task.micro_batch);
    }
    if (ready == kNotDone) return false;
    const ChunkTimes& times = times_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(task.chunk)];
    int64_t& clock = clock_[static_cast<std::size_t>(stage)];
    if (task.pass == Pass::kWeights) {
      clock += times.weights_ps;
      return true;
    }
    const bool is_backward = task.pass == Pass::kBackward;
    clock = std::max(clock, ready) + (is_backward ? times.backward_ps : times.forward_ps);
    DoneAt(is_backward ? backward_ : forward_, task.run, task.micro_batch) = clock;
    return true;
  }

  const PipelineTimes& times_;
  StepShape shape_;
  // When they end, by run and micro-batch.
  std::vector<int64_t> forward_;
  std::vector<int64_t> backward_;
  // By stage.
  std::vector<int64_t> done_;
  std::vector<int64_t> clock_;
};

}  // namespace

StepTask StepTaskAt(const StepShape& shape, int64_t stage, int64_t number) {
  const int64_t all = shape.micro_batches * shape.chunks;
  if (shape.order == PipelineOrder::kZeroBubble) return ZeroBubbleTask(shape, stage, number);
  if (shape.order == PipelineOrder::kGpipe) {
    return number < all ? Forward(shape, stage, number) : Backward(shape, stage, 2 * all - 1 - number);
  }
  const int64_t behind = shape.num_stages - 1 - stage;
  const int64_t ahead = std::min(all, shape.chunks == 1 ? behind : 2 * behind + (shape.chunks - 1) * shape.num_stages);
  if (number < ahead) return Forward(shape, stage, number);
  const int64_t turn = number - ahead;
  const int64_t turns = all - ahead;
  if (turn >= 2 * turns) return Backward(shape, stage, turns + turn - 2 * turns);
  return turn % 2 == 0 ? Forward(shape, stage, ahead + turn / 2) : Backward(shape, stage, turn / 2);
}

std::vector<int64_t> SimulateStep(const PipelineTimes& times, PipelineOrder order, int64_t micro_batches) {
  return StepSimulator(times, order, micro_batches).Run();
}

}  // namespace planwright
