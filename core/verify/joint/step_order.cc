#include "core/verify/joint/step_order.h"

#include <algorithm>
#include <cstddef>
#include <deque>

#include "core/base/interruption.h"

namespace planwright::verify {
namespace {

// Tasks are numbered by run, micro-batch and pass; edges lead from a task to the next on its device and to the one that
// reads its result.
class StepGraph {
 public:
  StepGraph(const std::vector<StepRun>& runs, PipelineOrder order, int64_t num_devices, int64_t micro_batches)
      : runs_(runs),
        order_(order),
        num_runs_(static_cast<int64_t>(runs.size())),
        num_devices_(num_devices),
        micro_batches_(micro_batches),
        next_on_device_(runs.size() * static_cast<std::size_t>(kParts * micro_batches), -1),
        waits_(next_on_device_.size(), 0),
        start_(next_on_device_.size(), 0) {
    for (int64_t device = 0; device < num_devices; ++device) Chain(OrderOn(device));
    for (std::size_t task = 0; task < waits_.size(); ++task) {
      if (ReaderOf(static_cast<int64_t>(task)) >= 0)
        ++waits_[static_cast<std::size_t>(ReaderOf(static_cast<int64_t>(task)))];
    }
  }

  std::vector<int64_t> Ends() {
    std::vector<int64_t> ends(static_cast<std::size_t>(num_devices_), 0);
    std::deque<int64_t> ready;
    for (std::size_t task = 0; task < waits_.size(); ++task) {
      if (waits_[task] == 0) ready.push_back(static_cast<int64_t>(task));
    }
    while (!ready.empty()) {
      InterruptionPoint();
      const int64_t task = ready.front();
      ready.pop_front();
      const int64_t end = start_[static_cast<std::size_t>(task)] + TimeOf(task);
      int64_t& last = ends[static_cast<std::size_t>(RunOf(task) % num_devices_)];
      last = std::max(last, end);
      for (const int64_t after : {next_on_device_[static_cast<std::size_t>(task)], ReaderOf(task)}) {
        if (after < 0) continue;
        start_[static_cast<std::size_t>(after)] = std::max(start_[static_cast<std::size_t>(after)], end);
        if (--waits_[static_cast<std::size_t>(after)] == 0) ready.push_back(after);
      }
    }
    return ends;
  }

 private:
  // Parts of the passes of a micro-batch; where the backward pass is one, the last takes no time.
  static constexpr int64_t kForward = 0;
  static constexpr int64_t kBackward = 1;
  static constexpr int64_t kWeights = 2;
  static constexpr int64_t kParts = 3;

  int64_t NumberOf(int64_t run, int64_t micro_batch, int64_t part) const {
    return (run * micro_batches_ + micro_batch) * kParts + part;
  }
  int64_t RunOf(int64_t task) const { return task / kParts / micro_batches_; }
  int64_t TimeOf(int64_t task) const {
    const StepRun& run = runs_[static_cast<std::size_t>(RunOf(task))];
    if (task % kParts == kWeights) return run.weights_ps;
    return task % kParts == kBackward ? run.backward_ps : run.forward_ps;
  }

  // -1: nobody.
  int64_t ReaderOf(int64_t task) const {
    const int64_t run = RunOf(task);
    const int64_t micro_batch = task / kParts % micro_batches_;
    if (task % kParts == kWeights) return -1;
    if (task % kParts == kBackward) return run > 0 ? NumberOf(run - 1, micro_batch, kBackward) : -1;
    return run + 1 < num_runs_ ? NumberOf(run + 1, micro_batch, kForward) : NumberOf(run, micro_batch, kBackward);
  }

  // All forward, or all backward tasks of a device in the order in which it does them.
  std::vector<int64_t> PassOn(int64_t device, bool is_backward) const {
    std::vector<int64_t> tasks;
    const int64_t rounds = num_runs_ > num_devices_ ? micro_batches_ / num_devices_ : 1;
    const int64_t per_round = micro_batches_ / rounds;
    for (int64_t round = 0; round < rounds; ++round) {
      for (int64_t turn = 0; turn < num_runs_ / num_devices_; ++turn) {
        const int64_t at = is_backward ? num_runs_ / num_devices_ - 1 - turn : turn;
        for (int64_t i = 0; i < per_round; ++i) {
          tasks.push_back(
              NumberOf(at * num_devices_ + device, round * per_round + i, is_backward ? kBackward : kForward));
        }
      }
    }
    return tasks;
  }

  std::vector<int64_t> OrderOn(int64_t device) const {
    const std::vector<int64_t> forward = PassOn(device, false);
    const std::vector<int64_t> backward = PassOn(device, true);
    if (order_ == PipelineOrder::kGpipe) {
      std::vector<int64_t> all = forward;
      all.insert(all.end(), backward.rbegin(), backward.rend());
      return all;
    }
    const int64_t runs_here = num_runs_ / num_devices_;
    const int64_t behind = num_devices_ - device - 1;
    const int64_t warm_up = runs_here == 1 ? behind : 2 * behind + (runs_here - 1) * num_devices_;
    const auto ahead = static_cast<std::size_t>(std::min(warm_up, static_cast<int64_t>(forward.size())));
    std::vector<int64_t> order(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(ahead));
    for (std::size_t i = 0; i < backward.size(); ++i) {
      if (ahead + i < forward.size()) order.push_back(forward[ahead + i]);
      order.push_back(backward[i]);
      // Each device before this one is one micro-batch further with them.
      const int64_t due = static_cast<int64_t>(i) - device;
      if (order_ == PipelineOrder::kZeroBubble && due >= 0) order.push_back(NumberOf(device, due, kWeights));
    }
    if (order_ != PipelineOrder::kZeroBubble) return order;
    for (int64_t due = std::max<int64_t>(0, micro_batches_ - device); due < micro_batches_; ++due) {
      order.push_back(NumberOf(device, due, kWeights));
    }
    return order;
  }

  void Chain(const std::vector<int64_t>& order) {
    for (std::size_t i = 1; i < order.size(); ++i) {
      next_on_device_[static_cast<std::size_t>(order[i - 1])] = order[i];
      ++waits_[static_cast<std::size_t>(order[i])];
    }
  }

  const std::vector<StepRun>& runs_;
  PipelineOrder order_;
  int64_t num_runs_;
  int64_t num_devices_;
  int64_t micro_batches_;
  // By task.
  std::vector<int64_t> next_on_device_;
  std::vector<int32_t> waits_;
  std::vector<int64_t> start_;
};

}  // namespace

int64_t ClosedFormPs(const StepSums& sums, PipelineOrder order, int64_t num_devices, int64_t micro_batches) {
  const StepRun& most = sums.most;
  __extension__ using Wide = __int128;
  const Wide both = Wide{most.forward_ps} + most.backward_ps;
  const Wide others = micro_batches - 1;
  const auto step = [&]() -> Wide {
    switch (order) {
      case PipelineOrder::kOneFOneB:
        return sums.sum_ps + others * sums.longest_ps;
      case PipelineOrder::kGpipe:
        return sums.sum_ps + others * both;
      case PipelineOrder::kZeroBubble:
        return (others + 1) * (both + most.weights_ps) +
               (num_devices - 1) * std::max({Wide{most.forward_ps}, Wide{most.backward_ps}, both - most.weights_ps});
      case PipelineOrder::kInterleaved:
        break;
    }
    return Wide{1} << 62;
  };
  return static_cast<int64_t>(std::min(step(), Wide{1} << 62));
}

int64_t SlotsPs(const std::vector<StepRun>& runs, int64_t num_devices, int64_t micro_batches) {
  __extension__ using Wide = __int128;
  if (num_devices < 1) return 0;
  const auto num_runs = static_cast<int64_t>(runs.size());
  // The number-th pass of a device is one of a run, in turns of as many micro-batches as there are devices.
  const auto length_of = [&](int64_t slot, int64_t num_passes) {
    int64_t forward = 0;
    int64_t backward = 0;
    for (int64_t device = 0; device < num_devices; ++device) {
      const int64_t number = slot - device;
      if (number < 0 || number >= num_passes) continue;
      const int64_t run = number % num_runs / num_devices * num_devices + device;
      forward = std::max(forward, runs[static_cast<std::size_t>(run)].forward_ps);
      // Backward passes go from the last run to the first.
      backward = std::max(backward, runs[static_cast<std::size_t>(num_runs - 1 - run)].backward_ps);
    }
    return Wide{forward} + backward;
  };
  // As if there were no more micro-batches than devices, and what every further turn through all runs adds.
  Wide once = 0;
  for (int64_t slot = 0; slot < num_runs + num_devices - 1; ++slot) once += length_of(slot, num_runs);
  Wide again = 0;
  for (int64_t slot = num_devices - 1; slot < num_runs + num_devices - 1; ++slot)
    again += length_of(slot, 2 * num_runs);
  return static_cast<int64_t>(std::min(once + (micro_batches / num_devices - 1) * again, Wide{1} << 62));
}

std::vector<int64_t> EndsOfStep(const std::vector<StepRun>& runs, PipelineOrder order, int64_t num_devices,
                                int64_t micro_batches) {
  return StepGraph(runs, order, num_devices, micro_batches).Ends();
}

}  // namespace planwright::verify
