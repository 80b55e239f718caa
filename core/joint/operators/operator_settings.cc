#include "core/joint/operators/operator_settings.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/joint/plan/settings.h"
#include "core/model/support.h"

namespace planwright {
namespace {

constexpr int64_t kMostSamples = 16;

std::vector<int32_t> DegreesInNodes(const std::vector<int32_t>& degrees, const TrainingCluster& cluster) {
  int32_t per_node = 1;
  for (const TrainingClass& part : cluster.classes) per_node = std::max(per_node, part.devices_per_node);
  std::vector<int32_t> held = degrees;
  std::erase_if(held, [&](int32_t degree) { return degree > per_node; });
  // Where no node holds any, the search says so.
  return held.empty() ? degrees : held;
}

}  // namespace

JointSettings ResolveOperatorJoint(const JointSettings& given, const OperatorGraph& graph,
                                   const TrainingCluster& cluster) {
  JointSettings settings = given;
  // Where stages may differ, each needs the degrees of its own operators.
  const DegreesOf which = given.per_stage ? DegreesOf::kAny : DegreesOf::kEvery;
  if (settings.tensor_degrees.empty()) settings.tensor_degrees = DegreesInNodes(TensorDegreesOf(graph, which), cluster);
  if (settings.context_degrees.empty()) settings.context_degrees = ContextDegreesOf(graph, which);
  if (settings.expert_degrees.empty()) settings.expert_degrees = ExpertDegreesOf(graph, which);
  if (settings.micro_batch_samples.empty()) {
    std::vector<int64_t>& samples = settings.micro_batch_samples;
    for (int64_t power = 1; power <= kMostSamples; power *= 2) samples.push_back(power);
    samples.push_back(graph.samples_per_micro_batch);
    std::erase_if(samples, [&](int64_t count) { return settings.global_batch % count != 0; });
    std::sort(samples.begin(), samples.end());
    samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
  }
  if (settings.recomputation.empty()) {
    settings.recomputation = {LayerRecomputation::kNone, LayerRecomputation::kFull};
  }
  if (settings.orders.empty()) settings.orders = {PipelineOrder::kOneFOneB};
  return ResolveJoint(settings, TransformerShape{}, cluster);
}

}  // namespace planwright
