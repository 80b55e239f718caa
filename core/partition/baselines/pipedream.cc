// Baseline: PipeDream's planner (Harlap et al., 2018) as device-placement section 6 runs it.
//
// PipeDream plans chains, so every branching becomes one block: the blocks from which the edges of a biconnected
// component start (core/graph/components.h). Then the dynamic program along a linear order. Edges from blocks that
// take no time on any device, such as an attention mask that every layer reads, make no branching: PipeDream leaves
// graph inputs out as well, and the paper's program does so for the numbers of vertices of two of its files.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/base/polling.h"
#include "core/base/union_find.h"
#include "core/graph/components.h"
#include "core/graph/graph_copy.h"
#include "core/partition/baselines/proposals.h"
#include "core/partition/contiguous/contiguous_throughput.h"
#include "core/partition/parmesan/stage_partition.h"
#include "core/partition/parmesan/stage_shape.h"
#include "core/partition/parmesan/uniform_links_problem.h"
#include "core/partition/search/block_instance.h"

namespace planwright {
namespace {

// Labels of blocks: those of one branching have the same.
std::vector<int32_t> Branchings(const BlockInstance& instance) {
  const auto takes_time = [&](int32_t block) {
    return std::any_of(instance.pools.begin(), instance.pools.end(),
                       [&](const DevicePool& pool) { return pool.time[Index(block)] > 0; });
  };
  std::vector<Digraph::Edge> edges;
  for (const Digraph::Edge& edge : instance.precedence.edges()) {
    const bool is_join = instance.precedence.predecessors(edge.first).size() > 1;
    if (is_join || takes_time(edge.first)) edges.push_back(edge);
  }
  const Digraph graph(instance.num_blocks(), std::move(edges));
  const std::vector<int32_t> component_of = BiconnectedComponents(graph);
  // The tail of the first edge of each component.
  std::vector<int32_t> first_tail(graph.edges().size(), -1);
  UnionFind branchings(instance.num_blocks());
  for (std::size_t edge = 0; edge < component_of.size(); ++edge) {
    const int32_t tail = graph.edges()[edge].first;
    int32_t& first = first_tail[Index(component_of[edge])];
    if (first < 0) first = tail;
    branchings.Unite(first, tail);
  }
  return branchings.Labels();
}

// Shapes that are tried, and places to cut at most.
constexpr std::size_t kMaxShapes = 16;
constexpr int32_t kMaxPlaces = 1024;

// Copy after copy of each stage, over the devices in the order of the cluster.
Placement OnConsecutiveDevices(const StagePartition& partition, int32_t replicas) {
  Placement placement;
  std::size_t device = 0;
  for (const std::vector<OperatorId>& operators : partition.stages) {
    Placement::Stage& stage = placement.stages.emplace_back();
    stage.operators = operators;
    for (int32_t replica = 0; replica < replicas; ++replica) stage.devices.emplace_back(device++);
  }
  return placement;
}

// REQUIRES: not host_staged.
void ProposeAlikeStages(const SearchRequest& chain, const SolveLimits& limits, TaskArena& arena, Proposals& proposals) {
  const UniformLinksProblem flat = WithUniformLinks(chain, ConsumerCharge::kPerStage, AssumedSpeed::kMedian);
  PartitionOptions options;
  options.clustering.max_clusters = kMaxPlaces;
  options.refinement_steps = 0;
  options.counts_allreduce = false;
  const StagePartitioner partitioner(flat, chain.problem, options, limits);
  const PipelineRule rule = PipelineRuleOf(chain.problem, LinkSpeed());
  const std::vector<StageShape> shapes =
      ShapesOf(partitioner.blocks(), chain.problem, chain.device_limits, rule, partitioner.num_clusters());
  Poller poller(limits);
  for (std::size_t i = 0; i < std::min(kMaxShapes, shapes.size()) && !poller.ShouldStopNow(); ++i) {
    const auto partition = partitioner.Partition(shapes[i], /*exact_work=*/0, limits, arena);
    if (partition.has_value()) proposals.Propose(OnConsecutiveDevices(*partition, shapes[i].replicas));
  }
  proposals.record().set_stop_reason(StopReasonOf(limits, StopReason::kExhausted));
}

}  // namespace

OperatorGraph ContractBranchings(const SearchRequest& request) {
  const BlockInstance instance = BuildBlockInstance(request, MergeRule::kNever);
  const std::vector<int32_t> branching_of = Branchings(instance);
  OperatorGraph graph = CopyOf(request.graph);
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    // A block holds all of each of its colocation groups, so none is torn apart by the new name.
    for (const OperatorId op : instance.operators[block]) {
      graph.operators[op.index()].colocation_group = absl::StrCat("branching ", branching_of[block]);
    }
  }
  return graph;
}

void ProposePipedream(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, Proposals& proposals) {
  const OperatorGraph contracted = ContractBranchings(request);
  ResolvedProblem problem = request.problem;
  problem.split = Split::kContiguous;
  const SearchRequest chain{contracted,      request.cluster,          problem, request.costs,
                            request.options, Algorithm::kLinearizedDp, {}};
  if (problem.replication == Replication::kUniform || problem.micro_batches.has_value()) {
    return ProposeAlikeStages(chain, limits, arena, proposals);
  }
  RunSubSearch(
      SolveContiguousThroughput, chain, limits, arena, proposals,
      [&](const Placement& placement) { return proposals.Cost(placement); },
      [](Placement placement) { return placement; });
}

}  // namespace planwright
