// Latency by definition, without anything incremental, and the least one by trying everything.
#ifndef PLANWRIGHT_TESTS_CORE_PARTITION_LATENCY_LATENCY_ORACLE_H_
#define PLANWRIGHT_TESTS_CORE_PARTITION_LATENCY_LATENCY_ORACLE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/model/problem.h"
#include "core/partition/latency/latency_instance.h"
#include "tests/support/random_instance.h"

namespace planwright {

// A slot of NaiveLatency: vertices of one pass on one accelerator.
struct NaiveSubgraph {
  int32_t accelerator = 0;
  std::vector<int32_t> vertices;
};

// Finish of the last vertex when `subgraphs` run in this order on each accelerator and the other vertices on CPUs;
// nullopt: something waits for itself. By recursion over what each unit waits for.
std::optional<int64_t> NaiveLatency(const LatencyInstance& instance, const std::vector<NaiveSubgraph>& subgraphs);

// Bytes of one subgraph, by definition.
int64_t NaiveBytes(const LatencyInstance& instance, const NaiveSubgraph& subgraph);

// The least latency over all assignments with at most `slots_per_pass` subgraphs of each pass on each accelerator, and
// over all orders of those of an accelerator; nullopt: there is no plan. Exponential.
std::optional<int64_t> LeastLatency(const LatencyInstance& instance, int32_t slots_per_pass);

// The instance of this request for the least latency.
LatencyInstance BuildForLatency(const OperatorGraph& graph, const Cluster& cluster, PlanningProblem problem = {});

// Makes the random instance one for latency: host-staged, with BACKWARD operators or for inference, CPUs of unlimited
// memory.
Instance MakeLatencyInstance(uint64_t seed, int max_operators, int32_t slots_per_pass);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_PARTITION_LATENCY_LATENCY_ORACLE_H_
