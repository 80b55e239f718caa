#include "core/partition/search/block_instance.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/index.h"
#include "core/base/interruption.h"
#include "core/cost/terms/memory_form.h"
#include "core/cost/terms/transfer.h"
#include "core/graph/components.h"
#include "core/graph/digraph.h"
#include "core/graph/operator_unions.h"
#include "core/partition/search/block_merging.h"

namespace planwright {
namespace {

// Relabels `block_of` by `labels[block]`.
void Relabel(std::vector<int32_t>& block_of, const std::vector<int32_t>& labels) {
  for (int32_t& block : block_of) {
    if (block != kDropped) block = labels[Index(block)];
  }
}

// Everything of an instance that depends on which operators form which block.
class Assembler {
 public:
  explicit Assembler(const PlanningInput& input) : input_(input), network_(input.costs.network()) {}

  // `block_of` has labels 0, 1, ...; `edges` is acyclic on them.
  BlockInstance Assemble(const std::vector<int32_t>& block_of, std::vector<Digraph::Edge> edges) const {
    BlockInstance instance;
    instance.operators.resize(Index(CountLabels(block_of)));
    for (std::size_t i = 0; i < block_of.size(); ++i) {
      if (block_of[i] != kDropped) instance.operators[Index(block_of[i])].emplace_back(i);
    }
    instance.precedence = Digraph(instance.num_blocks(), std::move(edges));
    instance.rule = MakeRule();
    AddNets(block_of, instance);
    instance.pools = PoolsOf(input_.cluster);
    for (DevicePool& pool : instance.pools) AddTimes(input_.costs, instance.operators, instance.rule.has_phases, pool);
    instance.memory = MemoryOf(input_.graph, input_.problem, instance.operators);
    if (instance.rule.ring.has_value()) AddParameters(instance);
    return instance;
  }

 private:
  LoadRule MakeRule() const {
    LoadRule rule;
    rule.overlap = input_.problem.overlap;
    rule.has_phases = input_.problem.schedule == ScheduleKind::kGpipe;
    rule.replicates = input_.problem.replication == Replication::kPerStage;
    if (rule.replicates && ReducesGradients(input_.problem) && input_.cluster.devices.size() > 1) {
      rule.ring =
          AllReduceRing{input_.problem.allreduce.factor, network_.FastestLink(), input_.problem.allreduce.charge};
    }
    return rule;
  }

  // Returns the least time over the link classes from `first` on; 0 without one.
  int64_t LeastTransferTime(const Tensor& tensor, std::size_t first = 0) const {
    Picoseconds least(kMaxQuantity);
    for (std::size_t link_class = first; link_class < network_.num_link_classes(); ++link_class) {
      least = std::min(least, network_.TransferTime(tensor, link_class));
    }
    return network_.num_link_classes() <= first ? 0 : least.count();
  }

  void AddNets(const std::vector<int32_t>& block_of, BlockInstance& instance) const {
    instance.gradients_follow = GradientsFollowTensors(input_.graph, input_.problem.workload);
    const bool counts_readers = !RulesOf(input_.cluster.interconnect).pay_once;
    const MemoryForm form(input_.problem);
    const bool directed = input_.problem.overlap == Overlap::kFullDuplex;
    // By the blocks and the producer, if that matters.
    std::map<std::pair<std::vector<int32_t>, int32_t>, Net> merged;
    for (const Tensor& tensor : input_.graph.tensors) {
      std::vector<int32_t> blocks = BlocksOf(tensor, block_of);
      if (blocks.size() < 2) continue;
      const int64_t transfer = LeastTransferTime(tensor);
      const int64_t weight = instance.gradients_follow ? 2 * transfer : transfer;
      const int64_t buffers = form.BufferBytes(tensor.size_bytes);
      if (weight == 0 && buffers == 0) continue;
      if (counts_readers && weight > 0 && blocks.size() > 2) AddFanOut(tensor, block_of, blocks, weight, instance);
      const int32_t producer = directed ? block_of[tensor.producer.index()] : Net::kAnyProducer;
      Net& net = merged[{blocks, producer}];
      net.blocks = std::move(blocks);
      net.producer = producer;
      net.weight += weight;
      net.buffer_bytes += buffers;
      const bool is_backward = input_.graph.operators[tensor.producer.index()].pass == Pass::kBackward;
      if (instance.gradients_follow || is_backward) net.backward_weight += transfer;
      if (net.blocks.size() == 2 || IsBeforeReaders(tensor, block_of)) {
        const int64_t beyond = std::max<int64_t>(0, LeastTransferTime(tensor, /*first=*/1) - transfer);
        net.far_surcharge += instance.gradients_follow ? 2 * beyond : beyond;
      }
    }
    instance.nets_of.resize(instance.operators.size());
    for (auto& [key, net] : merged) {
      for (const int32_t block : net.blocks) {
        instance.nets_of[Index(block)].push_back(static_cast<int32_t>(instance.nets.size()));
      }
      instance.nets.push_back(std::move(net));
    }
  }

  // Whether every pipeline has the block of the producer before those of all readers, or with them: each has a forward
  // reader. Backward tensors, and those from one pass to another, order nothing as a rule.
  bool IsBeforeReaders(const Tensor& tensor, const std::vector<int32_t>& block_of) const {
    const auto is_forward = [&](OperatorId op) { return input_.graph.operators[op.index()].pass == Pass::kForward; };
    if (!is_forward(tensor.producer)) return false;
    std::vector<int32_t> behind{block_of[tensor.producer.index()]};
    for (const OperatorId consumer : tensor.consumers) {
      if (is_forward(consumer)) behind.push_back(block_of[consumer.index()]);
    }
    std::sort(behind.begin(), behind.end());
    return std::all_of(tensor.consumers.begin(), tensor.consumers.end(), [&](OperatorId consumer) {
      const int32_t block = block_of[consumer.index()];
      return block == kDropped || std::binary_search(behind.begin(), behind.end(), block);
    });
  }

  static void AddFanOut(const Tensor& tensor, const std::vector<int32_t>& block_of, std::vector<int32_t> blocks,
                        int64_t weight, BlockInstance& instance) {
    const int32_t producer = block_of[tensor.producer.index()];
    std::erase(blocks, producer);
    instance.fan_outs.push_back({producer, std::move(blocks), weight});
  }

  static std::vector<int32_t> BlocksOf(const Tensor& tensor, const std::vector<int32_t>& block_of) {
    InterruptionPoint(64 + 8 * tensor.consumers.size());
    std::vector<int32_t> blocks;
    if (block_of[tensor.producer.index()] == kDropped) return blocks;
    blocks.push_back(block_of[tensor.producer.index()]);
    for (const OperatorId consumer : tensor.consumers) {
      if (block_of[consumer.index()] != kDropped) blocks.push_back(block_of[consumer.index()]);
    }
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    return blocks;
  }

  void AddParameters(BlockInstance& instance) const {
    for (const std::vector<OperatorId>& operators : instance.operators) {
      int64_t& bytes = instance.parameter_bytes.emplace_back(0);
      for (const OperatorId op : operators) bytes += input_.graph.operators[op.index()].parameter_bytes;
    }
  }

  const PlanningInput input_;
  const Network& network_;
};

// Numbers the blocks in a depth-first topological order, branches with the smallest operator first.
std::vector<int32_t> TopologicalLabels(const BlockInstance& instance) {
  std::vector<int64_t> priority(instance.operators.size());
  for (std::size_t block = 0; block < priority.size(); ++block) {
    priority[block] = -static_cast<int64_t>(instance.operators[block].front().index());
  }
  const std::vector<int32_t> order = DepthFirstTopologicalOrder(instance.precedence, priority);
  std::vector<int32_t> labels(order.size());
  for (std::size_t position = 0; position < order.size(); ++position) {
    labels[Index(order[position])] = static_cast<int32_t>(position);
  }
  return labels;
}

}  // namespace

void AddCutNet(const BlockInstance& instance, const Net& net, bool holds_producer, MicroBatchWork& work) {
  const Picoseconds forward(net.weight - net.backward_weight);
  const Picoseconds backward(net.backward_weight);
  (holds_producer ? work.forward.out : work.forward.in) += forward;
  (holds_producer != instance.gradients_follow ? work.backward.out : work.backward.in) += backward;
}

bool MemoryCanBind(const BlockInstance& instance, const DevicePool& pool) {
  if (!pool.memory_bytes.has_value()) return false;
  MemorySums sums;
  int64_t workspace = 0;
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    sums.Add(instance.memory, block);
    workspace = std::max(workspace, instance.memory.workspace[block]);
  }
  int64_t buffers = 0;
  for (const Net& net : instance.nets) buffers = SaturatingAdd(buffers, net.buffer_bytes);
  return sums.Total(instance.memory, buffers, workspace) > *pool.memory_bytes;
}

bool HasDividedClasses(const BlockInstance& instance) {
  std::set<DeviceClassId> classes;
  return std::any_of(instance.pools.begin(), instance.pools.end(),
                     [&](const DevicePool& pool) { return !classes.insert(pool.device_class).second; });
}

BlockInstance WithJoinedClasses(BlockInstance instance) {
  std::vector<DevicePool> joined;
  for (DevicePool& pool : instance.pools) {
    const auto same_class = [&](const DevicePool& other) { return other.device_class == pool.device_class; };
    const auto found = std::find_if(joined.begin(), joined.end(), same_class);
    if (found == joined.end()) {
      joined.push_back(std::move(pool));
      continue;
    }
    std::optional<int64_t>& most = found->memory_bytes;
    const std::optional<int64_t>& other = pool.memory_bytes;
    most = most.has_value() && other.has_value() ? std::optional(std::max(*most, *other)) : std::nullopt;
    found->devices.insert(found->devices.end(), pool.devices.begin(), pool.devices.end());
    std::sort(found->devices.begin(), found->devices.end());
  }
  instance.pools = std::move(joined);
  return instance;
}

BlockInstance BuildBlockInstance(const PlanningInput& input, MergeRule merge_rule) {
  const Assembler assembler(input);
  std::vector<int32_t> block_of = ColocationUnions(input.graph, input.problem);
  std::vector<Digraph::Edge> edges = MapEdges(OrderedOperators(input.graph, block_of), block_of);

  const auto contract = [&](const std::vector<int32_t>& labels) {
    edges = MapEdges(edges, labels);
    Relabel(block_of, labels);
  };
  contract(StronglyConnectedComponents(Digraph(CountLabels(block_of), edges)));
  if (merge_rule != MergeRule::kNever) contract(MergeFreeBlocks(assembler.Assemble(block_of, edges), merge_rule));
  contract(TopologicalLabels(assembler.Assemble(block_of, edges)));
  return assembler.Assemble(block_of, std::move(edges));
}

BlockInstance JoinBlocks(const PlanningInput& input, const BlockInstance& instance,
                         const std::vector<int32_t>& label_of) {
  const Assembler assembler(input);
  std::vector<int32_t> block_of(input.graph.operators.size(), kDropped);
  for (std::size_t block = 0; block < label_of.size(); ++block) {
    for (const OperatorId op : instance.operators[block]) block_of[op.index()] = label_of[block];
  }
  std::vector<Digraph::Edge> edges = MapEdges(instance.precedence.edges(), label_of);
  const std::vector<int32_t> labels = TopologicalLabels(assembler.Assemble(block_of, edges));
  Relabel(block_of, labels);
  return assembler.Assemble(block_of, MapEdges(edges, labels));
}

BlockInstance AssembleUnordered(const PlanningInput& input, const std::vector<int32_t>& block_of) {
  return Assembler(input).Assemble(block_of, {});
}

}  // namespace planwright
