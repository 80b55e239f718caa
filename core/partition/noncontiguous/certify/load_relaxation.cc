#include "core/partition/noncontiguous/certify/load_relaxation.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "core/base/index.h"

namespace planwright {
namespace {

// A pool that needs more than this many times as long as the fastest one is better relaxed to one that pays nothing.
constexpr int64_t kMuchSlower = 2;

int64_t TotalTime(const DevicePool& pool) {
  int64_t total = 0;
  for (const int64_t time : pool.time) total = SaturatingAdd(total, time);
  return total;
}

std::vector<bool> PayerPools(const std::vector<DevicePool>& pools) {
  int64_t fastest = LoadRelaxation::kNever;
  for (const DevicePool& pool : pools) {
    if (pool.pays_transfers) fastest = std::min(fastest, TotalTime(pool));
  }
  return Mapped(pools, [&](const DevicePool& pool) {
    return pool.pays_transfers && TotalTime(pool) <= SaturatingMultiply(fastest, kMuchSlower);
  });
}

}  // namespace

LoadRelaxation RelaxLoads(const BlockInstance& blocks, bool with_nets) {
  const std::size_t num_groups = blocks.operators.size();
  LoadRelaxation relaxation;
  relaxation.payer_time.assign(num_groups, LoadRelaxation::kNever);
  relaxation.other_time.assign(num_groups, LoadRelaxation::kNever);
  const std::vector<bool> is_payer = PayerPools(blocks.pools);
  for (std::size_t pool = 0; pool < blocks.pools.size(); ++pool) {
    const DevicePool& devices = blocks.pools[pool];
    (is_payer[pool] ? relaxation.num_payers : relaxation.num_others) += static_cast<int64_t>(devices.devices.size());
    std::vector<int64_t>& times = is_payer[pool] ? relaxation.payer_time : relaxation.other_time;
    for (std::size_t group = 0; group < num_groups; ++group) {
      if (devices.supported[group]) times[group] = std::min(times[group], devices.time[group]);
    }
  }
  if (!with_nets) return relaxation;
  for (const Net& net : blocks.nets) {
    if (net.weight > 0) relaxation.nets.push_back(net);
  }
  return relaxation;
}

LoadRelaxation ContractGroups(const LoadRelaxation& relaxation, const std::vector<int32_t>& label_of,
                              int32_t num_labels) {
  LoadRelaxation contracted;
  contracted.num_payers = relaxation.num_payers;
  contracted.num_others = relaxation.num_others;
  contracted.payer_time.assign(static_cast<std::size_t>(num_labels), 0);
  contracted.other_time.assign(static_cast<std::size_t>(num_labels), 0);
  for (std::size_t group = 0; group < label_of.size(); ++group) {
    const auto label = static_cast<std::size_t>(label_of[group]);
    contracted.payer_time[label] = SaturatingAdd(contracted.payer_time[label], relaxation.payer_time[group]);
    contracted.other_time[label] = SaturatingAdd(contracted.other_time[label], relaxation.other_time[group]);
  }
  std::map<std::vector<int32_t>, int64_t> weights;
  for (const Net& net : relaxation.nets) {
    std::vector<int32_t> labels =
        Mapped(net.blocks, [&](const int32_t group) { return label_of[static_cast<std::size_t>(group)]; });
    std::sort(labels.begin(), labels.end());
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    if (labels.size() > 1) weights[std::move(labels)] += net.weight;
  }
  for (const auto& [groups, weight] : weights) contracted.nets.push_back({.blocks = groups, .weight = weight});
  return contracted;
}

}  // namespace planwright
