#include "core/joint/cost/step_simulation.h"

#include <algorithm>
#include <cstddef>

#include "core/base/interruption.h"

namespace planwright {
namespace {

constexpr int64_t kNotDone = -1;

struct Task {
  bool is_backward = false;
  // Of the whole pipeline, and of the stage.
  int64_t run = 0;
  int64_t chunk = 0;
  int64_t micro_batch = 0;
};

class StepSimulator {
 public:
  StepSimulator(const PipelineTimes& times, int64_t micro_batches)
      : times_(times),
        micro_batches_(micro_batches),
        num_stages_(static_cast<int64_t>(times.size())),
        chunks_(static_cast<int64_t>(times.front().size())),
        forward_(static_cast<std::size_t>(num_stages_ * chunks_ * micro_batches), kNotDone),
        backward_(forward_),
        done_(times.size(), 0),
        clock_(times.size(), 0) {}

  std::vector<int64_t> Run() {
    const int64_t tasks = 2 * micro_batches_ * chunks_;
    bool is_moving = true;
    while (is_moving) {
      is_moving = false;
      for (int64_t stage = 0; stage < num_stages_; ++stage) {
        int64_t& done = done_[static_cast<std::size_t>(stage)];
        InterruptionPoint();
        while (done < tasks && Do(stage, TaskOf(stage, done))) {
          ++done;
          is_moving = true;
          InterruptionPoint();
        }
      }
    }
    return clock_;
  }

 private:
  // The number-th task of a stage: forward passes until as many micro-batches are in flight as the order says, then one
  // of each pass in turn, then the backward passes that are left.
  Task TaskOf(int64_t stage, int64_t number) const {
    const int64_t all = micro_batches_ * chunks_;
    const int64_t behind = num_stages_ - 1 - stage;
    const int64_t ahead = std::min(all, chunks_ == 1 ? behind : 2 * behind + (chunks_ - 1) * num_stages_);
    if (number < ahead) return Forward(stage, number);
    const int64_t turn = number - ahead;
    const int64_t turns = all - ahead;
    if (turn < 2 * turns) return turn % 2 == 0 ? Forward(stage, ahead + turn / 2) : Backward(stage, turn / 2);
    return Backward(stage, turns + turn - 2 * turns);
  }

  // Chunk by chunk for as many micro-batches as there are stages, then the next micro-batches.
  Task Forward(int64_t stage, int64_t number) const {
    if (chunks_ == 1) return {false, stage, 0, number};
    const int64_t round = num_stages_ * chunks_;
    const int64_t chunk = number % round / num_stages_;
    return {false, chunk * num_stages_ + stage, chunk, number / round * num_stages_ + number % num_stages_};
  }
  Task Backward(int64_t stage, int64_t number) const {
    Task task = Forward(stage, number);
    task.is_backward = true;
    task.chunk = chunks_ - 1 - task.chunk;
    task.run = task.chunk * num_stages_ + stage;
    return task;
  }

  int64_t& DoneAt(std::vector<int64_t>& passes, int64_t run, int64_t micro_batch) {
    return passes[static_cast<std::size_t>(run * micro_batches_ + micro_batch)];
  }

  bool Do(int64_t stage, const Task& task) {
    const int64_t runs = num_stages_ * chunks_;
    int64_t ready = 0;
    if (task.is_backward) {
      ready = task.run + 1 < runs ? DoneAt(backward_, task.run + 1, task.micro_batch)
                                  : DoneAt(forward_, task.run, task.micro_batch);
    } else if (task.run > 0) {
      ready = DoneAt(forward_, task.run - 1, task.micro_batch);
    }
    if (ready == kNotDone) return false;
    const ChunkTimes& times = times_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(task.chunk)];
    int64_t& clock = clock_[static_cast<std::size_t>(stage)];
    clock = std::max(clock, ready) + (task.is_backward ? times.backward_ps : times.forward_ps);
    DoneAt(task.is_backward ? backward_ : forward_, task.run, task.micro_batch) = clock;
    return true;
  }

  const PipelineTimes& times_;
  int64_t micro_batches_;
  int64_t num_stages_;
  int64_t chunks_;
  // When they end, by run and micro-batch.
  std::vector<int64_t> forward_;
  std::vector<int64_t> backward_;
  // By stage.
  std::vector<int64_t> done_;
  std::vector<int64_t> clock_;
};

}  // namespace

std::vector<int64_t> SimulateStep(const PipelineTimes& times, int64_t micro_batches) {
  return StepSimulator(times, micro_batches).Run();
}

}  // namespace planwright
