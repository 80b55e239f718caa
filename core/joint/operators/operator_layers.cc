#include "core/joint/operators/operator_layers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "core/base/units.h"
#include "core/graph/chain.h"

namespace planwright {
namespace {

// Returns the time on the class where it takes longest, by its times or by its variants.
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
  for (Operator& op : sorted.operators) {
    if (op.forward_operator.has_value()) op.forward_operator = place_of[op.forward_operator->index()];
  }
  for (const std::size_t position : PositionsByName(graph.tensors)) {
    Tensor& tensor = sorted.tensors.emplace_back(graph.tensors[position]);
    tensor.producer = place_of[tensor.producer.index()];
    for (OperatorId& consumer : tensor.consumers) consumer = place_of[consumer.index()];
    std::sort(tensor.consumers.begin(), tensor.consumers.end());
  }
  return sorted;
}

// By operator, whether it reads what another of its layer makes, or is a BACKWARD operator beside others.
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
  for (const std::vector<OperatorId>& layer : layers) {
    const auto is_forward = [&](OperatorId op) { return graph.operators[op.index()].pass == Pass::kForward; };
    if (std::none_of(layer.begin(), layer.end(), is_forward)) continue;
    for (const OperatorId op : layer) is_behind[op.index()] = is_behind[op.index()] || !is_forward(op);
  }
  return is_behind;
}

// `chain`: of `sorted`, whose operators are the `given` ones.
OperatorLayers LayersOf(OperatorGroups chain, const OperatorGraph& sorted, const std::vector<OperatorId>& given) {
  OperatorLayers layers;
  layers.operators = std::move(chain);
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

}  // namespace

std::vector<OperatorLayers> DivideInEveryOrder(const OperatorGraph& graph, const ResolvedProblem& problem,
                                               const CostTable& costs) {
  const std::vector<OperatorId> given = IdsByName(graph.operators);
  const OperatorGraph sorted = SortedByName(graph, given);
  std::vector<int64_t> weights;
  weights.reserve(given.size());
  for (std::size_t op = 0; op < given.size(); ++op) {
    weights.push_back(WeightOf(sorted.operators[op], given[op], costs));
  }
  ResolvedProblem plain = problem;
  plain.start_from.reset();
  std::vector<OperatorLayers> divisions;
  for (OperatorGroups& chain : LinearizeInEveryOrder(sorted, plain, weights, kMostOperatorLayers)) {
    divisions.push_back(LayersOf(std::move(chain), sorted, given));
  }
  return divisions;
}

}  // namespace planwright
