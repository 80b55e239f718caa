// How many stages with how many replicas each: what is tried, and what each can reach at best.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_STAGE_SHAPE_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_STAGE_SHAPE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "core/cost/terms/transfer.h"
#include "core/model/device_selection.h"
#include "core/model/problem.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/load_rule.h"

namespace planwright {

// S stages with R replicas each.
struct StageShape {
  int32_t replicas = 1;
  // By pool of the block instance: how many of the stages its devices hold.
  std::vector<int32_t> stages_of_pool;
  // No placement of this many stages and replicas takes less per micro-batch, on whatever devices.
  Picoseconds bound{0};

  int32_t num_stages() const;
};

// The undivided load of one stage and its all-reduce, in picoseconds.
struct StageTime {
  int64_t load = 0;
  int64_t allreduce = 0;
};

// Time per micro-batch of a pipeline of S stages with R replicas each (docs/cost-model.md section 3), transfers without
// turns of their own.
struct PipelineRule {
  // nullopt: the limit of many.
  std::optional<int32_t> micro_batches;
  Overlap overlap = Overlap::kSerial;
  // nullopt: gradients are not reduced.
  std::optional<AllReduceRing> ring;

  int64_t AllReduceTime(int64_t parameter_bytes, int32_t replicas) const;
  int64_t TimePerMicroBatch(const std::vector<StageTime>& stages, int32_t replicas) const;
  // Where all of S stages are alike.
  int64_t TimePerMicroBatch(int32_t stages, const StageTime& each, int32_t replicas) const;
};

// Rings run at `speed`.
PipelineRule PipelineRuleOf(const ResolvedProblem& problem, const LinkSpeed& speed);

// All shapes that the cluster, the problem and the limits (remaining_devices.h) allow with at most `max_stages` stages,
// by ascending bound, then with the fewest replicas and stages first. Stages go to the pools on which the graph takes
// the least time, then to those with more memory; behind all of these shapes are those that put another pool first.
// `rule`: with the fastest ring there is. O(devices log devices) shapes.
std::vector<StageShape> ShapesOf(const BlockInstance& instance, const ResolvedProblem& problem,
                                 const std::vector<DeviceLimit>& limits, const PipelineRule& rule, int32_t max_stages);

// What all blocks keep together, wherever they are: memory without workspace and buffers.
int64_t LeastMemoryBytes(const BlockInstance& instance);
// The memory of so many devices as there are stages; kMaxQuantity: some is unlimited.
int64_t MemoryOfStages(const BlockInstance& instance, const StageShape& shape);

// A number of stages and replicas, and what no placement of that shape, on whatever devices, undercuts.
struct ShapeBound {
  int32_t stages = 1;
  int32_t replicas = 1;
  // The mean stage, all-reduce included.
  StageTime mean;
  Picoseconds bound{0};

  // What follows where the slowest stage has at least this undivided load.
  Picoseconds WithLoad(const PipelineRule& rule, int64_t load) const;
};

// Bounds for all numbers of stages and replicas that a placement may have, however its devices are divided: no
// placement takes less than the least of them. `rule` as in ShapesOf. O(devices log devices).
std::vector<ShapeBound> ShapeBounds(const BlockInstance& instance, const ResolvedProblem& problem,
                                    const std::vector<DeviceLimit>& limits, const PipelineRule& rule);

// The least of them; 0 where there are none.
Picoseconds LeastBound(const std::vector<ShapeBound>& shapes);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_STAGE_SHAPE_H_
