#include "client/page/traffic.h"

#include <map>
#include <set>
#include <string_view>

namespace planwright::client {
namespace {

using Flows = std::map<std::pair<int, int>, Flow>;

void AddTo(Flows& flows, int from, int to, int64_t bytes, int tensor) {
  Flow& flow = flows[{from, to}];
  flow.from = from;
  flow.to = to;
  flow.bytes += bytes;
  flow.tensors.push_back(tensor);
}

std::vector<Flow> ListOf(Flows flows) {
  std::vector<Flow> list;
  for (auto& [ends, flow] : flows) list.push_back(std::move(flow));
  return list;
}

}  // namespace

Traffic TrafficOf(const v1::Plan& plan, const v1::Graph& graph) {
  std::unordered_map<std::string_view, std::string_view> labels;
  for (const v1::Operator& op : graph.operators()) labels.emplace(op.name(), op.layer());
  Traffic traffic;
  // By operator.
  std::unordered_map<std::string_view, int> layer_of;
  for (int stage = 0; stage < plan.stages_size(); ++stage) {
    std::unordered_map<std::string_view, int> of_label;
    for (const std::string& name : plan.stages(stage).operators()) {
      const auto label = labels.find(name);
      const bool has_label = label != labels.end() && !label->second.empty();
      const std::string_view layer = has_label ? label->second : std::string_view(name);
      const auto [place, is_new] = of_label.emplace(layer, static_cast<int>(traffic.layers.size()));
      if (is_new) traffic.layers.push_back({stage, std::string(layer), {}});
      traffic.layers[static_cast<std::size_t>(place->second)].operators.push_back(name);
      layer_of.emplace(name, place->second);
    }
  }
  Flows between_layers;
  Flows between_stages;
  const auto stage_of = [&](int layer) { return traffic.layers[static_cast<std::size_t>(layer)].stage; };
  for (int i = 0; i < graph.tensors_size(); ++i) {
    const v1::Tensor& tensor = graph.tensors(i);
    const auto producer = layer_of.find(tensor.producer());
    if (producer == layer_of.end()) continue;
    std::set<int> layers;
    std::set<int> stages;
    for (const std::string& name : tensor.consumers()) {
      const auto consumer = layer_of.find(name);
      if (consumer == layer_of.end() || consumer->second == producer->second) continue;
      layers.insert(consumer->second);
      if (stage_of(consumer->second) != stage_of(producer->second)) stages.insert(stage_of(consumer->second));
    }
    for (const int layer : layers) AddTo(between_layers, producer->second, layer, tensor.size_bytes(), i);
    for (const int stage : stages) AddTo(between_stages, stage_of(producer->second), stage, tensor.size_bytes(), i);
  }
  traffic.between_layers = ListOf(std::move(between_layers));
  traffic.between_stages = ListOf(std::move(between_stages));
  return traffic;
}

}  // namespace planwright::client
