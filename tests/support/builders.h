// Small graphs and clusters in few lines. Times are whole picoseconds, so that expected sums can be written by hand.
#ifndef PLANWRIGHT_TESTS_SUPPORT_BUILDERS_H_
#define PLANWRIGHT_TESTS_SUPPORT_BUILDERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"

namespace planwright {

// Names of the classes that the builders use.
inline constexpr char kAcceleratorClass[] = "accelerator";
inline constexpr char kCpuClass[] = "cpu";

// Appends a FORWARD operator that takes `accelerator_ps` on accelerators and `cpu_ps` on CPUs.
OperatorId AddOperator(OperatorGraph& graph, const std::string& name, int64_t accelerator_ps, int64_t cpu_ps);

// Appends the BACKWARD operator of `forward`.
OperatorId AddBackward(OperatorGraph& graph, const std::string& name, OperatorId forward, int64_t accelerator_ps,
                       int64_t cpu_ps);

// Appends a tensor with a transfer time of its own; its name is "t" and its position.
TensorId AddTensor(OperatorGraph& graph, OperatorId producer, const std::vector<OperatorId>& consumers,
                   int64_t transfer_ps, int64_t size_bytes = 0);

// Devices "acc0", "acc1", ... and "cpu0", ... connected host-staged; CPUs have unlimited memory.
Cluster MakeCluster(int accelerators, int cpus, std::optional<int64_t> accelerator_memory_bytes = std::nullopt);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_BUILDERS_H_
