#include "core/schedule/pattern_steps.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "core/base/ids.h"
#include "core/base/index.h"

namespace planwright {
namespace {

// Numbers links in the order of their first use.
class Links {
 public:
  explicit Links(const ChainDevices& devices) : devices_(devices) {}

  int32_t Find(int32_t from, int32_t to) {
    if (!devices_.full_duplex && from > to) std::swap(from, to);
    const auto link = std::pair(from, to);
    const auto found = std::find(used_.begin(), used_.end(), link);
    const auto position = static_cast<int32_t>(found - used_.begin());
    if (found == used_.end()) used_.push_back(link);
    return devices_.count + position;
  }

 private:
  const ChainDevices& devices_;
  std::vector<std::pair<int32_t, int32_t>> used_;
};

}  // namespace

std::vector<PatternStep> PatternSteps(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                                      const ChainAllocation& allocation) {
  Links links(devices);
  std::vector<PatternStep> steps;
  const auto num_stages = static_cast<int32_t>(allocation.size());
  const auto is_sent = [&](int32_t stage) {
    return stage >= 0 && stage + 1 < num_stages &&
           allocation[Index(stage)].device != allocation[Index(stage) + 1].device;
  };
  for (int32_t stage = 0; stage < num_stages; ++stage) {
    const auto& [first, last, device] = allocation[Index(stage)];
    steps.push_back({PatternOperation::kForward, stage, device, sums.forward(first, last)});
    if (!is_sent(stage)) continue;
    const int32_t link = links.Find(device, allocation[Index(stage) + 1].device);
    steps.push_back({PatternOperation::kSendForward, stage, link, chain.cuts[Index(last)].send_forward});
  }
  if (!chain.has_backward) return steps;
  for (int32_t stage = num_stages - 1; stage >= 0; --stage) {
    const auto& [first, last, device] = allocation[Index(stage)];
    steps.push_back({PatternOperation::kBackward, stage, device, sums.backward(first, last)});
    if (!is_sent(stage - 1)) continue;
    const int32_t link = links.Find(device, allocation[Index(stage) - 1].device);
    steps.push_back({PatternOperation::kSendBackward, stage, link, chain.cuts[Index(first) - 1].send_backward});
  }
  return steps;
}

PeriodicPattern PatternOf(const std::vector<PatternStep>& steps, const std::vector<Picoseconds>& starts,
                          Picoseconds period) {
  PeriodicPattern pattern{period, {}};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    pattern.tasks.push_back({steps[i].operation, StageId(Index(steps[i].stage)), starts[i] % period,
                             static_cast<int32_t>(starts[i] / period)});
  }
  std::sort(pattern.tasks.begin(), pattern.tasks.end(), [](const PatternTask& a, const PatternTask& b) {
    return std::tuple(a.stage, a.operation) < std::tuple(b.stage, b.operation);
  });
  return pattern;
}

}  // namespace planwright
