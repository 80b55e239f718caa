#include "core/schedule/one_f_one_b_star.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/index.h"
#include "core/cost/chain/chain_costs.h"
#include "core/cost/chain/periodic_costing.h"
#include "core/schedule/delay.h"
#include "core/schedule/least_period.h"
#include "core/schedule/pattern_steps.h"

namespace planwright {
namespace {

// The stages and the cuts between them, 2 x stages - 1 in all, each with its steps of both passes: a stage is at an
// even position, a cut at an odd one.
class Pipeline {
 public:
  Pipeline(const Chain& chain, const ChainAllocation& allocation, const ChainDevices& devices)
      : has_backward_(chain.has_backward), full_duplex_(devices.full_duplex) {
    const ChainSums sums(chain);
    steps_ = PatternSteps(chain, sums, devices, allocation);
    const std::vector<int64_t> fixed_bytes = FixedBytes(chain, sums, devices, allocation);
    for (const ChainStage& stage : allocation) {
      fixed_bytes_.push_back(fixed_bytes[Index(stage.device)]);
      stored_bytes_.push_back(sums.stored_bytes(stage.first_layer, stage.last_layer));
    }
  }

  std::size_t num_stages() const { return stored_bytes_.size(); }

  // Returns the load of the busiest device or link, per micro-batch.
  Picoseconds MaxLoad() const {
    Picoseconds load(0);
    for (std::size_t i = 0; i < num_positions(); ++i) {
      load = std::max(load, OnTwoLinks(i) ? std::max(Forward(i), Backward(i)) : Forward(i) + Backward(i));
    }
    return load;
  }

  // Nothing overlaps in a period as long as this, and every stage stores one micro-batch.
  Picoseconds SequentialTime() const {
    Picoseconds time(0);
    for (const PatternStep& step : steps_) time += step.duration;
    return time;
  }

  // REQUIRES: period >= MaxLoad().
  bool Fits(Picoseconds period, int64_t memory_bytes) const {
    Delay delay;
    for (std::size_t i = num_positions(); i-- > 0;) {
      delay = Pass(i, delay, period).second;
      if (IsStage(i) && Bytes(i / 2, Batches(delay)) > memory_bytes) return false;
    }
    return true;
  }

  // REQUIRES: period >= MaxLoad().
  OneFOneBStar Schedule(Picoseconds period) const {
    std::vector<Picoseconds> starts(steps_.size());
    for (std::size_t i = 1; i < num_positions(); ++i) starts[i] = starts[i - 1] + Forward(i - 1);
    OneFOneBStar schedule;
    schedule.in_flight.resize(num_stages());
    Delay delay;
    for (std::size_t i = num_positions(); i-- > 0;) {
      const auto [wait, behind] = Pass(i, delay, period);
      if (has_backward_) starts[BackwardStep(i)] = starts[i] + Forward(i) + wait.Length(period);
      if (IsStage(i)) schedule.in_flight[i / 2] = Batches(behind);
      delay = behind;
    }
    schedule.pattern = PatternOf(steps_, starts, period);
    return schedule;
  }

 private:
  std::size_t num_positions() const { return 2 * num_stages() - 1; }
  std::size_t BackwardStep(std::size_t position) const { return steps_.size() - 1 - position; }
  static bool IsStage(std::size_t position) { return position % 2 == 0; }
  bool OnTwoLinks(std::size_t position) const { return full_duplex_ && !IsStage(position); }
  int32_t Batches(Delay delay) const { return has_backward_ ? delay.Batches() : 1; }

  Picoseconds Forward(std::size_t position) const { return steps_[position].duration; }
  Picoseconds Backward(std::size_t position) const {
    return has_backward_ ? steps_[BackwardStep(position)].duration : Picoseconds(0);
  }

  // How long the resources at the position wait between their steps, and the delay in front of them.
  std::pair<Delay, Delay> Pass(std::size_t position, Delay delay, Picoseconds period) const {
    const Delay wait = OnTwoLinks(position) ? delay : delay.Wait(Forward(position), Backward(position), period);
    return {wait, wait.Plus(Forward(position) + Backward(position), period)};
  }

  int64_t Bytes(std::size_t stage, int32_t batches) const {
    return StageBytes(fixed_bytes_[stage], stored_bytes_[stage], batches);
  }

  const bool has_backward_;
  const bool full_duplex_;
  // Forward ones by position, then the backward ones in reverse.
  std::vector<PatternStep> steps_;
  // By stage.
  std::vector<int64_t> fixed_bytes_;
  std::vector<int64_t> stored_bytes_;
};

}  // namespace

std::optional<OneFOneBStar> ScheduleOneFOneBStar(const Chain& chain, const ChainAllocation& allocation,
                                                 const ChainDevices& devices, Picoseconds period) {
  const Pipeline pipeline(chain, allocation, devices);
  if (pipeline.MaxLoad() > period) return std::nullopt;
  return pipeline.Schedule(period);
}

std::optional<Picoseconds> SmallestPeriod(const Chain& chain, const ChainAllocation& allocation,
                                          const ChainDevices& devices) {
  const Pipeline pipeline(chain, allocation, devices);
  const Picoseconds least = std::max(pipeline.MaxLoad(), Picoseconds(1));
  if (!devices.memory_bytes.has_value()) return least;
  return LeastPeriod(least, std::max(least, pipeline.SequentialTime()), [&](Picoseconds period) {
    return pipeline.Fits(period, *devices.memory_bytes) ? std::optional(period) : std::nullopt;
  });
}

}  // namespace planwright
