#include "tests/reference/pattern_program.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "core/base/index.h"
#include "core/cost/chain/chain_costs.h"
#include "core/cost/chain/periodic_costing.h"
#include "core/schedule/pattern_steps.h"

namespace planwright {
namespace {

using Entries = std::vector<IntegerProgram::Entry>;

class Builder {
 public:
  Builder(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation)
      : chain_(chain),
        devices_(devices),
        allocation_(allocation),
        sums_(chain),
        steps_(PatternSteps(chain, sums_, devices, allocation)),
        forward_(allocation.size(), 0),
        backward_(allocation.size(), 0) {}

  PatternProgram Build() && {
    made_.program.title = "The shortest periodic pattern of an allocation: minimise minus the rate";
    SetUnit();
    AddColumns();
    for (int32_t step = 0; step + 1 < num_steps(); ++step) AddOrder(step);
    for (int32_t before = 0; before < num_steps(); ++before) {
      for (int32_t after = before + 1; after < num_steps(); ++after) {
        if (At(before).resource == At(after).resource) AddExclusion(before, after);
      }
    }
    if (chain_.has_backward && devices_.memory_bytes.has_value()) {
      for (std::size_t stage = 0; stage < allocation_.size(); ++stage) AddMemory(stage);
    }
    return std::move(made_);
  }

 private:
  int32_t num_steps() const { return static_cast<int32_t>(steps_.size()); }
  const PatternStep& At(int32_t step) const { return steps_[Index(step)]; }
  double Duration(int32_t step) const {
    return static_cast<double>(At(step).duration.count()) / static_cast<double>(made_.unit.count());
  }

  void SetUnit() {
    std::map<int32_t, Picoseconds> load;
    for (const PatternStep& step : steps_) load[step.resource] += step.duration;
    for (const auto& [resource, time] : load) made_.unit = std::max(made_.unit, time);
  }

  void AddColumns() {
    made_.rate = made_.program.AddContinuous("rate", 0, 1);
    made_.program.columns[Index(made_.rate)].objective = -1;
    for (int32_t step = 0; step < num_steps(); ++step) {
      // No step waits a whole period, see pattern_search.h; the first one starts at 0.
      starts_.push_back(made_.program.AddContinuous("start_" + std::to_string(step), 0, step == 0 ? 0 : 2 * step));
      if (At(step).operation == PatternOperation::kForward) forward_[Index(At(step).stage)] = step;
      if (At(step).operation == PatternOperation::kBackward) backward_[Index(At(step).stage)] = step;
    }
  }

  // The next step starts when this one has ended, and within a period from then.
  void AddOrder(int32_t step) {
    const Entries wait = {{starts_[Index(step) + 1], 1}, {starts_[Index(step)], -1}, {made_.rate, -Duration(step)}};
    made_.program.AddRow("order_" + std::to_string(step), 0, 1, wait);
  }

  // Steps without duration meet nobody; their shifts only count for memory, forward passes by their starts, backward
  // passes by their ends.
  void AddExclusion(int32_t before, int32_t after) {
    double ahead = Duration(before);
    const bool is_counted = At(before).operation == PatternOperation::kForward;
    const bool ends = At(after).operation == PatternOperation::kBackward;
    if (Duration(before) == 0 || Duration(after) == 0) {
      if (!is_counted) return;
      ahead = ends ? -Duration(after) : 0;
    }
    const double behind = ends || Duration(before) > 0 ? Duration(after) : 0;
    AddShift(before, after, ahead, behind);
  }

  // shift + ahead <= start of the one after - start of the one before <= shift + 1 - behind, in periods.
  void AddShift(int32_t before, int32_t after, double ahead, double behind) {
    const std::string name = std::to_string(before) + "_" + std::to_string(after);
    const int32_t shift = made_.program.AddBinary("shift_" + name);
    made_.program.columns[Index(shift)].upper = 2 * num_steps();
    shifts_[{before, after}] = shift;
    Entries delay = {{starts_[Index(after)], 1}, {starts_[Index(before)], -1}, {shift, -1}};
    delay.push_back({made_.rate, -ahead});
    made_.program.AddAtLeast("after_" + name, delay, 0);
    delay.back().coefficient = behind;
    made_.program.AddAtMost("until_" + name, delay, 1);
  }

  // What the device of a stage holds when its forward pass starts, in units of its memory.
  void AddMemory(std::size_t starting) {
    const int32_t device = allocation_[starting].device;
    const auto memory = static_cast<double>(std::max<int64_t>(1, *devices_.memory_bytes));
    int64_t room = *devices_.memory_bytes - FixedBytes(chain_, sums_, devices_, allocation_)[Index(device)];
    Entries kept;
    for (std::size_t stage = 0; stage < allocation_.size(); ++stage) {
      const auto& [first, last, holder] = allocation_[stage];
      if (holder != device) continue;
      const int64_t bytes = sums_.stored_bytes(first, last);
      const double share = static_cast<double>(bytes) / memory;
      kept.push_back({shifts_.at({forward_[starting], backward_[stage]}), share});
      if (stage < starting) kept.push_back({shifts_.at({forward_[stage], forward_[starting]}), share});
      if (stage > starting) kept.push_back({shifts_.at({forward_[starting], forward_[stage]}), -share});
      // The micro-batch at hand.
      if (stage <= starting) room -= bytes;
    }
    made_.program.AddAtMost("memory_" + std::to_string(starting), kept, static_cast<double>(room) / memory);
  }

  const Chain& chain_;
  const ChainDevices& devices_;
  const ChainAllocation& allocation_;
  const ChainSums sums_;
  const std::vector<PatternStep> steps_;
  PatternProgram made_;
  std::vector<int32_t> starts_;
  // By stage.
  std::vector<int32_t> forward_;
  std::vector<int32_t> backward_;
  std::map<std::pair<int32_t, int32_t>, int32_t> shifts_;
};

}  // namespace

PatternProgram BuildPatternProgram(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation) {
  return Builder(chain, devices, allocation).Build();
}

}  // namespace planwright
