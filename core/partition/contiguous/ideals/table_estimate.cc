#include "core/partition/contiguous/ideals/table_estimate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/graph/digraph.h"

namespace planwright {
namespace {

Digraph EdgesOf(const OperatorGraph& graph) {
  std::vector<Digraph::Edge> edges;
  for (const Tensor& tensor : graph.tensors) {
    for (const OperatorId consumer : tensor.consumers) {
      edges.emplace_back(static_cast<int32_t>(tensor.producer.index()), static_cast<int32_t>(consumer.index()));
    }
  }
  return {static_cast<int32_t>(graph.operators.size()), std::move(edges)};
}

// Operators between two that everything passes, covered by chains.
class Stretch {
 public:
  explicit Stretch(std::size_t operators) : chain_of_tail_(operators, kNone) {}

  // Adds an operator to the chain that ends with one of its producers, or begins a chain with it.
  void Add(int32_t op, std::span<const int32_t> producers) {
    for (const int32_t producer : producers) {
      const std::size_t chain = std::exchange(chain_of_tail_[Index(producer)], kNone);
      if (chain == kNone || chain < first_) continue;
      ++lengths_[chain];
      chain_of_tail_[Index(op)] = chain;
      return;
    }
    chain_of_tail_[Index(op)] = lengths_.size();
    lengths_.push_back(1);
  }

  // Returns in how many ways its chains can be cut, and begins the next one.
  double Close() {
    double ways = 1;
    for (; first_ < lengths_.size(); ++first_) ways *= static_cast<double>(lengths_[first_] + 1);
    return ways;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  // By operator: the chain that ends with it.
  std::vector<std::size_t> chain_of_tail_;
  // The lengths of all chains so far; those of this stretch begin at first_.
  std::vector<std::size_t> lengths_;
  std::size_t first_ = 0;
};

// At least as many as the graph has ideals; infinite for a graph without an order.
double CountIdeals(const Digraph& graph) {
  const std::vector<int32_t> order = AnyTopologicalOrder(graph);
  if (order.empty() || std::ssize(order) < graph.num_vertices()) return INFINITY;
  std::vector<std::size_t> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) position[Index(order[i])] = i;
  const auto sources = std::ranges::count_if(order, [&](int32_t op) { return graph.predecessors(op).empty(); });
  double ideals = 1;
  std::size_t furthest = 0;
  bool has_sink = false;
  Stretch stretch(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int32_t op = order[i];
    // All operators before this one lead to it, and all behind it come from it. With several sources none is so.
    const bool is_passed_by_all = sources == 1 && !has_sink && furthest <= i;
    if (is_passed_by_all) {
      ideals += stretch.Close();
    } else {
      stretch.Add(op, graph.predecessors(op));
    }
    for (const int32_t consumer : graph.successors(op)) furthest = std::max(furthest, position[Index(consumer)]);
    has_sink = has_sink || graph.successors(op).empty();
  }
  return ideals + stretch.Close();
}

}  // namespace

int64_t EstimateTableBytes(const OperatorGraph& graph, const Cluster& cluster, const SolverOptions& options) {
  // An ideal takes a bit for each operator and some numbers, and a mark for each number of devices that reaches it.
  // Each of the three kinds of tables has a third of the memory.
  constexpr double kPerIdeal = 64;
  constexpr double kKinds = 3;
  // Bytes for an operator or a tensor and a device, over all runs that go on at once.
  constexpr double kPerPair = 256;
  const auto operators = static_cast<double>(graph.operators.size());
  const auto devices = static_cast<double>(cluster.devices.size());
  double ideals = CountIdeals(EdgesOf(graph));
  if (options.ideal_limit.has_value()) ideals = std::min(ideals, static_cast<double>(*options.ideal_limit));
  const double pairs = (operators + static_cast<double>(graph.tensors.size())) * devices;
  const double bytes = kKinds * ideals * (operators / 8 + kPerIdeal + 8 * devices) + kPerPair * pairs;
  constexpr double kMost = 1e18;
  return static_cast<int64_t>(std::min(bytes, kMost));
}

}  // namespace planwright
