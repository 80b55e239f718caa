#include "tests/support/paper_chains.h"

#include <cstddef>
#include <cstdint>

#include "core/cost/chain/chain_costs.h"
#include "core/cost/terms/cost_table.h"
#include "core/graph/chain.h"
#include "core/zoo/zoo.h"

namespace planwright {
namespace {

Cluster MakePaperCluster(double bandwidth_gb) {
  Cluster cluster;
  DeviceClass& accelerator = cluster.device_classes.emplace_back();
  accelerator.name = "accelerator";
  accelerator.peak_flops = 9e12;
  accelerator.memory_bandwidth_bytes_per_second = 700e9;
  accelerator.kernel_overhead = std::chrono::microseconds(10);
  cluster.devices.push_back({.name = "device0", .device_class = {}, .host = {}, .labels = {}});
  cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = bandwidth_gb * 1e9};
  return cluster;
}

// Bytes of the images that the first layer receives.
int64_t InputBytes(const OperatorGraph& graph) {
  int64_t bytes = 0;
  for (const Tensor& tensor : graph.tensors) {
    if (graph.operators[tensor.producer.index()].type == kInputOperatorType) bytes += tensor.size_bytes;
  }
  return bytes;
}

}  // namespace

const std::vector<std::string>& PaperModels() {
  static const auto& models = *new std::vector<std::string>{"inception-v3", "resnet50", "resnet101", "densenet121"};
  return models;
}

Chain MakePaperChain(const std::string& model, double bandwidth_gb, StoredTensors stored) {
  const std::string keys = model == "inception-v3" ? "&auxiliary=no" : "";
  const OperatorGraph graph = MakeZooModel(model + "?image=1000&batch=8&dtype=fp32" + keys).value();
  PlanningProblem problem;
  problem.workload = Workload::kTraining;
  problem.granularity = Granularity::kLayer;
  problem.memory_model.kind = MemoryModel::Kind::kComponents;
  problem.memory_model.preset = "madpipe";
  const ResolvedProblem resolved = ResolveProblem(graph, problem);
  const Cluster cluster = MakePaperCluster(bandwidth_gb);
  const CostTable costs(graph, cluster, Workload::kTraining);
  const std::vector<int64_t> weights(graph.operators.size(), 1);
  const OperatorGroups layers = LinearizeGraph(graph, resolved, weights, graph.operators.size());
  Chain chain = MakeChain(graph, cluster.interconnect, resolved, costs, DeviceClassId(0), layers);
  for (std::size_t i = 0; i < chain.layers.size(); ++i) {
    // The paper knows no scratch memory.
    chain.layers[i].workspace_bytes = 0;
    if (stored == StoredTensors::kAll) continue;
    chain.layers[i].stored_bytes = i == 0 ? InputBytes(graph) : chain.cuts[i - 1].buffer_bytes / 2;
  }
  return chain;
}

}  // namespace planwright
