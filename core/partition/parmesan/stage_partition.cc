#include "core/partition/parmesan/stage_partition.h"

#include <algorithm>
#include <utility>

#include "core/base/index.h"
#include "core/base/interruption.h"
#include "core/cost/pipeline_fill.h"
#include "core/cost/terms/transfer.h"
#include "core/graph/operator_unions.h"
#include "core/partition/contiguous/block_split.h"
#include "core/partition/contiguous/ideal_dp.h"
#include "core/partition/contiguous/linearized_dp.h"
#include "core/partition/noncontiguous/net_tables.h"
#include "core/partition/parmesan/refinement.h"
#include "core/partition/search/load_windows.h"

namespace planwright {
namespace {

// Larger tables of the refinement (nets x stages) would not pay.
constexpr std::size_t kMaxRefinementCells = std::size_t{1} << 26U;

std::vector<DeviceSet> AllowedDevicesOf(const UniformLinksProblem& flat, const BlockInstance& blocks) {
  return AllowedDevices(flat.problem, flat.cluster.devices.size(), flat.graph.operators.size(), blocks.operators);
}

BlockInstance ClusteredBlocks(const UniformLinksProblem& flat, const BlockInstance& blocks,
                              const std::vector<DeviceSet>& allowed, const ClusteringOptions& options,
                              const SolveLimits& limits) {
  return JoinBlocks({flat.graph, flat.cluster, flat.problem, flat.costs}, blocks,
                    ClusterBlocks(blocks, options, limits, allowed));
}

bool IsRestricted(const ResolvedProblem& problem) { return !problem.pinned.empty() || !problem.forbidden.empty(); }

// By end: where the longest run of groups begins that may share a device.
std::vector<std::size_t> FirstStarts(const std::vector<DeviceSet>& allowed) {
  std::vector<std::size_t> firsts(1, 0);
  for (std::size_t end = 1; end <= allowed.size(); ++end) {
    DeviceSet common;
    std::size_t start = end;
    while (start > firsts.back() && Intersect(allowed[start - 1], common)) --start;
    firsts.push_back(start);
  }
  return firsts;
}

// By block of `blocks`: the block of `joined` that holds it.
std::vector<int32_t> BlocksThatHold(const BlockInstance& blocks, const BlockInstance& joined,
                                    std::size_t num_operators) {
  const std::vector<int32_t> joined_of = GroupOfEach(joined.operators, num_operators);
  return Mapped(blocks.operators,
                [&](const std::vector<OperatorId>& operators) { return joined_of[operators.front().index()]; });
}

// Stages that are asked for may hold nothing but operators that cost nothing.
MergeRule MergeRuleOf(const ResolvedProblem& problem) {
  return problem.num_stages.has_value() ? MergeRule::kNever : MergeRule::kExact;
}

}  // namespace

int32_t MostSlots(Overlap overlap) {
  if (overlap == Overlap::kSerial) return 0;
  return overlap == Overlap::kOverlapped ? 1 : 2;
}

StagePartitioner::StagePartitioner(const UniformLinksProblem& flat, const ResolvedProblem& problem,
                                   const PartitionOptions& options, const SolveLimits& limits)
    : flat_(flat),
      problem_(problem),
      options_(options),
      rule_(PipelineRuleOf(problem,
                           flat.costs.network().num_link_classes() == 0 ? LinkSpeed() : flat.costs.network().speed(0))),
      blocks_(BuildBlockInstance({flat.graph, flat.cluster, flat.problem, flat.costs}, MergeRuleOf(problem))),
      allowed_(AllowedDevicesOf(flat, blocks_)),
      clusters_(ClusteredBlocks(flat, blocks_, allowed_, options.clustering, limits)),
      cluster_of_(BlocksThatHold(blocks_, clusters_, flat.graph.operators.size())),
      first_starts_(IsRestricted(flat.problem) ? FirstStarts(AllowedDevicesOf(flat, clusters_))
                                               : std::vector<std::size_t>()),
      nets_(NetInstanceOf({flat.graph, flat.cluster, flat.problem}, blocks_)) {}

std::optional<StagePartition> StagePartitioner::Partition(const StageShape& shape, int64_t exact_work,
                                                          const SolveLimits& limits, TaskArena& arena) const {
  int64_t work = 0;
  const std::optional<BlockSplit> split = Split(Shaped(clusters_, shape), shape, exact_work, limits, arena, work);
  if (!split.has_value()) return std::nullopt;
  std::optional<StagePartition> partition = Refined(shape, *split, limits);
  if (partition.has_value()) partition->work = work;
  return partition;
}

int32_t StagePartitioner::max_replicas() const {
  auto least = static_cast<std::ptrdiff_t>(flat_.cluster.devices.size());
  for (const DeviceSet& devices : allowed_) {
    if (!devices.empty()) least = std::min(least, std::count(devices.begin(), devices.end(), true));
  }
  return static_cast<int32_t>(least);
}

BlockInstance StagePartitioner::LeastStored() const {
  BlockInstance stored = blocks_;
  CountStored(/*stages_behind=*/0, stored);
  return stored;
}

std::vector<int64_t> StagePartitioner::TimesStored(std::size_t most_behind) const {
  if (problem_.workload != Workload::kTraining || problem_.memory_model.kind != MemoryModel::Kind::kComponents) {
    return std::vector<int64_t>(most_behind + 1, 1);
  }
  const TransferTurns turns = TransferTurns::Of(problem_, /*through_host=*/false);
  FillFromEnd fill(turns);
  std::vector<int64_t> times;
  while (times.size() <= most_behind) {
    times.push_back(InFlightMicroBatches(problem_, fill.HeldBy(1), 1));
    fill.Add({1, MostSlots(problem_.overlap)});
  }
  return times;
}

void StagePartitioner::CountStored(std::size_t stages_behind, BlockInstance& instance) const {
  const int64_t in_flight = TimesStored(stages_behind).back();
  for (int64_t& bytes : instance.memory.linear) bytes = SaturatingMultiply(bytes, in_flight);
}

// What the number of stages and replicas makes of times and memory.
void StagePartitioner::CountShape(const StageShape& shape, BlockInstance& instance) const {
  if (problem_.workload != Workload::kTraining) return;
  for (DevicePool& pool : instance.pools) {
    for (std::size_t block = 0; block < pool.time.size(); ++block) {
      pool.time[block] += AllReduceShare(instance.operators[block], shape.replicas);
    }
  }
}

// What the operators' part of an all-reduce is worth as undivided load: a time per micro-batch is a sum over blocks
// only in the limit of many micro-batches, without overlap.
int64_t StagePartitioner::AllReduceShare(const std::vector<OperatorId>& operators, int32_t replicas) const {
  const bool is_sum = !problem_.micro_batches.has_value() && problem_.overlap == Overlap::kSerial;
  if (!options_.counts_allreduce || !is_sum) return 0;
  const int64_t allreduce = rule_.AllReduceTime(ParameterBytes(flat_.graph, operators), replicas);
  return rule_.ring.has_value() ? rule_.ring->OfRound(allreduce, replicas) : 0;
}

// The devices of each pool are its stages.
BlockInstance StagePartitioner::Shaped(const BlockInstance& instance, const StageShape& shape) const {
  BlockInstance shaped = instance;
  CountShape(shape, shaped);
  shaped.uses_all_devices = true;
  for (std::size_t pool = 0; pool < shape.stages_of_pool.size(); ++pool) {
    shaped.pools[pool].devices.resize(Index(shape.stages_of_pool[pool]));
  }
  std::erase_if(shaped.pools, [](const DevicePool& pool) { return pool.devices.empty(); });
  return shaped;
}

std::optional<BlockSplit> StagePartitioner::Split(const BlockInstance& shaped, const StageShape& shape,
                                                  int64_t exact_work, const SolveLimits& limits, TaskArena& arena,
                                                  int64_t& work) const {
  const std::vector<int32_t> order = FirstNumbers(Index(shaped.num_blocks()));
  // By number of stages behind.
  std::vector<int64_t> more_stored = TimesStored(Index(shape.num_stages()));
  for (int64_t& times : more_stored) --times;
  const LoadWindows windows(shaped);
  const int64_t trivial = TrivialLoadBound(shaped);
  std::optional<BlockSplit> best;
  bool was_interrupted = false;
  // Low targets leave narrow windows.
  for (int64_t target = windows.WorkBound(trivial); !best.has_value() && !was_interrupted;) {
    target = std::min(trivial, SaturatingAdd(SaturatingMultiply(target, 2), 1));
    best = LinearizedSplit(shaped, windows, order, target, limits, was_interrupted, first_starts_, more_stored);
    if (target == trivial) break;
  }
  if (exact_work == 0 || was_interrupted || !first_starts_.empty()) return best;
  SolveLimits exact_limits = limits;
  exact_limits.work = exact_work;
  // The program over ideals does not know how many stages are behind.
  BlockInstance stored = shaped;
  CountStored(Index(shape.num_stages()) - 1, stored);
  const IdealDpOutcome exact =
      SolveByIdealDp(stored, windows, 0, best, IdealDpOptions(), exact_limits, arena, IdealDpListener());
  work = exact.work;
  // Its splits may leave devices idle: such a one belongs to a shape with fewer stages.
  const bool has_all_stages = exact.best.has_value() && exact.best->stages.size() == Index(shape.num_stages());
  return has_all_stages ? exact.best : best;
}

// Stages as the devices of a net instance.
NetInstance StagePartitioner::StageNets(const StageShape& shape, const std::vector<std::size_t>& pool_of_stage) const {
  NetInstance nets = nets_;
  CountShape(shape, nets.blocks);
  nets.devices.clear();
  const std::vector<int64_t> times_stored = TimesStored(pool_of_stage.size());
  for (const std::size_t pool : pool_of_stage) {
    const DeviceId first = nets.blocks.pools[pool].devices.front();
    const bool is_cpu = flat_.cluster.class_of(first).kind == DeviceKind::kCpu;
    nets.devices.push_back({first, pool, is_cpu, times_stored[pool_of_stage.size() - 1 - nets.devices.size()]});
  }
  for (std::size_t block = 0; block < nets.may_run.size(); ++block) {
    nets.may_run[block].clear();
    for (const std::size_t pool : pool_of_stage) {
      nets.may_run[block].push_back(nets.blocks.pools[pool].supported[block]);
    }
  }
  return nets;
}

std::optional<StagePartition> StagePartitioner::Refined(const StageShape& shape, const BlockSplit& split,
                                                        const SolveLimits& limits) const {
  std::vector<std::size_t> pools;
  for (std::size_t pool = 0; pool < shape.stages_of_pool.size(); ++pool) {
    if (shape.stages_of_pool[pool] > 0) pools.push_back(pool);
  }
  std::vector<int32_t> stage_of_cluster(Index(clusters_.num_blocks()), 0);
  std::vector<std::size_t> pool_of_stage;
  for (const BlockSplit::Stage& stage : split.stages) {
    for (const int32_t cluster : stage.blocks) {
      stage_of_cluster[Index(cluster)] = static_cast<int32_t>(pool_of_stage.size());
    }
    pool_of_stage.push_back(pools[stage.pool]);
  }
  std::vector<int32_t> stage_of =
      Mapped(cluster_of_, [&](const int32_t cluster) { return stage_of_cluster[Index(cluster)]; });
  return Refined(shape, pool_of_stage, std::move(stage_of), limits);
}

std::optional<StagePartition> StagePartitioner::Refine(const StageShape& shape, std::size_t pool,
                                                       const std::vector<std::vector<OperatorId>>& stages,
                                                       const SolveLimits& limits) const {
  std::vector<int32_t> stage_of_operator(flat_.graph.operators.size(), 0);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (const OperatorId op : stages[stage]) stage_of_operator[op.index()] = static_cast<int32_t>(stage);
  }
  std::vector<int32_t> stage_of;
  std::vector<bool> is_used(stages.size(), false);
  for (std::size_t block = 0; block < blocks_.operators.size(); ++block) {
    auto stage = static_cast<int32_t>(stages.size());
    for (const OperatorId op : blocks_.operators[block]) stage = std::min(stage, stage_of_operator[op.index()]);
    for (const int32_t before : blocks_.precedence.predecessors(static_cast<int32_t>(block))) {
      stage = std::max(stage, stage_of[Index(before)]);
    }
    stage_of.push_back(stage);
    is_used[Index(stage)] = true;
  }
  if (std::find(is_used.begin(), is_used.end(), false) != is_used.end()) return std::nullopt;
  return Refined(shape, std::vector<std::size_t>(stages.size(), pool), std::move(stage_of), limits);
}

// `stage_of`: by block. At a deadline this may be the only plan, so it is made; who is cancelled does not wait for the
// counts of hundreds of stages.
std::optional<StagePartition> StagePartitioner::Refined(const StageShape& shape,
                                                        const std::vector<std::size_t>& pool_of_stage,
                                                        std::vector<int32_t> stage_of, const SolveLimits& limits) const
    try {
  NetInstance nets = StageNets(shape, pool_of_stage);
  for (std::size_t block = 0; block < allowed_.size(); ++block) {
    if (allowed_[block].empty()) continue;
    nets.may_run[block].assign(pool_of_stage.size(), false);
    nets.may_run[block][Index(stage_of[block])] = true;
  }
  if (limits.stop.stop_requested()) return std::nullopt;
  const NetTables tables(nets);
  NetState state(tables, {std::move(stage_of), {}}, limits.stop);
  StagePartition before = PartitionOf(state, shape.replicas);
  if (Index(tables.num_nets()) * pool_of_stage.size() > kMaxRefinementCells) return before;
  const int32_t moves = RefineStages(blocks_.precedence, options_.refinement_steps, limits, state);
  StagePartition after = PartitionOf(state, shape.replicas);
  after.refinement_moves = moves;
  // Loads never get worse; all-reduces may.
  return after.predicted < before.predicted ? after : before;
} catch (const Interrupted&) {
  return std::nullopt;
}

StagePartition StagePartitioner::PartitionOf(const NetState& state, int32_t replicas) const {
  const auto num_stages = Index(state.tables().num_devices());
  StagePartition partition;
  partition.stages.resize(num_stages);
  std::vector<StageTime> times(num_stages);
  for (std::size_t stage = 0; stage < num_stages; ++stage) {
    times[stage].load = state.load(static_cast<int32_t>(stage));
    const std::size_t pool = state.tables().pool_of(static_cast<int32_t>(stage));
    partition.classes.push_back(blocks_.pools[pool].device_class);
  }
  for (std::size_t block = 0; block < blocks_.operators.size(); ++block) {
    const std::vector<OperatorId>& operators = blocks_.operators[block];
    const std::size_t stage = Index(state.device_of(static_cast<int32_t>(block)));
    partition.stages[stage].insert(partition.stages[stage].end(), operators.begin(), operators.end());
    times[stage].load -= AllReduceShare(operators, replicas);
  }
  for (std::size_t stage = 0; stage < num_stages; ++stage) {
    std::vector<OperatorId>& operators = partition.stages[stage];
    std::sort(operators.begin(), operators.end());
    times[stage].allreduce = rule_.AllReduceTime(ParameterBytes(flat_.graph, operators), replicas);
  }
  partition.predicted = rule_.TimePerMicroBatch(times, replicas);
  return partition;
}

}  // namespace planwright
