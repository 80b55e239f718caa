// Random chains on random devices for the tests of pipelines along sequences.
#ifndef PLANWRIGHT_TESTS_CORE_PARTITION_SEQUENCE_CHAIN_CASE_H_
#define PLANWRIGHT_TESTS_CORE_PARTITION_SEQUENCE_CHAIN_CASE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/index.h"
#include "core/base/random.h"
#include "core/cost/plan_costing.h"
#include "core/model/validator.h"
#include "core/partition/search/search.h"
#include "core/partition/sequence/device_teams.h"
#include "core/verify/verify.h"
#include "tests/support/random_instance.h"
#include "tests/support/small_models.h"

namespace planwright {

// Of any kind but `links`, which costs time to route.
inline Interconnect RandomInterconnect(std::size_t devices, RandomStream& random) {
  const auto bandwidth = [&] { return 1e9 * static_cast<double>(random.Between(1, 20)); };
  const Picoseconds latency(random.Between(0, 3));
  switch (random.Below(5)) {
    case 0:
      return HostStagedInterconnect{bandwidth(), latency};
    case 1:
      return UniformInterconnect{bandwidth(), latency};
    case 2:
      return GridInterconnect{.dimensions = {static_cast<int32_t>(devices)},
                              .link_bandwidth_bytes_per_second = bandwidth(),
                              .latency = latency,
                              .non_adjacent = GridInterconnect::NonAdjacent::kDividedByHops};
    case 3:
      if (devices % 2 == 0) {
        return HierarchyInterconnect{{{2, bandwidth(), latency}, {static_cast<int32_t>(devices) / 2, 1e9, latency}}};
      }
      [[fallthrough]];
    default: {
      MatrixInterconnect matrix{.bandwidth_bytes_per_second = std::vector<double>(devices * devices, 0),
                                .latency = latency};
      for (std::size_t a = 0; a < devices; ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          matrix.bandwidth_bytes_per_second[a * devices + b] = bandwidth();
          matrix.bandwidth_bytes_per_second[b * devices + a] = matrix.bandwidth_bytes_per_second[a * devices + b];
        }
      }
      return matrix;
    }
  }
}

// A problem, what it costs and whether placements obey it. Stays where it is.
struct SequenceCase {
  explicit SequenceCase(Instance given)
      : instance(std::move(given)),
        problem(ResolveProblem(instance.graph, instance.problem)),
        costs(instance.graph, instance.cluster, problem.workload) {}
  SequenceCase(const SequenceCase&) = delete;
  SequenceCase& operator=(const SequenceCase&) = delete;

  SearchRequest Request() const {
    return {instance.graph, instance.cluster, problem, costs, options, Algorithm::kSequenceDp, {}};
  }
  Picoseconds Cost(const Placement& placement) const {
    return CostPlan({instance.graph, instance.cluster, problem, costs}, placement).objective;
  }
  bool IsFeasible(const Placement& placement) const {
    return VerifyPlacement({instance.graph, instance.cluster, problem}, placement).violations.empty();
  }
  // The objective of a feasible placement, by the verifier, which puts stages into an order that is a pipeline's.
  std::optional<Picoseconds> Judge(const Placement& placement) const {
    const Verdict verdict = VerifyPlacement({instance.graph, instance.cluster, problem}, placement);
    if (!verdict.violations.empty()) return std::nullopt;
    return verdict.costed->objective;
  }
  SearchCallbacks Callbacks() const {
    SearchCallbacks callbacks;
    callbacks.objective = [this](const Placement& placement) { return Cost(placement); };
    callbacks.objection = [this](const Placement& placement) {
      return IsFeasible(placement) ? std::string() : std::string("not feasible");
    };
    return callbacks.Silenced();
  }

  const Instance instance;
  const ResolvedProblem problem;
  const CostTable costs;
  const SolverOptions options;
};

// Training of a chain, in any mode without replicas; memory binds in half of the cases.
inline Instance RandomChain(uint64_t seed, int32_t operators, int32_t devices) {
  RandomStream random(seed);
  Instance instance;
  for (int32_t op = 0; op < operators; ++op) {
    Operator& added = instance.graph.operators.emplace_back(
        MeasuredOperator("op" + std::to_string(op), static_cast<int>(random.Between(0, 9)), 1));
    added.costs[0].forward = Picoseconds(random.Between(1, 9'000));
    added.costs[0].backward = Picoseconds(random.Between(0, 9'000));
    added.activation_bytes = random.Between(0, 6);
    added.parameter_bytes = random.Between(0, 20);
    added.workspace_bytes = random.Between(0, 3);
    if (op + 1 < operators) {
      instance.graph.tensors.push_back(SizedTensor("x" + std::to_string(op), static_cast<std::size_t>(op),
                                                   {static_cast<std::size_t>(op) + 1}, random.Between(0, 9)));
    }
  }
  instance.cluster = SmallCluster(devices, 0, RandomInterconnect(Index(devices), random));
  if (random.Below(2) == 0) instance.cluster.device_classes[0].memory_bytes = random.Between(60, 160);
  if (random.Below(2) == 0) instance.cluster.devices[random.Below(Index(devices))].reserved_memory_bytes = 30;
  PlanningProblem& problem = instance.problem;
  constexpr ScheduleKind kKinds[] = {ScheduleKind::kSteadyState, ScheduleKind::kOneFOneB,
                                     ScheduleKind::kPipedreamAsync};
  problem.schedule = kKinds[random.Below(3)];
  problem.overlap = static_cast<Overlap>(random.Below(3));
  problem.memory_model.kind = MemoryModel::Kind::kComponents;
  if (problem.schedule != ScheduleKind::kPipedreamAsync && random.Below(2) == 0) {
    problem.micro_batches = static_cast<int32_t>(random.Between(1, 9));
  }
  if (random.Below(4) == 0) problem.num_stages = static_cast<int32_t>(random.Between(1, devices));
  return instance;
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_PARTITION_SEQUENCE_CHAIN_CASE_H_
