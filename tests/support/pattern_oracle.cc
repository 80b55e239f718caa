#include "tests/support/pattern_oracle.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "core/base/index.h"
#include "core/base/units.h"

namespace planwright {
namespace {

using Link = std::tuple<int32_t, int32_t>;

// A task as the model states it; `resource` is (device, -1) or (device, device).
struct Step {
  PatternOperation operation;
  int32_t stage;
  Link resource;
  int64_t duration;
};

Link LinkOf(const ChainDevices& devices, int32_t from, int32_t to) {
  return devices.full_duplex ? Link(from, to) : Link(std::min(from, to), std::max(from, to));
}

int64_t ForwardTime(const Chain& chain, const ChainStage& stage) {
  int64_t time = 0;
  for (int32_t l = stage.first_layer; l <= stage.last_layer; ++l) time += chain.layers[Index(l)].forward.count();
  return time;
}

int64_t BackwardTime(const Chain& chain, const ChainStage& stage) {
  int64_t time = 0;
  for (int32_t l = stage.first_layer; l <= stage.last_layer; ++l) time += chain.layers[Index(l)].backward.count();
  return time;
}

// What the stage stores for one micro-batch.
int64_t StoredBytes(const Chain& chain, const ChainStage& stage) {
  int64_t bytes = chain.layers[Index(stage.first_layer)].received_bytes;
  for (int32_t l = stage.first_layer; l <= stage.last_layer; ++l) bytes += chain.layers[Index(l)].stored_bytes;
  return bytes;
}

std::vector<Step> StepsOf(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation) {
  std::vector<Step> forward;
  std::vector<Step> backward;
  for (std::size_t i = 0; i < allocation.size(); ++i) {
    const ChainStage& stage = allocation[i];
    const auto number = static_cast<int32_t>(i);
    forward.push_back({PatternOperation::kForward, number, {stage.device, -1}, ForwardTime(chain, stage)});
    backward.push_back({PatternOperation::kBackward, number, {stage.device, -1}, BackwardTime(chain, stage)});
    if (i + 1 == allocation.size() || allocation[i + 1].device == stage.device) continue;
    const ChainCut& cut = chain.cuts[Index(stage.last_layer)];
    const int32_t next = allocation[i + 1].device;
    forward.push_back(
        {PatternOperation::kSendForward, number, LinkOf(devices, stage.device, next), cut.send_forward.count()});
    backward.push_back(
        {PatternOperation::kSendBackward, number + 1, LinkOf(devices, next, stage.device), cut.send_backward.count()});
  }
  if (chain.has_backward) forward.insert(forward.end(), backward.rbegin(), backward.rend());
  return forward;
}

// By step, absolute starts of micro-batch 0; empty: the tasks are not those of the steps.
std::vector<int64_t> StartsOf(const std::vector<Step>& steps, const PeriodicPattern& pattern) {
  std::vector<int64_t> starts;
  if (pattern.tasks.size() != steps.size()) return starts;
  for (const Step& step : steps) {
    const auto is_of_step = [&step](const PatternTask& task) {
      return task.operation == step.operation && task.stage.index() == Index(step.stage);
    };
    const auto task = std::find_if(pattern.tasks.begin(), pattern.tasks.end(), is_of_step);
    if (task == pattern.tasks.end() || task->start >= pattern.period || task->start.count() < 0) return {};
    starts.push_back(task->start.count() + task->shift * pattern.period.count());
  }
  return starts;
}

bool StepsOverlap(int64_t start, int64_t duration, int64_t other_start, int64_t other_duration) {
  return std::max(start, other_start) < std::min(start + duration, other_start + other_duration);
}

// Whether a step would run in the middle of another one, in some period.
bool Collide(const Step& a, int64_t start_a, const Step& b, int64_t start_b, int64_t period) {
  const int64_t rest = ((start_b - start_a) % period + period) % period;
  const bool fits_after = rest >= a.duration && rest + b.duration <= period;
  return a.duration > 0 && b.duration > 0 && !fits_after;
}

PeriodicPattern PatternFrom(const std::vector<Step>& steps, const std::vector<int64_t>& starts, int64_t period) {
  PeriodicPattern pattern{Picoseconds(period), {}};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    pattern.tasks.push_back({steps[i].operation, StageId(Index(steps[i].stage)), Picoseconds(starts[i] % period),
                             static_cast<int32_t>(starts[i] / period)});
  }
  return pattern;
}

// Starts step after step, in every way.
class Enumeration {
 public:
  Enumeration(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation, int64_t period)
      : chain_(chain),
        devices_(devices),
        allocation_(allocation),
        period_(period),
        steps_(StepsOf(chain, devices, allocation)) {}

  bool Exists() {
    if (starts_.size() == steps_.size()) return FitsMemory();
    const bool is_first = starts_.empty();
    const int64_t ready = is_first ? 0 : starts_.back() + steps_[starts_.size() - 1].duration;
    for (int64_t start = ready; start < ready + (is_first ? 1 : period_); ++start) {
      if (CollidesWithEarlier(start)) continue;
      starts_.push_back(start);
      if (Exists()) return true;
      starts_.pop_back();
    }
    return false;
  }

 private:
  bool CollidesWithEarlier(int64_t start) const {
    const Step& step = steps_[starts_.size()];
    if (step.duration > period_) return true;
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      if (steps_[i].resource == step.resource && Collide(steps_[i], starts_[i], step, start, period_)) return true;
    }
    return false;
  }

  bool FitsMemory() const {
    if (!devices_.memory_bytes.has_value()) return true;
    const auto peaks = SweptPeaks(chain_, devices_, allocation_, PatternFrom(steps_, starts_, period_));
    return *std::max_element(peaks.begin(), peaks.end()) <= *devices_.memory_bytes;
  }

  const Chain& chain_;
  const ChainDevices& devices_;
  const ChainAllocation& allocation_;
  const int64_t period_;
  const std::vector<Step> steps_;
  std::vector<int64_t> starts_;
};

}  // namespace

std::string FaultOf(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation,
                    const PeriodicPattern& pattern) {
  const std::vector<Step> steps = StepsOf(chain, devices, allocation);
  const std::vector<int64_t> starts = StartsOf(steps, pattern);
  if (starts.empty()) return "the tasks are not those of the allocation";
  if (starts.front() >= pattern.period.count()) return "the first forward task is shifted";
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    if (starts[i] + steps[i].duration > starts[i + 1]) return "step " + std::to_string(i + 1) + " starts too early";
  }
  const int64_t periods = starts.back() / pattern.period.count() + 2;
  for (std::size_t a = 0; a < steps.size(); ++a) {
    for (std::size_t b = a; b < steps.size(); ++b) {
      if (steps[a].resource != steps[b].resource) continue;
      for (int64_t later = -periods; later <= periods; ++later) {
        if (a == b && later == 0) continue;
        const int64_t start_b = starts[b] + later * pattern.period.count();
        if (StepsOverlap(starts[a], steps[a].duration, start_b, steps[b].duration)) {
          return "steps " + std::to_string(a) + " and " + std::to_string(b) + " overlap";
        }
      }
    }
  }
  return "";
}

std::vector<int64_t> SweptPeaks(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation,
                                const PeriodicPattern& pattern) {
  const std::vector<Step> steps = StepsOf(chain, devices, allocation);
  const std::vector<int64_t> starts = StartsOf(steps, pattern);
  const int64_t period = pattern.period.count();
  std::vector<int64_t> begin(allocation.size());
  std::vector<int64_t> end(allocation.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].operation == PatternOperation::kForward) begin[Index(steps[i].stage)] = starts[i];
    if (steps[i].operation == PatternOperation::kBackward || !chain.has_backward) {
      end[Index(steps[i].stage)] = starts[i] + steps[i].duration;
    }
    if (!chain.has_backward && steps[i].operation == PatternOperation::kSendForward) {
      end[Index(steps[i].stage)] = starts[i - 1] + steps[i - 1].duration;
    }
  }
  std::vector<int64_t> peaks(Index(devices.count), 0);
  for (int32_t device = 0; device < devices.count; ++device) {
    int64_t fixed = 0;
    int64_t workspace = 0;
    for (std::size_t i = 0; i < allocation.size(); ++i) {
      const bool is_last = i + 1 == allocation.size();
      if (!is_last && allocation[i].device != allocation[i + 1].device &&
          (allocation[i].device == device || allocation[i + 1].device == device)) {
        fixed += chain.cuts[Index(allocation[i].last_layer)].buffer_bytes;
      }
      if (allocation[i].device != device) continue;
      for (int32_t layer = allocation[i].first_layer; layer <= allocation[i].last_layer; ++layer) {
        fixed += chain.layers[Index(layer)].static_bytes;
        workspace = std::max(workspace, chain.layers[Index(layer)].workspace_bytes);
      }
    }
    peaks[Index(device)] = fixed + workspace;
    // Where a micro-batch turns back all stages store it, even if that takes no time.
    for (const ChainStage& stage : allocation) {
      if (stage.device != device || !chain.has_backward) continue;
      peaks[Index(device)] += StoredBytes(chain, stage);
    }
    const int64_t batches = (starts.back() + steps.back().duration) / period + 2;
    for (std::size_t starting = 0; starting < allocation.size(); ++starting) {
      const int64_t now = begin[starting];
      int64_t bytes = fixed + workspace;
      for (std::size_t i = 0; i < allocation.size(); ++i) {
        if (allocation[i].device != device) continue;
        const int64_t stored = StoredBytes(chain, allocation[i]);
        for (int64_t batch = -batches; batch <= batches; ++batch) {
          if (begin[i] + batch * period <= now && now < end[i] + batch * period) bytes += stored;
        }
      }
      peaks[Index(device)] = std::max(peaks[Index(device)], bytes);
    }
  }
  return peaks;
}

bool ExistsPattern(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation, int64_t period) {
  return Enumeration(chain, devices, allocation, period).Exists();
}

}  // namespace planwright
