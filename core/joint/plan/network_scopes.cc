#include "core/joint/plan/network_scopes.h"

#include <algorithm>
#include <utility>

#include "core/joint/cost/pair_links.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/plan/settings.h"

namespace planwright {
namespace {

constexpr std::size_t kMostProbes = 400;
// Probes times devices times layers.
constexpr std::size_t kMostProbeWork = 1'200'000;
constexpr std::size_t kFewLayers = 32;
// Numbers of stages up to which none is left out.
constexpr int32_t kFewStages = 8;
// Devices up to which every smaller number is looked at.
constexpr int64_t kFewDevices = 8;

int64_t DevicesOf(const TrainingCluster& cluster) { return static_cast<int64_t>(cluster.devices.size()); }

// Devices of a stage with one rank of data, at least.
int64_t LeastBlock(const JointSettings& settings) {
  return int64_t{*std::min_element(settings.tensor_degrees.begin(), settings.tensor_degrees.end())} *
         *std::min_element(settings.context_degrees.begin(), settings.context_degrees.end());
}

bool HasOrder(const std::vector<PipelineOrder>& orders, PipelineOrder order) {
  return std::find(orders.begin(), orders.end(), order) != orders.end();
}

std::vector<int32_t> DataDegrees(const NetworkScope& scope) {
  return DataDegreesUpTo(DevicesOf(scope.cluster) / LeastBlock(scope.settings), scope.settings);
}

// Other schedules than 1F1B have one choice for all.
std::vector<NetworkScope> NarrowScopesByStage(const NetworkScope& scope) {
  std::vector<NetworkScope> narrow;
  if (!HasOrder(scope.settings.orders, PipelineOrder::kOneFOneB)) return narrow;
  const auto add = [&]() -> NetworkScope& {
    narrow.push_back(scope);
    narrow.back().settings.orders = {PipelineOrder::kOneFOneB};
    return narrow.back();
  };
  add();
  for (const int32_t data : DataDegrees(scope)) add().settings.data_degrees = {data};
  for (const int32_t tensor : scope.settings.tensor_degrees) {
    if (tensor <= DevicesOf(scope.cluster)) add().settings.tensor_degrees = {tensor};
  }
  const int64_t devices = DevicesOf(scope.cluster);
  for (int64_t fewer = devices - 1; fewer > 0; fewer = devices <= kFewDevices ? fewer - 1 : fewer / 2) {
    add().cluster = FirstDevices(scope.cluster, fewer);
  }
  return narrow;
}

}  // namespace

ReachedLinks ReachedBy(const PlacedPlan& placed) {
  const PairLinks& pairs = *placed.cluster.pairs;
  const DeviceRow row(placed.cluster);
  // No faster than any pair.
  ReachedLinks reached{placed.cluster.inside, placed.cluster.inside};
  const std::vector<JointStage>& stages = placed.plan.stages;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const StageLinks within = LinksWithin(pairs, row.DevicesOf(stages[s]), stages[s].degrees);
    reached.tensor = Slower(reached.tensor, within.tensor);
    reached.others = Slower(reached.others, within.copies);
    if (s > 0) {
      const TrainingLink across = LinkAcross(pairs, row.DevicesOf(stages[s - 1]), row.DevicesOf(stages[s]));
      reached.others = Slower(reached.others, across);
    }
  }
  return reached;
}

TrainingCluster AsNodes(const TrainingCluster& cluster, int64_t node, const ReachedLinks& links) {
  TrainingCluster nodes{.classes = {}, .devices = {}, .inside = links.tensor, .between = links.others};
  auto next = cluster.devices.begin();
  for (const TrainingClass& part : cluster.classes) {
    TrainingClass own = part;
    own.devices_per_node = static_cast<int32_t>(std::min<int64_t>(node, part.devices()));
    own.nodes = static_cast<int32_t>(part.devices() / own.devices_per_node);
    if (part.devices() >= node) {
      nodes.classes.push_back(own);
      nodes.devices.insert(nodes.devices.end(), next, next + own.devices());
    }
    next += part.devices();
  }
  return nodes;
}

TrainingCluster NetworkScope::At(ReachedLinks links) const {
  if (node == 0) links.tensor = links.others = Slower(links.tensor, links.others);
  TrainingCluster priced = cluster;
  priced.inside = Slower(cluster.inside, links.tensor);
  priced.between = Slower(cluster.between, links.others);
  return priced;
}

int64_t NetworkScope::LeastStage() const {
  const std::vector<int32_t>& data = settings.data_degrees;
  return LeastBlock(settings) * (data.empty() ? 1 : *std::min_element(data.begin(), data.end()));
}

std::vector<NetworkScope> NarrowScopes(const NetworkScope& scope) {
  if (scope.settings.per_stage) return NarrowScopesByStage(scope);
  std::vector<NetworkScope> narrow;
  for (const int32_t data : DataDegrees(scope)) {
    for (const PipelineOrder order : scope.settings.orders) {
      NetworkScope& one = narrow.emplace_back(scope);
      one.settings.data_degrees = {data};
      one.settings.orders = {order};
    }
  }
  return narrow;
}

std::vector<int32_t> StageCounts(const NetworkScope& scope, int64_t num_layers, std::size_t most) {
  if (scope.settings.num_stages.has_value()) return {*scope.settings.num_stages};
  const auto longest = static_cast<int32_t>(std::min(num_layers, DevicesOf(scope.cluster) / scope.LeastStage()));
  std::vector<int32_t> counts;
  for (int32_t count = 1; count < longest; count += count < kFewStages ? 1 : std::max(1, count / 4)) {
    counts.push_back(count);
  }
  if (longest > 0) counts.push_back(longest);
  if (counts.size() <= most) return counts;
  std::vector<int32_t> spread;
  for (std::size_t number = 1; number <= most; ++number) spread.push_back(counts[number * counts.size() / most - 1]);
  return spread;
}

std::size_t MostProbes(std::size_t devices, std::size_t layers) {
  return std::min(kMostProbes, kMostProbeWork / (devices * std::max(layers, kFewLayers)));
}

}  // namespace planwright
