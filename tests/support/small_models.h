// Operators, tensors and clusters as values, in milliseconds and bytes, for tests that list or mutate them.
#ifndef PLANWRIGHT_TESTS_SUPPORT_SMALL_MODELS_H_
#define PLANWRIGHT_TESTS_SUPPORT_SMALL_MODELS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "tests/support/builders.h"

namespace planwright {

inline Picoseconds Milliseconds(int64_t milliseconds) { return Picoseconds(milliseconds * 1'000'000'000); }

// An operator with measured times on accelerators; CPUs take ten times as long.
inline Operator MeasuredOperator(std::string name, int64_t forward_ms, int64_t backward_ms = 0) {
  Operator op;
  op.name = std::move(name);
  op.costs = {{kAcceleratorClass, Milliseconds(forward_ms), Milliseconds(backward_ms), Picoseconds(0)},
              {kCpuClass, Milliseconds(10 * forward_ms), Milliseconds(10 * backward_ms), Picoseconds(0)}};
  return op;
}

// A tensor whose transfer takes `transfer_ms`.
inline Tensor TimedTensor(std::string name, std::size_t producer, const std::vector<std::size_t>& consumers,
                          int64_t transfer_ms) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.producer = OperatorId(producer);
  for (const std::size_t consumer : consumers) tensor.consumers.emplace_back(consumer);
  tensor.transfer = Milliseconds(transfer_ms);
  return tensor;
}

// A tensor whose transfer takes its bytes over a bandwidth.
inline Tensor SizedTensor(std::string name, std::size_t producer, const std::vector<std::size_t>& consumers,
                          int64_t size_bytes) {
  Tensor tensor = TimedTensor(std::move(name), producer, consumers, 0);
  tensor.transfer.reset();
  tensor.size_bytes = size_bytes;
  return tensor;
}

// MakeCluster with another interconnect.
inline Cluster SmallCluster(int accelerators, int cpus = 0, Interconnect interconnect = HostStagedInterconnect(),
                            std::optional<int64_t> accelerator_memory_bytes = std::nullopt) {
  Cluster cluster = MakeCluster(accelerators, cpus, accelerator_memory_bytes);
  cluster.interconnect = std::move(interconnect);
  return cluster;
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_SMALL_MODELS_H_
