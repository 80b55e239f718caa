#include "core/partition/noncontiguous/net_instance.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/index.h"
#include "core/base/union_find.h"
#include "core/cost/terms/transfer.h"
#include "core/graph/operator_unions.h"

namespace planwright {
namespace {

// Ascending, each once.
void MakeSet(std::vector<int32_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Merges charges that are paid together.
class ChargeList {
 public:
  // `charge.groups` need not be a set yet.
  void Add(NetCharge charge) {
    MakeSet(charge.groups);
    if (charge.groups.size() < 2) return;
    if (charge.forward == 0 && charge.gradient == 0 && charge.late == 0 && charge.buffer_bytes == 0) return;
    NetCharge& sums = merged_[{charge.groups, charge.producer}];
    sums.forward += charge.forward;
    sums.gradient += charge.gradient;
    sums.late += charge.late;
    sums.buffer_bytes += charge.buffer_bytes;
  }

  std::vector<NetCharge> Take() && {
    std::vector<NetCharge> charges;
    charges.reserve(merged_.size());
    for (const auto& [key, sums] : merged_) {
      NetCharge& charge = charges.emplace_back(sums);
      std::tie(charge.groups, charge.producer) = key;
    }
    return charges;
  }

 private:
  // By groups and producer, which the charges themselves leave out.
  std::map<std::pair<std::vector<int32_t>, int32_t>, NetCharge> merged_;
};

// A label for each operator. For LAYER every stage holds whole layers, so layers on a cycle are one stage, hence on one
// device: components of the graph whose vertices are the layers and the operators without one.
std::vector<int32_t> GroupsOf(const OperatorGraph& graph, const ResolvedProblem& problem) {
  std::vector<int32_t> union_of = ColocationUnions(graph, problem);
  if (problem.granularity != Granularity::kLayer) return union_of;
  const std::vector<int32_t> stage_of = StageAtoms(graph, problem);
  UnionFind unions(CountLabels(union_of));
  std::vector<int32_t> first(Index(CountLabels(stage_of)), kDropped);
  for (std::size_t op = 0; op < union_of.size(); ++op) {
    if (union_of[op] == kDropped) continue;
    int32_t& head = first[Index(stage_of[op])];
    if (head == kDropped) head = union_of[op];
    unions.Unite(union_of[op], head);
  }
  const std::vector<int32_t> labels = unions.Labels();
  for (int32_t& label : union_of) {
    if (label != kDropped) label = labels[Index(label)];
  }
  return union_of;
}

// Every tensor as a charge between groups.
std::vector<NetCharge> ChargesOf(const ResolvedInput& input, const std::vector<int32_t>& group_of) {
  const bool gradients = GradientsFollowTensors(input.graph, input.problem.workload);
  const bool pay_once = RulesOf(input.cluster.interconnect).pay_once;
  const bool counts_buffers = input.problem.memory_model.kind == MemoryModel::Kind::kComponents;
  const bool counts_directions = input.problem.overlap == Overlap::kFullDuplex;
  const bool has_phases = input.problem.schedule == ScheduleKind::kGpipe;
  ChargeList charges;
  for (const Tensor& tensor : input.graph.tensors) {
    NetCharge charge;
    charge.producer = group_of[tensor.producer.index()];
    if (charge.producer == kDropped) continue;
    charge.groups.push_back(charge.producer);
    for (const OperatorId consumer : tensor.consumers) {
      if (group_of[consumer.index()] != kDropped) charge.groups.push_back(group_of[consumer.index()]);
    }
    MakeSet(charge.groups);
    const bool is_late = has_phases && input.graph.operators[tensor.producer.index()].pass == Pass::kBackward;
    (is_late ? charge.late : charge.forward) = TensorTransferTime(tensor, input.cluster.interconnect).count();
    charge.gradient = gradients ? charge.forward : 0;
    charge.buffer_bytes = counts_buffers ? 2 * tensor.size_bytes : 0;
    // Two groups are the producer and one consumer: both sides pay the same.
    if (!counts_directions && (pay_once || charge.groups.size() == 2)) {
      charge.producer = NetCharge::kAnyProducer;
      charge.gradient += std::exchange(charge.late, 0);
      if (!has_phases) charge.forward += std::exchange(charge.gradient, 0);
    }
    charges.Add(std::move(charge));
  }
  return std::move(charges).Take();
}

void AddDevices(const Cluster& cluster, NetInstance& instance) {
  for (std::size_t pool = 0; pool < instance.blocks.pools.size(); ++pool) {
    for (const DeviceId device : instance.blocks.pools[pool].devices) {
      instance.devices.push_back({device, pool, cluster.class_of(device).kind == DeviceKind::kCpu});
    }
  }
  instance.may_run.resize(instance.blocks.operators.size());
  for (std::size_t group = 0; group < instance.may_run.size(); ++group) {
    for (const NetDevice& device : instance.devices) {
      instance.may_run[group].push_back(instance.blocks.pools[device.pool].supported[group]);
    }
  }
}

void ApplyPins(const ResolvedProblem& problem, const std::vector<int32_t>& group_of, NetInstance& instance) {
  const auto exclude_if = [&](const OperatorDevice& rule, bool excludes_named) {
    const int32_t group = group_of[rule.op.index()];
    if (group == kDropped) return;
    for (std::size_t i = 0; i < instance.devices.size(); ++i) {
      if ((instance.devices[i].device == rule.device) != excludes_named) continue;
      instance.may_run[Index(group)][i] = false;
      instance.has_pins = true;
    }
  };
  for (const OperatorDevice& pin : problem.pinned) exclude_if(pin, /*excludes_named=*/false);
  for (const OperatorDevice& ban : problem.forbidden) exclude_if(ban, /*excludes_named=*/true);
}

UnitMemory ContractMemory(const UnitMemory& memory, const std::vector<int32_t>& label_of, std::size_t num_labels) {
  UnitMemory contracted;
  contracted.parameter_factor = memory.parameter_factor;
  contracted.reserved = memory.reserved;
  contracted.linear.assign(num_labels, 0);
  contracted.parameters.assign(num_labels, 0);
  contracted.workspace.assign(num_labels, 0);
  for (std::size_t group = 0; group < label_of.size(); ++group) {
    const std::size_t label = Index(label_of[group]);
    contracted.linear[label] += memory.linear[group];
    contracted.parameters[label] += memory.parameters[group];
    contracted.workspace[label] = std::max(contracted.workspace[label], memory.workspace[group]);
  }
  return contracted;
}

std::vector<int64_t> SumByLabel(const std::vector<int64_t>& values, const std::vector<int32_t>& label_of,
                                std::size_t num_labels) {
  std::vector<int64_t> sums(num_labels, 0);
  for (std::size_t group = 0; group < label_of.size(); ++group) sums[Index(label_of[group])] += values[group];
  return sums;
}

DevicePool ContractPool(const DevicePool& pool, const std::vector<int32_t>& label_of, std::size_t num_labels) {
  DevicePool contracted = pool;
  contracted.time.assign(num_labels, 0);
  contracted.backward_time.assign(pool.backward_time.empty() ? 0 : num_labels, 0);
  contracted.supported.assign(num_labels, true);
  for (std::size_t group = 0; group < label_of.size(); ++group) {
    const std::size_t label = Index(label_of[group]);
    contracted.time[label] += pool.time[group];
    if (!pool.backward_time.empty()) contracted.backward_time[label] += pool.backward_time[group];
    if (!pool.supported[group]) contracted.supported[label] = false;
  }
  contracted.supports_all = true;
  for (std::size_t label = 0; label < num_labels; ++label) {
    if (contracted.supported[label]) continue;
    contracted.time[label] = 0;
    if (!pool.backward_time.empty()) contracted.backward_time[label] = 0;
    contracted.supports_all = false;
  }
  return contracted;
}

std::vector<int32_t> MapGroups(const std::vector<int32_t>& groups, const std::vector<int32_t>& label_of) {
  std::vector<int32_t> mapped = Mapped(groups, [&](const int32_t group) { return label_of[Index(group)]; });
  MakeSet(mapped);
  return mapped;
}

void ContractNets(const BlockInstance& from, const std::vector<int32_t>& label_of, BlockInstance& to) {
  ChargeList merged;
  for (const Net& net : from.nets) {
    merged.Add({.groups = MapGroups(net.blocks, label_of), .forward = net.weight, .buffer_bytes = net.buffer_bytes});
  }
  to.nets_of.resize(to.operators.size());
  for (NetCharge& net : std::move(merged).Take()) {
    for (const int32_t group : net.groups) to.nets_of[Index(group)].push_back(static_cast<int32_t>(to.nets.size()));
    to.nets.push_back({std::move(net.groups), net.forward, net.buffer_bytes});
  }
}

}  // namespace

NetInstance NetInstanceOf(const ResolvedInput& input, BlockInstance blocks) {
  const std::vector<int32_t> group_of = GroupOfEach(blocks.operators, input.graph.operators.size());
  NetInstance instance;
  instance.blocks = std::move(blocks);
  instance.charges = ChargesOf(input, group_of);
  instance.pay_once = RulesOf(input.cluster.interconnect).pay_once;
  AddDevices(input.cluster, instance);
  return instance;
}

NetInstance BuildNetInstance(const PlanningInput& input) {
  const std::vector<int32_t> group_of = GroupsOf(input.graph, input.problem);
  NetInstance instance = NetInstanceOf(input, AssembleUnordered(input, group_of));
  ApplyPins(input.problem, group_of, instance);
  return instance;
}

NetInstance ContractGroups(const NetInstance& instance, const std::vector<int32_t>& label_of) {
  const auto num_labels = Index(CountLabels(label_of));
  NetInstance contracted;
  BlockInstance& blocks = contracted.blocks;
  blocks.operators.resize(num_labels);
  contracted.may_run.assign(num_labels, std::vector<bool>(instance.devices.size(), true));
  for (std::size_t group = 0; group < label_of.size(); ++group) {
    const std::size_t label = Index(label_of[group]);
    const auto& operators = instance.blocks.operators[group];
    blocks.operators[label].insert(blocks.operators[label].end(), operators.begin(), operators.end());
    for (std::size_t i = 0; i < instance.devices.size(); ++i) {
      if (!instance.may_run[group][i]) contracted.may_run[label][i] = false;
    }
  }
  for (auto& operators : blocks.operators) std::sort(operators.begin(), operators.end());
  blocks.precedence = Digraph(static_cast<int32_t>(num_labels), {});
  ContractNets(instance.blocks, label_of, blocks);
  for (const DevicePool& pool : instance.blocks.pools) {
    blocks.pools.push_back(ContractPool(pool, label_of, num_labels));
  }
  blocks.memory = ContractMemory(instance.blocks.memory, label_of, num_labels);
  blocks.rule = instance.blocks.rule;
  if (!instance.blocks.parameter_bytes.empty()) {
    blocks.parameter_bytes = SumByLabel(instance.blocks.parameter_bytes, label_of, num_labels);
  }
  ChargeList charges;
  for (const NetCharge& charge : instance.charges) {
    const int32_t producer =
        charge.producer == NetCharge::kAnyProducer ? NetCharge::kAnyProducer : label_of[Index(charge.producer)];
    charges.Add({MapGroups(charge.groups, label_of), producer, charge.forward, charge.gradient, charge.late,
                 charge.buffer_bytes});
  }
  contracted.charges = std::move(charges).Take();
  contracted.pay_once = instance.pay_once;
  contracted.devices = instance.devices;
  contracted.has_pins = instance.has_pins;
  return contracted;
}

}  // namespace planwright
