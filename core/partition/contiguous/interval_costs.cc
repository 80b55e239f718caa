#include "core/partition/contiguous/interval_costs.h"

#include <algorithm>

#include "core/base/index.h"

namespace planwright {

IntervalCosts::IntervalCosts(const BlockInstance& instance, const std::vector<int32_t>& order)
    : instance_(instance),
      order_(order),
      pins_(instance.nets.size()),
      borders_(order.size() + 1, 0),
      border_buffers_(order.size() + 1, 0),
      pins_before_(instance.nets.size(), 0),
      growth_(instance),
      rooms_(order.size(), 0) {
  for (std::size_t position = 0; position < order.size(); ++position) {
    for (const int32_t net : instance.nets_of[Index(order[position])]) pins_[Index(net)].push_back(position);
  }
  for (std::size_t net = 0; net < pins_.size(); ++net) {
    // The boundaries after the first pin up to the one before the last are cut.
    borders_[pins_[net].front() + 1] += instance.nets[net].weight;
    borders_[pins_[net].back() + 1] -= instance.nets[net].weight;
    border_buffers_[pins_[net].front() + 1] += instance.nets[net].buffer_bytes;
    border_buffers_[pins_[net].back() + 1] -= instance.nets[net].buffer_bytes;
  }
  for (std::size_t position = 1; position < borders_.size(); ++position) {
    borders_[position] += borders_[position - 1];
    border_buffers_[position] += border_buffers_[position - 1];
  }
}

void IntervalCosts::MoveTo(std::size_t end) {
  for (; end_ < end; ++end_) {
    for (const int32_t net : instance_.nets_of[Index(order_[end_])]) {
      if (++pins_before_[Index(net)] == 1) open_.push_back(net);
    }
  }
  std::erase_if(open_, [&](int32_t net) { return pins_before_[Index(net)] == pins_[Index(net)].size(); });
  steps_.clear();
  for (const int32_t net : open_) {
    const Net& data = instance_.nets[Index(net)];
    const auto& pins = pins_[Index(net)];
    steps_.push_back({pins[pins_before_[Index(net)] - 1], data.weight, data.buffer_bytes});
    steps_.push_back({pins.front(), data.weight, data.buffer_bytes});
  }
  std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.position > b.position; });
}

std::size_t IntervalCosts::Loads(std::size_t pool, int64_t replicas, int64_t max_load, std::vector<int64_t>& loads) {
  return instance_.rule.is_additive() ? AdditiveLoads(pool, replicas, max_load, loads)
                                      : GrownLoads(pool, replicas, max_load, loads);
}

std::size_t IntervalCosts::AdditiveLoads(std::size_t pool_index, int64_t replicas, int64_t max_load,
                                         std::vector<int64_t>& loads) {
  const DevicePool& pool = instance_.pools[pool_index];
  const UnitMemory& memory = instance_.memory;
  const bool reduces = instance_.rule.reduces(replicas);
  const int64_t max_time = SaturatingMultiply(replicas, max_load);
  int64_t correction = 2 * borders_[end_];
  int64_t buffer_correction = 2 * border_buffers_[end_];
  int64_t time = 0;
  int64_t workspace = 0;
  int64_t parameter_bytes = 0;
  MemorySums sums;
  auto step = steps_.begin();
  for (std::size_t start = end_; start-- > 0;) {
    const auto block = Index(order_[start]);
    time += pool.time[block];
    workspace = std::max(workspace, memory.workspace[block]);
    sums.Add(memory, block);
    if (reduces) parameter_bytes += instance_.parameter_bytes[block];
    if (!pool.supported[block] || time > max_time) return start + 1;
    if (pool.memory_bytes.has_value() && sums.Total(memory, 0, workspace) > *pool.memory_bytes) return start + 1;
    for (; step != steps_.end() && step->position >= start; ++step) {
      correction -= step->weight;
      buffer_correction -= step->buffer_bytes;
    }
    const int64_t cut = pool.pays_transfers ? borders_[end_] + borders_[start] - correction : 0;
    const int64_t buffers = border_buffers_[end_] + border_buffers_[start] - buffer_correction;
    rooms_[start] =
        pool.memory_bytes.has_value() ? *pool.memory_bytes - sums.Total(memory, buffers, workspace) : kMaxQuantity;
    const int64_t load =
        replicas == 1 ? time + cut : instance_.rule.AdditiveLoad(time + cut, parameter_bytes, replicas);
    loads[start] = rooms_[start] >= 0 && load <= max_load ? load : kInfeasible;
  }
  return 0;
}

std::size_t IntervalCosts::GrownLoads(std::size_t pool, int64_t replicas, int64_t max_load,
                                      std::vector<int64_t>& loads) {
  const int64_t max_compute = SaturatingMultiply(replicas, instance_.rule.ComputeBudget(max_load));
  std::size_t first = 0;
  for (std::size_t start = end_; start-- > 0 && first == 0;) {
    growth_.Add(order_[start]);
    if (growth_.Compute(pool) > max_compute || growth_.IsTooLarge(pool)) {
      first = start + 1;
      continue;
    }
    const int64_t load = growth_.Load(pool, replicas);
    rooms_[start] = growth_.Room(pool);
    loads[start] = load <= max_load && growth_.Fits(pool) ? load : kInfeasible;
  }
  growth_.Clear();
  return first;
}

}  // namespace planwright
