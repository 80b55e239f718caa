#include "core/partition/parmesan/stage_shape.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/index.h"
#include "core/cost/terms/transfer.h"
#include "core/partition/parmesan/remaining_devices.h"

namespace planwright {
namespace {

// What the blocks need at least, whatever runs them.
struct LeastWork {
  int64_t total = 0;
  int64_t largest = 0;
  int64_t total_parameters = 0;
};

LeastWork LeastWorkOf(const BlockInstance& instance) {
  LeastWork work;
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    int64_t least = kMaxQuantity;
    for (const DevicePool& pool : instance.pools) {
      if (pool.supported[block]) least = std::min(least, pool.time[block]);
    }
    work.total = SaturatingAdd(work.total, least);
    work.largest = std::max(work.largest, least);
    work.total_parameters += instance.memory.parameters[block];
  }
  return work;
}

ShapeBound BoundOf(const LeastWork& work, const PipelineRule& rule, int32_t stages, int32_t replicas) {
  const int64_t mean = CeilDivide(work.total, stages);
  // Rounded down: a byte takes far longer than rounding quotients up.
  const int64_t mean_parameters = work.total_parameters / stages;
  // Load and all-reduce of all stages together are at least the mean; the stage of the largest block has its load.
  const StageTime mean_stage{mean, rule.AllReduceTime(mean_parameters, replicas)};
  // The sum of a mean load and a mean all-reduce, both rounded up, may exceed what a stage has of both by 1.
  const bool adds_means = stages > 1 && mean > 0 && mean_stage.allreduce > 0 && !rule.micro_batches.has_value();
  // What is divided by the replicas gives way, or the all-reduce where it is not.
  const int64_t excess = adds_means ? 1 : 0;
  const bool divides_both = !rule.ring.has_value() || rule.ring->charge == AllReduce::Charge::kPerRound;
  const StageTime least =
      divides_both ? StageTime{mean - excess, mean_stage.allreduce} : StageTime{mean, mean_stage.allreduce - excess};
  const int64_t of_means = rule.TimePerMicroBatch(stages, least, replicas);
  const int64_t of_largest = rule.TimePerMicroBatch(stages, {work.largest, 0}, replicas);
  return {stages, replicas, mean_stage, Picoseconds(std::max(of_means, of_largest))};
}

// Pools in the order in which stages go to them.
std::vector<std::size_t> PoolOrder(const BlockInstance& instance) {
  std::vector<int64_t> times;
  for (const DevicePool& pool : instance.pools) {
    const int64_t time = std::accumulate(pool.time.begin(), pool.time.end(), int64_t{0});
    times.push_back(pool.supports_all ? time : SaturatingAdd(time, kMaxQuantity / 2));
  }
  std::vector<std::size_t> order = FirstNumbers<std::size_t>(times.size());
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int64_t memory_a = instance.pools[a].memory_bytes.value_or(kMaxQuantity);
    const int64_t memory_b = instance.pools[b].memory_bytes.value_or(kMaxQuantity);
    return std::tie(times[a], memory_b) < std::tie(times[b], memory_a);
  });
  return order;
}

std::vector<int32_t> Divide(RemainingDevices room, const std::vector<std::size_t>& order, int32_t stages,
                            int32_t replicas) {
  std::vector<int32_t> stages_of_pool(order.size(), 0);
  for (const std::size_t pool : order) {
    stages_of_pool[pool] = std::min(static_cast<int32_t>(room.Of(pool)) / replicas, stages);
    stages -= stages_of_pool[pool];
    room.Take(pool, int64_t{stages_of_pool[pool]} * replicas);
  }
  return stages_of_pool;
}

// Calls visit(stages, replicas) for all that so many devices and the problem allow, the fewest replicas and stages
// first.
void ForEachShape(int32_t devices, const ResolvedProblem& problem, int32_t max_stages,
                  const std::function<void(int32_t, int32_t)>& visit) {
  const int32_t max_replicas = problem.replication == Replication::kNone ? 1 : devices;
  for (int32_t replicas = 1; replicas <= max_replicas; ++replicas) {
    if (problem.num_replicas.value_or(replicas) != replicas) continue;
    for (int32_t stages = 1; stages <= std::min(max_stages, devices / replicas); ++stages) {
      if (problem.num_stages.value_or(stages) == stages) visit(stages, replicas);
    }
  }
}

}  // namespace

int32_t StageShape::num_stages() const {
  return std::accumulate(stages_of_pool.begin(), stages_of_pool.end(), int32_t{0});
}

int64_t PipelineRule::AllReduceTime(int64_t parameter_bytes, int32_t replicas) const {
  if (!ring.has_value() || replicas == 1) return 0;
  return planwright::AllReduceTime(parameter_bytes, replicas, ring->speed, ring->factor).count();
}

int64_t PipelineRule::TimePerMicroBatch(int32_t stages, const StageTime& each, int32_t replicas) const {
  if (micro_batches.has_value()) {
    const int64_t slots = int64_t{*micro_batches} + stages - 1;
    const int64_t step = SaturatingAdd(SaturatingMultiply(slots, each.load), each.allreduce);
    return CeilDivide(step, int64_t{*micro_batches} * replicas);
  }
  const ReductionRule rule{ScheduleKind::kSteadyState, overlap,
                           ring.has_value() ? ring->charge : AllReduce::Charge::kPerRound};
  return ReplicaLoads({.main = Picoseconds(each.load)}, replicas, Picoseconds(each.allreduce), rule).main.count();
}

int64_t PipelineRule::TimePerMicroBatch(const std::vector<StageTime>& stages, int32_t replicas) const {
  const auto num_stages = static_cast<int32_t>(stages.size());
  // With a number of micro-batches the largest of both count, wherever they are.
  StageTime largest;
  int64_t time = 0;
  for (const StageTime& stage : stages) {
    largest = {std::max(largest.load, stage.load), std::max(largest.allreduce, stage.allreduce)};
    time = std::max(time, TimePerMicroBatch(num_stages, stage, replicas));
  }
  return micro_batches.has_value() ? TimePerMicroBatch(num_stages, largest, replicas) : time;
}

PipelineRule PipelineRuleOf(const ResolvedProblem& problem, const LinkSpeed& speed) {
  PipelineRule rule{.micro_batches = problem.micro_batches, .overlap = problem.overlap, .ring = std::nullopt};
  const bool reduces = ReducesGradients(problem) && problem.replication != Replication::kNone;
  if (reduces && speed.bandwidth_bytes_per_second.has_value()) {
    rule.ring = AllReduceRing{problem.allreduce.factor, speed, problem.allreduce.charge};
  }
  return rule;
}

std::vector<StageShape> ShapesOf(const BlockInstance& instance, const ResolvedProblem& problem,
                                 const std::vector<DeviceLimit>& limits, const PipelineRule& rule, int32_t max_stages) {
  const LeastWork work = LeastWorkOf(instance);
  const std::vector<std::size_t> order = PoolOrder(instance);
  std::vector<StageShape> shapes;
  const RemainingDevices room(instance, limits);
  const auto devices = static_cast<int32_t>(MostDevices(instance, limits));
  std::set<std::pair<int32_t, std::vector<int32_t>>> known;
  // Each pool in front once: where the first one lacks memory or operators, another may not.
  for (std::size_t first = 0; first < order.size(); ++first) {
    std::vector<std::size_t> preferred = order;
    std::rotate(preferred.begin(), preferred.begin() + static_cast<std::ptrdiff_t>(first),
                preferred.begin() + static_cast<std::ptrdiff_t>(first) + 1);
    const std::size_t before = shapes.size();
    ForEachShape(devices, problem, max_stages, [&](int32_t stages, int32_t replicas) {
      StageShape shape{replicas, Divide(room, preferred, stages, replicas),
                       BoundOf(work, rule, stages, replicas).bound};
      const bool is_new = shape.num_stages() == stages && known.emplace(replicas, shape.stages_of_pool).second;
      if (is_new) shapes.push_back(std::move(shape));
    });
    std::stable_sort(shapes.begin() + static_cast<std::ptrdiff_t>(before), shapes.end(),
                     [](const StageShape& a, const StageShape& b) { return a.bound < b.bound; });
  }
  return shapes;
}

int64_t LeastMemoryBytes(const BlockInstance& instance) {
  MemorySums sums;
  for (std::size_t block = 0; block < instance.operators.size(); ++block) sums.Add(instance.memory, block);
  return sums.Total(instance.memory, /*buffers=*/0, /*workspace=*/0);
}

int64_t MemoryOfStages(const BlockInstance& instance, const StageShape& shape) {
  int64_t bytes = 0;
  for (std::size_t pool = 0; pool < shape.stages_of_pool.size(); ++pool) {
    const std::optional<int64_t>& memory = instance.pools[pool].memory_bytes;
    bytes = SaturatingAdd(bytes, SaturatingMultiply(shape.stages_of_pool[pool], memory.value_or(kMaxQuantity)));
  }
  return bytes;
}

Picoseconds ShapeBound::WithLoad(const PipelineRule& rule, int64_t load) const {
  // In steps the largest load and the largest all-reduce count, wherever they are.
  const int64_t allreduce = rule.micro_batches.has_value() ? mean.allreduce : 0;
  return std::max(bound, Picoseconds(rule.TimePerMicroBatch(stages, {load, allreduce}, replicas)));
}

std::vector<ShapeBound> ShapeBounds(const BlockInstance& instance, const ResolvedProblem& problem,
                                    const std::vector<DeviceLimit>& limits, const PipelineRule& rule) {
  const LeastWork work = LeastWorkOf(instance);
  std::vector<ShapeBound> shapes;
  // Operators of one block may be in different stages where some of them take no time.
  std::size_t operators = 0;
  for (const std::vector<OperatorId>& block : instance.operators) operators += block.size();
  const auto devices = static_cast<int32_t>(MostDevices(instance, limits));
  ForEachShape(devices, problem, static_cast<int32_t>(operators),
               [&](int32_t stages, int32_t replicas) { shapes.push_back(BoundOf(work, rule, stages, replicas)); });
  return shapes;
}

Picoseconds LeastBound(const std::vector<ShapeBound>& shapes) {
  if (shapes.empty()) return Picoseconds(0);
  return std::ranges::min(shapes, {}, &ShapeBound::bound).bound;
}

}  // namespace planwright
