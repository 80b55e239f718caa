// The worked examples of docs/cost-model-examples.md, and plans as numbers in milliseconds.
#ifndef PLANWRIGHT_TESTS_CORE_COST_WORKED_EXAMPLES_H_
#define PLANWRIGHT_TESTS_CORE_COST_WORKED_EXAMPLES_H_

#include <cstddef>
#include <vector>

#include "core/cost/plan_costing.h"
#include "tests/support/small_models.h"

namespace planwright {

// a feeds b and c by x (2 ms), b feeds c by y (3 ms).
inline OperatorGraph Diamond(bool training) {
  OperatorGraph graph;
  const int64_t factor = training ? 2 : 0;
  graph.operators = {MeasuredOperator("a", 4, 4 * factor), MeasuredOperator("b", 6, 6 * factor),
                     MeasuredOperator("c", 5, 5 * factor)};
  graph.tensors = {TimedTensor("x", 0, {1, 2}, 2), TimedTensor("y", 1, {2}, 3)};
  return graph;
}

// a feeds b by x (2 ms), b feeds the backward operator of a by g (3 ms).
inline OperatorGraph WithBackwardOperator() {
  OperatorGraph graph;
  graph.operators = {MeasuredOperator("a", 4), MeasuredOperator("b", 6), MeasuredOperator("a_backward", 8)};
  graph.operators[2].pass = Pass::kBackward;
  graph.operators[2].forward_operator = OperatorId(0);
  graph.tensors = {TimedTensor("x", 0, {1}, 2), TimedTensor("g", 1, {2}, 3)};
  return graph;
}

// Stage i holds operators[i] and runs on devices[i].
inline Placement PlaceReplicated(const std::vector<std::vector<std::size_t>>& operators,
                                 const std::vector<std::vector<std::size_t>>& devices) {
  Placement placement;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    Placement::Stage& stage = placement.stages.emplace_back();
    for (const std::size_t op : operators[i]) stage.operators.emplace_back(op);
    for (const std::size_t device : devices[i]) stage.devices.emplace_back(device);
  }
  return placement;
}
inline Placement Place(const std::vector<std::vector<std::size_t>>& operators,
                       const std::vector<std::size_t>& devices) {
  std::vector<std::vector<std::size_t>> one_each;
  for (const std::size_t device : devices) one_each.push_back({device});
  return PlaceReplicated(operators, one_each);
}

inline Plan Cost(const OperatorGraph& graph, const Cluster& cluster, const Placement& placement,
                 const PlanningProblem& problem = {}) {
  const ResolvedProblem resolved = ResolveProblem(graph, problem);
  return CostPlan({graph, cluster, resolved, CostTable(graph, cluster, resolved.workload)}, placement);
}

// {in, compute, out, load} of every stage, in milliseconds.
inline std::vector<std::vector<double>> Times(const Plan& plan) {
  std::vector<std::vector<double>> times;
  for (const Stage& stage : plan.stages) {
    times.push_back({ToMilliseconds(stage.communication_in), ToMilliseconds(stage.compute),
                     ToMilliseconds(stage.communication_out), ToMilliseconds(stage.load)});
  }
  return times;
}

// {device_a, device_b, load in milliseconds} of every link.
inline std::vector<std::vector<double>> Links(const Plan& plan) {
  std::vector<std::vector<double>> links;
  for (const LinkUsage& link : plan.links) {
    links.push_back({static_cast<double>(link.device_a.index()), static_cast<double>(link.device_b.index()),
                     ToMilliseconds(link.load)});
  }
  return links;
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_COST_WORKED_EXAMPLES_H_
