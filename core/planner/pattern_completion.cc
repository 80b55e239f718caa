#include "core/planner/pattern_completion.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/known.h"
#include "core/cost/chain/chain_costs.h"
#include "core/model/chain.h"
#include "core/schedule/one_f_one_b_star.h"
#include "core/schedule/pattern_search.h"
#include "core/schedule/pattern_steps.h"

namespace planwright {
namespace {

// Nodes of the pattern search for each period that it tries: a few milliseconds in all.
constexpr int64_t kNodesPerPeriod = 3'000;
// A search takes the cube of the number of stages.
constexpr std::size_t kMaxSearchedStages = 32;

// Any pattern takes the square of it.
constexpr std::size_t kMaxStages = 4'096;

// Stages with operators as a chain, one layer each.
struct Pipeline {
  Chain chain;
  ChainAllocation allocation;
  ChainDevices devices;
  // By layer: position of its stage in the placement.
  std::vector<std::size_t> stages;
};

bool IsReadable(const ResolvedInput& input, const Placement& placement) {
  const std::size_t most_stages = std::min(
      kMaxStages, input.cluster.devices.size() * static_cast<std::size_t>(Known(input.problem.max_stages_per_device)));
  return placement.stages.size() <= most_stages &&
         std::all_of(placement.stages.begin(), placement.stages.end(), [&](const Placement::Stage& stage) {
           return !stage.devices.empty() && stage.devices.front().index() < input.cluster.devices.size() &&
                  std::all_of(stage.operators.begin(), stage.operators.end(),
                              [&](OperatorId op) { return op.index() < input.graph.operators.size(); });
         });
}

std::vector<OperatorId> KeptOperators(const OperatorGraph& graph, Workload workload,
                                      std::vector<OperatorId> operators) {
  if (workload == Workload::kTraining) return operators;
  std::erase_if(operators, [&](OperatorId op) { return graph.operators[op.index()].pass == Pass::kBackward; });
  return operators;
}

void RestrictMemory(const Cluster& cluster, const ResolvedProblem& problem, DeviceId device,
                    std::optional<int64_t>& memory_bytes) {
  const std::optional<int64_t> usable = UsableMemoryBytes(cluster, device);
  if (!usable.has_value()) return;
  const int64_t bytes = std::max<int64_t>(0, *usable - problem.memory_model.reserved_bytes);
  memory_bytes = std::min(memory_bytes.value_or(bytes), bytes);
}

// nullopt: no stage has operators.
std::optional<Pipeline> MakePipeline(const PlanningInput& input, const Placement& placement) {
  Pipeline pipeline;
  std::vector<std::vector<OperatorId>> layers;
  std::vector<DeviceId> devices;
  pipeline.devices.full_duplex = input.problem.overlap == Overlap::kFullDuplex;
  for (std::size_t i = 0; i < placement.stages.size(); ++i) {
    std::vector<OperatorId> operators =
        KeptOperators(input.graph, input.problem.workload, placement.stages[i].operators);
    if (operators.empty()) continue;
    const DeviceId device = placement.stages[i].devices.front();
    RestrictMemory(input.cluster, input.problem, device, pipeline.devices.memory_bytes);
    const auto known = std::find(devices.begin(), devices.end(), device);
    const auto layer = static_cast<int32_t>(layers.size());
    pipeline.allocation.push_back({layer, layer, static_cast<int32_t>(known - devices.begin())});
    if (known == devices.end()) devices.push_back(device);
    pipeline.stages.push_back(i);
    layers.push_back(std::move(operators));
  }
  if (layers.empty()) return std::nullopt;
  pipeline.devices.count = static_cast<int32_t>(devices.size());
  const DeviceClassId device_class = input.cluster.devices[devices.front().index()].device_class;
  pipeline.chain = MakeChain(input.graph, input.cluster.interconnect, input.problem, input.costs, device_class, layers);
  return pipeline;
}

std::optional<PeriodicPattern> ShortestPattern(const Pipeline& pipeline, const SolveLimits& limits) {
  const auto& [chain, allocation, devices, stages] = pipeline;
  if (allocation.size() > kMaxChainLayers) return std::nullopt;
  if (std::cmp_equal(allocation.size(), devices.count)) {
    const std::optional<Picoseconds> period = SmallestPeriod(chain, allocation, devices);
    if (!period.has_value()) return std::nullopt;
    return Known(ScheduleOneFOneBStar(chain, allocation, devices, *period)).pattern;
  }
  if (allocation.size() > kMaxSearchedStages) return std::nullopt;
  SolveLimits bounded = limits;
  bounded.work = std::min(limits.work, kNodesPerPeriod);
  return PatternSearch(chain, devices, allocation, bounded).pattern;
}

// Runs one step after the other, one micro-batch after the other.
PeriodicPattern SequentialPattern(const Pipeline& pipeline) {
  const std::vector<PatternStep> steps =
      PatternSteps(pipeline.chain, ChainSums(pipeline.chain), pipeline.devices, pipeline.allocation);
  std::vector<Picoseconds> starts;
  Picoseconds now{0};
  for (const PatternStep& step : steps) {
    starts.push_back(now);
    now += step.duration;
  }
  // A step that takes no time at the end must still start within the period.
  const bool ends_in_no_time = starts.back() == now;
  return PatternOf(steps, starts, now + Picoseconds(ends_in_no_time ? 1 : 0));
}

}  // namespace

Placement WithPattern(const PlanningInput& input, Placement placement, const SolveLimits& limits) {
  if (input.problem.schedule != ScheduleKind::kPeriodic || placement.pattern.has_value()) return placement;
  if (!IsReadable(input, placement)) return placement;
  const std::optional<Pipeline> pipeline = MakePipeline(input, placement);
  if (!pipeline.has_value()) return placement;
  placement.pattern = ShortestPattern(*pipeline, limits);
  if (!placement.pattern.has_value()) placement.pattern = SequentialPattern(*pipeline);
  for (PatternTask& task : placement.pattern->tasks) task.stage = StageId(pipeline->stages[task.stage.index()]);
  return placement;
}

}  // namespace planwright
