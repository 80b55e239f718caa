#include <vector>

#include "core/base/index.h"
#include "core/cost/plan_costing.h"
#include "core/partition/baselines/device_assignment.h"
#include "core/partition/baselines/proposals.h"
#include "core/partition/contiguous/contiguous_throughput.h"
#include "core/partition/search/block_instance.h"

namespace planwright {
namespace {

// The device of each block in `placement`. REQUIRES: no block is torn apart.
std::vector<DeviceId> DevicesOfBlocks(const OperatorGraph& graph, const BlockInstance& instance,
                                      const Placement& placement) {
  std::vector<DeviceId> device_of_operator(graph.operators.size());
  for (const Placement::Stage& stage : placement.stages) {
    for (const OperatorId op : stage.operators) device_of_operator[op.index()] = stage.devices.front();
  }
  return Mapped(instance.operators,
                [&](const auto& operators) { return device_of_operator[operators.front().index()]; });
}

}  // namespace

void ProposeMaxLoad(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, Proposals& proposals) {
  ResolvedProblem problem = request.problem;
  problem.objective = Objective::kMaxThroughput;
  problem.split = Split::kContiguous;
  problem.max_subgraphs_per_device.reset();
  const SearchRequest throughput{request.graph,   request.cluster,     problem, request.costs,
                                 request.options, Algorithm::kIdealDp, {}};
  const BlockInstance instance = BuildBlockInstance(request, MergeRule::kNever);
  RunSubSearch(
      SolveContiguousThroughput, throughput, limits, arena, proposals,
      [&](const Placement& placement) {
        return CostPlan({request.graph, request.cluster, problem, request.costs}, placement).objective;
      },
      [&](const Placement& placement) {
        return PlacementOfBlocks(request, instance, DevicesOfBlocks(request.graph, instance, placement));
      });
}

}  // namespace planwright
