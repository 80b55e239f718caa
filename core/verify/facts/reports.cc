#include "core/verify/facts/reports.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/units.h"

namespace planwright {
namespace {

// BACKWARD operators and who follows whom among them, in topological order.
struct BackwardGraph {
  std::vector<std::vector<std::size_t>> successors;
  std::vector<std::size_t> order;
};

BackwardGraph MakeBackwardGraph(const OperatorGraph& graph) {
  const auto is_backward = [&](OperatorId op) { return graph.operators[op.index()].pass == Pass::kBackward; };
  BackwardGraph backward;
  backward.successors.resize(graph.operators.size());
  std::vector<std::size_t> waits_for(graph.operators.size());
  for (const Tensor& tensor : graph.tensors) {
    for (const OperatorId consumer : tensor.consumers) {
      if (!is_backward(tensor.producer) || !is_backward(consumer)) continue;
      backward.successors[tensor.producer.index()].push_back(consumer.index());
      ++waits_for[consumer.index()];
    }
  }
  for (std::size_t op = 0; op < graph.operators.size(); ++op) {
    if (is_backward(OperatorId(op)) && waits_for[op] == 0) backward.order.push_back(op);
  }
  for (std::size_t next = 0; next < backward.order.size(); ++next) {
    for (const std::size_t successor : backward.successors[backward.order[next]]) {
      if (--waits_for[successor] == 0) backward.order.push_back(successor);
    }
  }
  return backward;
}

// Clears is_contiguous for the stages first_stage .. first_stage + 63 whose BACKWARD operators a path leaves and
// re-enters: left[op] holds the stages that some path to `op` has passed through and left.
void CheckStages(const BackwardGraph& backward, const Assignment& assignment, std::size_t first_stage,
                 std::vector<bool>& is_contiguous) {
  const auto bit = [&](std::size_t op) -> uint64_t {
    const auto stage = static_cast<std::size_t>(assignment.stage_of[op]);
    return stage >= first_stage && stage - first_stage < 64 ? uint64_t{1} << (stage - first_stage) : 0;
  };
  std::vector<uint64_t> left(assignment.stage_of.size());
  for (const std::size_t op : backward.order) {
    if ((left[op] & bit(op)) != 0) is_contiguous[static_cast<std::size_t>(assignment.stage_of[op])] = false;
    for (const std::size_t successor : backward.successors[op]) {
      const bool stays = assignment.stage_of[op] == assignment.stage_of[successor];
      left[successor] |= left[op] | (stays ? 0 : bit(op));
    }
  }
}

}  // namespace

std::vector<bool> BackwardContiguity(const OperatorGraph& graph, const ResolvedProblem& problem,
                                     const Assignment& assignment) {
  std::vector<bool> is_contiguous(assignment.stages.size(), true);
  if (problem.workload == Workload::kInference) return is_contiguous;
  const BackwardGraph backward = MakeBackwardGraph(graph);
  for (std::size_t first_stage = 0; first_stage < assignment.stages.size(); first_stage += 64) {
    CheckStages(backward, assignment, first_stage, is_contiguous);
  }
  return is_contiguous;
}

void FillEstimate(const OperatorGraph& graph, Plan& plan) {
  Estimate& estimate = plan.estimate;
  for (const DeviceUsage& usage : plan.devices) {
    estimate.peak_memory_bytes = std::max(estimate.peak_memory_bytes, usage.memory_bytes);
  }
  if (plan.objective.count() == 0) return;
  const auto objective = static_cast<double>(plan.objective.count());
  estimate.micro_batches_per_second = kPicosecondsPerSecond / objective;
  estimate.samples_per_second = estimate.micro_batches_per_second * static_cast<double>(graph.samples_per_micro_batch);
  double busy = 0;
  int devices_in_use = 0;
  for (const DeviceUsage& usage : plan.devices) {
    busy += static_cast<double>(usage.load.count());
    if (!usage.stages.empty()) ++devices_in_use;
  }
  // A CPU of MIN_LATENCY may do several things at a time.
  estimate.bubble_fraction = std::max(0.0, 1 - busy / (devices_in_use * objective));
}

}  // namespace planwright
