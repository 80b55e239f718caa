#include "server/engine/task_memory.h"

#include <cstddef>
#include <string>
#include <variant>

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

}  // namespace

int64_t EstimateMemory(const PlanTask& task) {
  return static_cast<int64_t>(sizeof(task) + BytesOf(*task.graph, task.cluster->device_classes.size()) +
                              BytesOf(*task.cluster) + 2 * task.resolved_problem.SpaceUsedLong());
}

int64_t EstimateMemory(const GivenPlan& given) {
  return static_cast<int64_t>(sizeof(given) + BytesOf(given.graph, given.cluster.device_classes.size()) +
                              BytesOf(given.cluster));
}

}  // namespace planwright::server
