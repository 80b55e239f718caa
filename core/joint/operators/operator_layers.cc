#include "core/joint/operators/operator_layers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "core/base/units.h"
#include "core/graph/chain.h"

namespace planwright {
namespace {

// On the class where it takes longest, by its times or by its variants.
int64_t WeightOf(const Operator& op, OperatorId id, const CostTable& costs) {
  int64_t weight = 0;
  for (std::size_t device_class = 0; device_class < costs.num_classes(); ++device_class) {
    const OperatorTime& time = costs.time(id, DeviceClassId(device_class));
    if (time.supported) weight = std::max(weight, time.total().count());
  }
  for (const OperatorVariant& variant : op.variants) {
    weight = std::max(weight, SaturatingAdd(variant.forward.count(), variant.backward.count()));
  }
  return weight;
}

template <typename Named>
std::vector<std::size_t> PositionsByName(const std::vector<Named>& list) {
  std::vector<std::size_t> positions(list.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  std::sort(positions.begin(), positions.end(),
            [&](std::size_t a, std::size_t b) { return list[a].name < list[b].name; });
  return positions;
}

std::vector<OperatorId> IdsByName(const std::vector<Operator>& operators) {
  std::vector<OperatorId> ids;
  for (const std::size_t position : PositionsByName(operators)) ids.emplace_back(position);
  return ids;
}

// What the division needs of the graph, operators and tensors in the order of their names. `given`: numbers of the
// operators in `graph`, in that order.
OperatorGraph SortedByName(const OperatorGraph& graph, const std::vector<OperatorId>& given) {
  OperatorGraph sorted;
  std::vector<OperatorId> place_of(given.size());
  for (std::size_t place = 0; place < given.size(); ++place) {
    sorted.operators.push_back(graph.operators[given[place].index()]);
    place_of[given[place].index()] = OperatorId(place);
  }
  for (const std::size_t position : PositionsByName(graph.tensors)) {
    Tensor& tensor = sorted.tensors.emplace_back(graph.tensors[position]);
    tensor.producer = place_of[tensor.producer.index()];
    for (OperatorId& consumer : tensor.consumers) consumer = place_of[consumer.index()];
    std::sort(tensor.consumers.begin(), tensor.consumers.end());
  }
  return sorted;
}

// By operator, whether it reads what another of its layer makes.
std::vector<bool> BehindOthersOfLayer(const OperatorGraph& graph, const OperatorGroups& layers) {
  std::vector<std::size_t> layer_of(graph.operators.size());
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    for (const OperatorId op : layers[layer]) layer_of[op.index()] = layer;
  }
  std::vector<bool> is_behind(graph.operators.size(), false);
  for (const Tensor& tensor : graph.tensors) {
    for (const OperatorId consumer : tensor.consumers) {
      if (layer_of[consumer.index()] == layer_of[tensor.producer.index()]) is_behind[consumer.index()] = true;
    }
  }
  return is_behind;
}

}  // namespace

OperatorLayers DivideIntoLayers(const OperatorGraph& graph, const ResolvedProblem& problem, const CostTable& costs) {
  const std::vector<OperatorId> given = IdsByName(graph.operators);
  const OperatorGraph sorted = SortedByName(graph, given);
  std::vector<int64_t> weights;
  weights.reserve(given.size());
  for (std::size_t op = 0; op < given.size(); ++op) {
    weights.push_back(WeightOf(sorted.operators[op], given[op], costs));
  }
  ResolvedProblem plain = problem;
  plain.start_from.reset();
  OperatorLayers layers;
  layers.operators = LinearizeGraph(sorted, plain, weights, kMostOperatorLayers);
  const std::vector<bool> is_behind = BehindOthersOfLayer(sorted, layers.operators);
  for (std::vector<OperatorId>& operators : layers.operators) {
    const auto first =
        std::find_if(operators.begin(), operators.end(), [&](OperatorId op) { return !is_behind[op.index()]; });
    layers.labels.push_back(sorted.operators[first->index()].name);
    for (OperatorId& op : operators) op = given[op.index()];
    std::sort(operators.begin(), operators.end());
  }
  return layers;
}

}  // namespace planwright
