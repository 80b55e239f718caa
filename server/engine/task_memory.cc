#include "server/engine/task_memory.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace planwright::server {
namespace {

// Allocations and containers around a value.
constexpr std::size_t kOverhead = 32;
// Bandwidth and latency class of a pair of devices (PairClasses), in both directions.
constexpr std::size_t kPerPair = 2 * sizeof(uint32_t);

std::size_t BytesOf(const std::string& text) { return text.capacity() > sizeof(text) ? text.capacity() : 0; }

std::size_t BytesOf(const OperatorGraph& graph, std::size_t num_classes) {
  std::size_t bytes = BytesOf(graph.display_name);
  for (const Operator& op : graph.operators) {
    bytes += sizeof(op) + kOverhead + BytesOf(op.name) + BytesOf(op.type) + BytesOf(op.layer);
    // The costs as they came, and those of each class.
    bytes += op.costs.size() * (sizeof(OperatorCost) + kOverhead) + num_classes * sizeof(OperatorCost);
    // As they came, and as they are priced.
    bytes += 2 * op.variants.size() * (sizeof(OperatorVariant) + kOverhead);
    bytes += op.unsupported_device_classes.size() * (sizeof(std::string) + kOverhead);
  }
  for (const Tensor& tensor : graph.tensors) {
    // Each consumer is an edge of the graph, known from both of its ends.
    bytes += sizeof(tensor) + kOverhead + BytesOf(tensor.name) + 4 * tensor.consumers.size() * sizeof(OperatorId);
  }
  return bytes;
}

// Pairs of devices of which the interconnect has to be known one by one.
struct PairCounter {
  std::size_t num_devices;

  std::size_t operator()(const MatrixInterconnect& /*matrix*/) const { return num_devices * num_devices; }
  std::size_t operator()(const LinksInterconnect& /*links*/) const { return num_devices * num_devices; }
  template <typename Interconnect>
  std::size_t operator()(const Interconnect& /*structured*/) const {
    return 0;
  }
};

std::size_t BytesOf(const Cluster& cluster) {
  std::size_t bytes = 0;
  for (const Device& device : cluster.devices) {
    bytes += sizeof(device) + kOverhead + BytesOf(device.name) + BytesOf(device.host);
    bytes += device.labels.size() * (2 * sizeof(std::string) + 2 * kOverhead);
  }
  const std::size_t pairs = std::visit(PairCounter{cluster.devices.size()}, cluster.interconnect);
  return bytes + pairs * (kPerPair + sizeof(double));
}

// An operator graph by its topological order; empty where there is none.
class OrderedGraph {
 public:
  explicit OrderedGraph(const OperatorGraph& graph)
      : consumers_(graph.operators.size()), producers_(consumers_.size()) {
    for (const Tensor& tensor : graph.tensors) {
      for (const OperatorId consumer : tensor.consumers) {
        consumers_[tensor.producer.index()].push_back(consumer.index());
        producers_[consumer.index()].push_back(tensor.producer.index());
      }
    }
    std::vector<std::size_t> open(consumers_.size());
    for (std::size_t op = 0; op < open.size(); ++op) {
      open[op] = producers_[op].size();
      if (open[op] == 0) order_.push_back(op);
    }
    sources_ = order_.size();
    for (std::size_t i = 0; i < order_.size(); ++i) {
      for (const std::size_t consumer : consumers_[order_[i]]) {
        if (--open[consumer] == 0) order_.push_back(consumer);
      }
    }
    if (order_.size() < consumers_.size()) order_.clear();
  }

  // At least as many as the graph has ideals; infinite without an order.
  double CountIdeals() const {
    if (order_.empty()) return INFINITY;
    std::vector<std::size_t> position(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) position[order_[i]] = i;
    double ideals = 1;
    std::size_t furthest = 0;
    bool has_sink = false;
    Stretch stretch(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::size_t op = order_[i];
      // Everything before leads here, and everything behind comes from here. With several sources nothing does.
      const bool is_passed_by_all = sources_ == 1 && !has_sink && furthest <= i;
      if (is_passed_by_all) {
        ideals += stretch.Close();
      } else {
        stretch.Add(op, producers_[op]);
      }
      for (const std::size_t consumer : consumers_[op]) furthest = std::max(furthest, position[consumer]);
      has_sink = has_sink || consumers_[op].empty();
    }
    return ideals + stretch.Close();
  }

 private:
  // Operators between two that everything passes, covered by chains.
  class Stretch {
   public:
    explicit Stretch(std::size_t operators) : chain_of_tail_(operators, kNone) {}

    void Add(std::size_t op, const std::vector<std::size_t>& producers) {
      for (const std::size_t producer : producers) {
        const std::size_t chain = std::exchange(chain_of_tail_[producer], kNone);
        if (chain == kNone || chain < first_) continue;
        ++lengths_[chain];
        chain_of_tail_[op] = chain;
        return;
      }
      chain_of_tail_[op] = lengths_.size();
      lengths_.push_back(1);
    }
    // Ways to cut its chains; the next one begins.
    double Close() {
      double ways = 1;
      for (; first_ < lengths_.size(); ++first_) ways *= static_cast<double>(lengths_[first_] + 1);
      return ways;
    }

   private:
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    // By operator: the chain that ends with it.
    std::vector<std::size_t> chain_of_tail_;
    // Of all chains so far; those of this stretch begin at first_.
    std::vector<std::size_t> lengths_;
    std::size_t first_ = 0;
  };

  std::vector<std::vector<std::size_t>> consumers_;
  std::vector<std::vector<std::size_t>> producers_;
  std::vector<std::size_t> order_;
  std::size_t sources_ = 0;
};

}  // namespace

int64_t EstimateTables(const PlanTask& task) {
  // Of an ideal: a bit for each operator and some numbers; a mark for each number of devices that reaches it. Each of
  // the three kinds of tables has a third.
  constexpr double kPerIdeal = 64;
  constexpr double kKinds = 3;
  // Of an operator or a tensor and a device, over all runs that go on at once.
  constexpr double kPerPair = 256;
  const auto operators = static_cast<double>(task.graph->operators.size());
  const auto devices = static_cast<double>(task.cluster->devices.size());
  double ideals = OrderedGraph(*task.graph).CountIdeals();
  if (task.options.options.ideal_limit.has_value()) {
    ideals = std::min(ideals, static_cast<double>(*task.options.options.ideal_limit));
  }
  const double pairs = (operators + static_cast<double>(task.graph->tensors.size())) * devices;
  const double bytes = kKinds * ideals * (operators / 8 + kPerIdeal + 8 * devices) + kPerPair * pairs;
  constexpr double kMost = 1e18;
  return static_cast<int64_t>(std::min(bytes, kMost));
}

int64_t EstimateMemory(const PlanTask& task) {
  return static_cast<int64_t>(sizeof(task) + BytesOf(*task.graph, task.cluster->device_classes.size()) +
                              BytesOf(*task.cluster) + 2 * task.resolved_problem.SpaceUsedLong());
}

int64_t EstimateMemory(const GivenPlan& given) {
  return static_cast<int64_t>(sizeof(given) + BytesOf(given.graph, given.cluster.device_classes.size()) +
                              BytesOf(given.cluster));
}

}  // namespace planwright::server
