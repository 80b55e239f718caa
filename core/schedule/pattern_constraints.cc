#include "core/schedule/pattern_constraints.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/units.h"
#include "core/cost/chain/periodic_costing.h"

namespace planwright {
namespace {

std::vector<std::vector<int32_t>> StepsByResource(const std::vector<PatternStep>& steps) {
  std::vector<std::vector<int32_t>> steps_of;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const std::size_t resource = Index(steps[step].resource);
    if (resource >= steps_of.size()) steps_of.resize(resource + 1);
    steps_of[resource].push_back(static_cast<int32_t>(step));
  }
  return steps_of;
}

// nullopt: they have nothing to do with each other.
std::optional<PatternConstraints::Pair> PairFor(const PatternConstraints& constraints, int32_t before, int32_t after) {
  const int64_t duration_before = constraints.duration[Index(before)];
  const int64_t duration_after = constraints.duration[Index(after)];
  if (duration_before > 0 && duration_after > 0) {
    return PatternConstraints::Pair{before, after, duration_before, duration_after};
  }
  if (constraints.steps[Index(before)].operation != PatternOperation::kForward) return std::nullopt;
  const PatternOperation operation = constraints.steps[Index(after)].operation;
  // Forward passes count when they start, backward passes when they end.
  if (operation == PatternOperation::kForward) return PatternConstraints::Pair{before, after, 0, 0};
  return PatternConstraints::Pair{before, after, -duration_after, duration_after};
}

void AddPairs(std::vector<std::vector<int32_t>> steps_of, PatternConstraints& constraints) {
  std::stable_sort(steps_of.begin(), steps_of.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  const std::size_t num_steps = constraints.steps.size();
  constraints.pair_of.assign(num_steps * num_steps, -1);
  for (const std::vector<int32_t>& steps : steps_of) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (std::size_t j = i + 1; j < steps.size(); ++j) {
        const std::optional<PatternConstraints::Pair> pair = PairFor(constraints, steps[i], steps[j]);
        if (!pair.has_value()) continue;
        constraints.pair_of[Index(steps[i]) * num_steps + Index(steps[j])] =
            static_cast<int32_t>(constraints.pairs.size());
        constraints.pairs.push_back(*pair);
      }
    }
  }
}

// The room of every device, and whether one micro-batch at a time fits.
void AddRooms(const Chain& chain, const ChainSums& sums, int64_t memory_bytes, const std::vector<int64_t>& fixed_bytes,
              const ChainAllocation& allocation, PatternConstraints& constraints) {
  std::vector<PatternConstraints::Room> rooms(fixed_bytes.size());
  for (std::size_t device = 0; device < rooms.size(); ++device)
    rooms[device].bytes = memory_bytes - fixed_bytes[device];
  std::vector<PatternConstraints::Stored> stored;
  for (const auto& [first, last, device] : allocation) stored.push_back({sums.stored_bytes(first, last), 0, 0});
  for (int32_t step = 0; step < constraints.num_steps(); ++step) {
    const auto& [operation, stage, resource, duration] = constraints.steps[Index(step)];
    if (operation == PatternOperation::kForward) stored[Index(stage)].forward = step;
    if (operation == PatternOperation::kBackward) stored[Index(stage)].backward = step;
  }
  for (std::size_t stage = 0; stage < stored.size(); ++stage) {
    rooms[Index(allocation[stage].device)].stages.push_back(stored[stage]);
  }
  for (PatternConstraints::Room& room : rooms) {
    int64_t needed = 0;
    for (const auto& [bytes, forward, backward] : room.stages) {
      // Without backward passes each stage lets go before the next one starts.
      needed = chain.has_backward ? needed + bytes : std::max(needed, bytes);
    }
    constraints.has_room = constraints.has_room && needed <= room.bytes;
    if (chain.has_backward && !room.stages.empty()) constraints.rooms.push_back(std::move(room));
  }
}

// Longest starts from the first step on; `cause` holds the edge into each step that made its start.
class LongestStarts {
 public:
  LongestStarts(const PatternConstraints& constraints, const std::vector<int32_t>& shifts) : constraints_(constraints) {
    for (int32_t step = 0; step + 1 < constraints.num_steps(); ++step) {
      edges_.push_back({step, step + 1, constraints.duration[Index(step)], 0});
    }
    for (std::size_t i = 0; i < shifts.size(); ++i) {
      const auto& [before, after, ahead, behind] = constraints.pairs[i];
      edges_.push_back({before, after, ahead, shifts[i]});
      edges_.push_back({after, before, behind, -shifts[i] - 1});
    }
  }

  // nullopt: `starts` holds. Otherwise a longer period that a cycle asks for.
  std::optional<int64_t> Settle(int64_t period, std::vector<int64_t>& starts) const {
    starts.assign(constraints_.earliest.begin(), constraints_.earliest.end() - 1);
    std::vector<int32_t> cause(starts.size(), -1);
    for (std::size_t round = 0; round <= starts.size(); ++round) {
      int32_t changed = -1;
      for (std::size_t i = 0; i < edges_.size(); ++i) {
        const auto& [from, to, time, periods] = edges_[i];
        const int64_t start = starts[Index(from)] + time + periods * period;
        if (start <= starts[Index(to)]) continue;
        starts[Index(to)] = start;
        cause[Index(to)] = static_cast<int32_t>(i);
        changed = to;
      }
      if (changed < 0) return std::nullopt;
      if (const std::optional<int64_t> longer = PeriodOfCycle(changed, cause)) return longer;
    }
    return std::nullopt;
  }

 private:
  // Step `to` starts at least `time` + `periods` x period after step `from`.
  struct Edge {
    int32_t from;
    int32_t to;
    int64_t time;
    int64_t periods;
  };

  // Follows causes back from `step`; nullopt if they come to an end.
  std::optional<int64_t> PeriodOfCycle(int32_t step, const std::vector<int32_t>& cause) const {
    for (std::size_t i = 0; i < cause.size(); ++i) {
      if (cause[Index(step)] < 0) return std::nullopt;
      step = edges_[Index(cause[Index(step)])].from;
    }
    int64_t time = 0;
    int64_t periods = 0;
    int32_t at = step;
    do {
      const Edge& edge = edges_[Index(cause[Index(at)])];
      time += edge.time;
      periods -= edge.periods;
      at = edge.from;
    } while (at != step);
    return CeilDivide(time, periods);
  }

  const PatternConstraints& constraints_;
  std::vector<Edge> edges_;
};

}  // namespace

PatternConstraints ConstraintsOf(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                                 const ChainAllocation& allocation) {
  PatternConstraints constraints;
  constraints.steps = PatternSteps(chain, sums, devices, allocation);
  constraints.earliest.push_back(0);
  for (const PatternStep& step : constraints.steps) {
    constraints.duration.push_back(step.duration.count());
    constraints.earliest.push_back(constraints.earliest.back() + step.duration.count());
  }
  const std::vector<std::vector<int32_t>> steps_of = StepsByResource(constraints.steps);
  for (const std::vector<int32_t>& steps : steps_of) {
    int64_t load = 0;
    for (const int32_t step : steps) load += constraints.duration[Index(step)];
    constraints.load = std::max(constraints.load, load);
  }
  AddPairs(steps_of, constraints);
  if (devices.memory_bytes.has_value()) {
    AddRooms(chain, sums, *devices.memory_bytes, FixedBytes(chain, sums, devices, allocation), allocation, constraints);
  }
  return constraints;
}

ShiftedPattern ShortestPeriod(const PatternConstraints& constraints, const std::vector<int32_t>& shifts) {
  const LongestStarts longest(constraints, shifts);
  ShiftedPattern pattern{constraints.load, {}};
  while (const std::optional<int64_t> longer = longest.Settle(pattern.period, pattern.starts)) {
    pattern.period = *longer;
  }
  return pattern;
}

}  // namespace planwright
