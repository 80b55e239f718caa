// The graph in S stages of least maximal load: dynamic program over hyper-operators, then refinement (Parmesan, 4).
//
// Equation (2) with the same number of replicas for every stage: what a stage takes is then divided by the same number,
// and the program is that of stages without replicas. The program along one topological order of the hyper-operators
// goes first; where more is asked for, the exact one over ideals improves it (core/partition/contiguous/ideal_dp.h).
// Hyper-operators come apart in the refinement.
//
// The operators of a stage may share a device by what pins and bans leave them. Then only the program along one order
// counts, and the refinement leaves pinned and banned operators where they are. Whether all stages together find
// devices is up to the mapping.
//
// Every stage fits on each of its devices by itself, unlike the (d - d') x DM of the paper's text.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_STAGE_PARTITION_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_STAGE_PARTITION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/contiguous/block_split.h"
#include "core/partition/noncontiguous/net_instance.h"
#include "core/partition/noncontiguous/net_state.h"
#include "core/partition/parmesan/clustering.h"
#include "core/partition/parmesan/stage_shape.h"
#include "core/partition/parmesan/uniform_links_problem.h"
#include "core/partition/search/allowed_devices.h"
#include "core/partition/search/block_instance.h"

namespace planwright {

struct PartitionOptions {
  ClusteringOptions clustering;
  // I: most refinement steps.
  int32_t refinement_steps = 100;
  // Equation (3) says nothing of all-reduces.
  bool counts_allreduce = true;
};

struct StagePartition {
  // By stage, in pipeline order: operators, ascending.
  std::vector<std::vector<OperatorId>> stages;
  // By stage: what its loads were counted for.
  std::vector<DeviceClassId> classes;
  // By PipelineRule with all pairs of devices at the median speed.
  int64_t predicted = 0;
  int64_t refinement_moves = 0;
  // Units of ideal_dp.h.
  int64_t work = 0;
};

// The most slots that the transfers of a stage may take without host memory between (docs/cost-model.md section 20).
int32_t MostSlots(Overlap overlap);

// Immutable; any thread.
class StagePartitioner {
 public:
  // `problem`: what was asked for; resolved. All but `options` outlive the object.
  StagePartitioner(const UniformLinksProblem& flat, const ResolvedProblem& problem, const PartitionOptions& options,
                   const SolveLimits& limits);

  // Operators that are in one stage of any contiguous placement.
  const BlockInstance& blocks() const { return blocks_; }
  // As blocks(), storing what the last stage of a pipeline does of them: no stage stores less.
  BlockInstance LeastStored() const;
  int32_t num_clusters() const { return clusters_.num_blocks(); }
  // The most devices that pins and bans leave to every block.
  int32_t max_replicas() const;

  // The best partition found; nullopt: none, or interrupted. `exact_work`: units for the exact program, 0 for none.
  std::optional<StagePartition> Partition(const StageShape& shape, int64_t exact_work, const SolveLimits& limits,
                                          TaskArena& arena) const;

  // `stages` of another partitioner, refined. Blocks that are in several of them go as far forward as the order allows.
  // nullopt: that leaves a stage empty. REQUIRES: they are in pipeline order, on devices of `pool`.
  std::optional<StagePartition> Refine(const StageShape& shape, std::size_t pool,
                                       const std::vector<std::vector<OperatorId>>& stages,
                                       const SolveLimits& limits) const;

 private:
  BlockInstance Shaped(const BlockInstance& instance, const StageShape& shape) const;
  void CountShape(const StageShape& shape, BlockInstance& instance) const;
  // How many times a stage keeps what one micro-batch stores, with the most slots that transfers behind it may take: by
  // the number of stages behind it, from 0 to `most_behind`.
  std::vector<int64_t> TimesStored(std::size_t most_behind) const;
  // Makes memory that of a stage with `stages_behind` after it.
  void CountStored(std::size_t stages_behind, BlockInstance& instance) const;
  std::optional<BlockSplit> Split(const BlockInstance& shaped, const StageShape& shape, int64_t exact_work,
                                  const SolveLimits& limits, TaskArena& arena, int64_t& work) const;
  int64_t AllReduceShare(const std::vector<OperatorId>& operators, int32_t replicas) const;
  NetInstance StageNets(const StageShape& shape, const std::vector<std::size_t>& pool_of_stage) const;
  // nullopt: interrupted.
  std::optional<StagePartition> Refined(const StageShape& shape, const BlockSplit& split,
                                        const SolveLimits& limits) const;
  std::optional<StagePartition> Refined(const StageShape& shape, const std::vector<std::size_t>& pool_of_stage,
                                        std::vector<int32_t> stage_of, const SolveLimits& limits) const;
  StagePartition PartitionOf(const NetState& state, int32_t replicas) const;

  const UniformLinksProblem& flat_;
  const ResolvedProblem& problem_;
  const PartitionOptions options_;
  const PipelineRule rule_;
  const BlockInstance blocks_;
  // By block.
  const std::vector<DeviceSet> allowed_;
  const BlockInstance clusters_;
  // By block.
  std::vector<int32_t> cluster_of_;
  // By end, for stages of consecutive clusters that have an allowed device in common; empty: all have.
  const std::vector<std::size_t> first_starts_;
  const NetInstance nets_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_STAGE_PARTITION_H_
