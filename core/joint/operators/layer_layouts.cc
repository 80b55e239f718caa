#include "core/joint/operators/layer_layouts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "core/base/units.h"
#include "core/joint/operators/layout_choice.h"

namespace planwright {
namespace {

bool HasLayouts(const Operator& op) {
  return std::any_of(op.variants.begin(), op.variants.end(), [](const OperatorVariant& variant) {
    return !variant.input_layout.empty() || !variant.output_layout.empty();
  });
}

const std::string kBetweenLayers;

// The nearest whole number, a half and what doubles may make of it the one below.
int64_t Whole(double picoseconds) {
  constexpr double kMost = 1e18;
  return static_cast<int64_t>(std::floor(std::min(picoseconds, kMost) + 0.499));
}

template <typename TimeOf>
void AddToEach(const std::vector<OperatorChoice>& choices, std::vector<int64_t>& times, TimeOf time_of) {
  for (std::size_t choice = 0; choice < choices.size(); ++choice)
    times[choice] = SaturatingAdd(times[choice], time_of(choices[choice]));
}

}  // namespace

LayerLayouts::LayerLayouts(const OperatorGraph& graph, const OperatorLayers& layers) : graph_(graph), layers_(layers) {
  for (const LayoutChange& change : graph.layout_changes) shares_[{change.from, change.to}] = change.share;
  std::vector<std::size_t> layer_of(graph.operators.size(), 0);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    for (const OperatorId op : layers.operators[layer]) layer_of[op.index()] = layer;
  }
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const std::vector<OperatorId>& operators = layers.operators[layer];
    const bool has_layouts = std::any_of(operators.begin(), operators.end(),
                                         [&](OperatorId op) { return HasLayouts(graph.operators[op.index()]); });
    if (has_layouts) AddLayer(layer, layer_of);
  }
}

void LayerLayouts::AddLayer(std::size_t number, const std::vector<std::size_t>& layer_of) {
  Layer& layer = with_layouts_.emplace_back();
  layer.number = number;
  layer.operators = OrderOf(layers_.operators[number]);
  const auto is_here = [&](OperatorId op) {
    return layer_of[op.index()] == number && graph_.operators[op.index()].pass == Pass::kForward;
  };
  for (const Tensor& tensor : graph_.tensors) {
    const auto bytes = static_cast<double>(tensor.size_bytes);
    const bool is_made_here = is_here(tensor.producer);
    bool leaves = false;
    for (const OperatorId& consumer : tensor.consumers) {
      if (graph_.operators[consumer.index()].pass == Pass::kBackward) continue;
      leaves = leaves || !is_here(consumer);
      if (is_here(consumer)) layer.edges.push_back({is_made_here ? &tensor.producer : nullptr, &consumer, bytes});
    }
    if (is_made_here && leaves) layer.edges.push_back({&tensor.producer, nullptr, bytes});
  }
}

std::vector<OperatorId> LayerLayouts::OrderOf(const std::vector<OperatorId>& operators) const {
  std::map<OperatorId, int> missing;
  for (const OperatorId op : operators) {
    if (graph_.operators[op.index()].pass == Pass::kForward) missing[op] = 0;
  }
  std::map<OperatorId, std::vector<OperatorId>> readers;
  for (const Tensor& tensor : graph_.tensors) {
    if (!missing.contains(tensor.producer)) continue;
    for (const OperatorId consumer : tensor.consumers) {
      if (!missing.contains(consumer)) continue;
      ++missing[consumer];
      readers[tensor.producer].push_back(consumer);
    }
  }
  const auto by_name = [&](OperatorId a, OperatorId b) {
    return graph_.operators[a.index()].name < graph_.operators[b.index()].name;
  };
  std::set<OperatorId, decltype(by_name)> ready(by_name);
  for (const auto& [op, count] : missing) {
    if (count == 0) ready.insert(op);
  }
  std::vector<OperatorId> order;
  while (!ready.empty()) {
    order.push_back(*ready.begin());
    ready.erase(ready.begin());
    for (const OperatorId reader : readers[order.back()]) {
      if (--missing[reader] == 0) ready.insert(reader);
    }
  }
  return order;
}

double LayerLayouts::BytesOf(const Edge& edge, const OperatorChoice* from, const OperatorChoice* to) const {
  const std::string& made = from == nullptr ? kBetweenLayers : from->layouts.output;
  const std::string& read = to == nullptr ? kBetweenLayers : to->layouts.input;
  if (made == read) return 0;
  const auto share = shares_.find({made, read});
  return share == shares_.end() ? 0 : share->second * edge.bytes;
}

std::vector<std::size_t> LayerLayouts::Choose(const std::vector<std::vector<OperatorChoice>>& choices, double factor,
                                              const Exchanged& exchanged) const {
  std::vector<std::size_t> chosen(graph_.operators.size(), 0);
  for (const Layer& layer : with_layouts_) {
    std::map<OperatorId, std::size_t> place_of;
    LayoutProblem problem;
    for (const OperatorId op : layer.operators) {
      place_of.emplace(op, place_of.size());
      std::vector<int64_t>& times = problem.operators.emplace_back();
      for (const OperatorChoice& choice : choices[op.index()]) {
        times.push_back(Whole(choice.share.forward + choice.share.backward));
      }
    }
    const auto both_ways = [&](const Edge& edge, const OperatorChoice* from, const OperatorChoice* to) {
      return Whole(2 * exchanged(factor * BytesOf(edge, from, to)));
    };
    for (const Edge& edge : layer.edges) {
      if (edge.from == nullptr) {
        AddToEach(choices[edge.to->index()], problem.operators[place_of.at(*edge.to)],
                  [&](const OperatorChoice& to) { return both_ways(edge, nullptr, &to); });
      } else if (edge.to == nullptr) {
        AddToEach(choices[edge.from->index()], problem.operators[place_of.at(*edge.from)],
                  [&](const OperatorChoice& from) { return both_ways(edge, &from, nullptr); });
      } else {
        LayoutProblem::Edge& inner = problem.edges.emplace_back();
        inner.from = place_of.at(*edge.from);
        inner.to = place_of.at(*edge.to);
        for (const OperatorChoice& from : choices[edge.from->index()]) {
          std::vector<int64_t>& times = inner.change_ps.emplace_back(choices[edge.to->index()].size(), 0);
          AddToEach(choices[edge.to->index()], times,
                    [&](const OperatorChoice& to) { return both_ways(edge, &from, &to); });
        }
      }
    }
    const std::vector<std::size_t> best = ChooseLayouts(problem);
    for (const auto& [op, place] : place_of) chosen[op.index()] = best[place];
  }
  return chosen;
}

std::vector<double> LayerLayouts::ChangesPs(const std::vector<std::vector<OperatorChoice>>& choices,
                                            const std::vector<std::size_t>& chosen, double factor,
                                            const Exchanged& exchanged) const {
  std::vector<double> changes(layers_.size(), 0);
  const auto choice_of = [&](const OperatorId* op) {
    return op == nullptr ? nullptr : &choices[op->index()][chosen[op->index()]];
  };
  for (const Layer& layer : with_layouts_) {
    for (const Edge& edge : layer.edges) {
      changes[layer.number] += exchanged(factor * BytesOf(edge, choice_of(edge.from), choice_of(edge.to)));
    }
  }
  return changes;
}

}  // namespace planwright
