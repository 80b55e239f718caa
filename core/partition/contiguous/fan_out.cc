#include "core/partition/contiguous/fan_out.h"

#include <algorithm>
#include <vector>

#include "core/base/index.h"
#include "core/base/polling.h"
#include "core/graph/digraph.h"

namespace planwright {
namespace {

// Counts the stages that consumers need at least.
class StageCounter {
 public:
  StageCounter(const BlockInstance& instance, int64_t max_load)
      : instance_(instance),
        max_load_(max_load),
        after_(instance.precedence, FirstNumbers(instance.operators.size())),
        least_times_(instance.operators.size(), kMaxQuantity) {
    for (const DevicePool& pool : instance.pools) {
      for (std::size_t block = 0; block < least_times_.size(); ++block) {
        if (pool.supported[block]) least_times_[block] = std::min(least_times_[block], pool.time[block]);
      }
    }
    for (const int64_t time : least_times_) total_time_ = SaturatingAdd(total_time_, time);
  }

  // At least so many stages hold one of `consumers` (ascending, hence in topological order); fewer are known when it is
  // interrupted.
  int64_t StagesFor(const std::vector<int32_t>& consumers, Poller& poller) const {
    std::vector<int32_t> chain;
    for (const int32_t consumer : consumers) {
      if (chain.empty() || after_.Reaches(chain.back(), consumer)) chain.push_back(consumer);
    }
    return std::max(GreedyCover(chain, poller), WorkCover(chain, poller));
  }

 private:
  int64_t GreedyCover(const std::vector<int32_t>& chain, Poller& poller) const {
    int64_t stages = 1;
    int32_t first = chain.front();
    for (const int32_t consumer : chain) {
      // The consumers so far need as many stages.
      if (poller.ShouldStop(instance_.num_blocks())) break;
      const int64_t time = SumIf([&](int32_t block) { return IsWithin(first, block, consumer); });
      if (time <= max_load_) continue;
      ++stages;
      first = consumer;
    }
    return stages;
  }

  // Whether every stage that holds `first` and `last` holds `block`.
  bool IsWithin(int32_t first, int32_t block, int32_t last) const {
    return (block == first || after_.Reaches(first, block)) && (block == last || after_.Reaches(block, last));
  }

  int64_t WorkCover(const std::vector<int32_t>& chain, Poller& poller) const {
    if (instance_.pools.size() != 1) return 1;
    const auto devices = static_cast<int64_t>(instance_.pools.front().devices.size());
    const std::optional<int64_t> widest = WidestGap(chain, poller);
    if (!widest.has_value()) return 1;
    const int64_t gap = std::min(max_load_, *widest);
    int64_t stages = 1;
    while (stages < devices && SaturatingAdd(SaturatingMultiply(stages, max_load_),
                                             SaturatingMultiply(devices - stages, gap)) < total_time_) {
      ++stages;
    }
    return stages;
  }

  // The most work of a stage that comes after one consumer, before the next and holds none: it has nothing that comes
  // before the one or after the other. nullopt: interrupted.
  std::optional<int64_t> WidestGap(const std::vector<int32_t>& chain, Poller& poller) const {
    int64_t widest = 0;
    for (std::size_t i = 0; i <= chain.size(); ++i) {
      if (poller.ShouldStop(instance_.num_blocks())) return std::nullopt;
      widest = std::max(widest, SumIf([&](int32_t block) {
                          const bool is_early = i > 0 && (block == chain[i - 1] || after_.Reaches(block, chain[i - 1]));
                          const bool is_late =
                              i < chain.size() && (block == chain[i] || after_.Reaches(chain[i], block));
                          return !is_early && !is_late;
                        }));
    }
    return widest;
  }

  template <typename Predicate>
  int64_t SumIf(Predicate predicate) const {
    int64_t sum = 0;
    for (int32_t block = 0; block < instance_.num_blocks(); ++block) {
      if (predicate(block)) sum = SaturatingAdd(sum, least_times_[Index(block)]);
    }
    return sum;
  }

  const BlockInstance& instance_;
  const int64_t max_load_;
  const ReachabilityMatrix after_;
  std::vector<int64_t> least_times_;
  int64_t total_time_ = 0;
};

}  // namespace

std::optional<BlockInstance> WithFanOutCosts(const BlockInstance& instance, int64_t max_load,
                                             const SolveLimits& limits) {
  if (instance.fan_outs.empty() || instance.num_blocks() > kMaxFanOutBlocks) return std::nullopt;
  if (!instance.rule.is_additive() || instance.rule.replicates) return std::nullopt;
  Poller poller(limits);
  if (poller.ShouldStopNow()) return std::nullopt;
  const StageCounter counter(instance, max_load);
  std::optional<BlockInstance> raised;
  int64_t work = 0;
  for (const FanOut& fan_out : instance.fan_outs) {
    work += static_cast<int64_t>(fan_out.consumers.size()) * instance.num_blocks();
    if (work > kMaxFanOutWork || poller.ShouldStop()) break;
    const int64_t beyond_net = counter.StagesFor(fan_out.consumers, poller) - 2;
    if (beyond_net <= 0) continue;
    if (!raised.has_value()) raised = instance;
    for (DevicePool& pool : raised->pools) {
      int64_t& time = pool.time[Index(fan_out.producer)];
      if (pool.supported[Index(fan_out.producer)]) {
        time = SaturatingAdd(time, SaturatingMultiply(beyond_net, fan_out.weight));
      }
    }
  }
  return raised;
}

}  // namespace planwright
