#include "tests/core/partition/block_oracle.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace planwright {
namespace {

bool Holds(BlockSet set, std::size_t block) { return (set >> block & 1U) != 0; }

BlockSet SetOf(const std::vector<int32_t>& blocks) {
  BlockSet set = 0;
  for (const int32_t block : blocks) set |= BlockSet{1} << static_cast<unsigned>(block);
  return set;
}

bool IsCut(const Net& net, BlockSet set) {
  const BlockSet pins = SetOf(net.blocks);
  return (pins & set) != 0 && (pins & ~set) != 0;
}

// Devices used of each pool.
using Usage = std::vector<std::size_t>;

// The least max load over the chains of sets in `ideals` from the empty to the full one.
std::optional<int64_t> BestChain(const BlockInstance& instance, const std::vector<BlockSet>& ideals) {
  std::map<std::pair<BlockSet, Usage>, int64_t> best;
  best[{0, Usage(instance.pools.size(), 0)}] = 0;
  std::optional<int64_t> optimum;
  // A larger set has a larger mask, so every start is final before its ends.
  for (auto it = best.begin(); it != best.end(); ++it) {
    const auto& [from, usage] = it->first;
    const int64_t load = it->second;
    if (from == FullSet(instance) && (!optimum.has_value() || load < *optimum)) optimum = load;
    for (const BlockSet to : ideals) {
      if (to == from || (from & ~to) != 0) continue;
      for (std::size_t pool = 0; pool < instance.pools.size(); ++pool) {
        if (!NaiveFits(instance, pool, to & ~from)) continue;
        const std::size_t left = instance.pools[pool].devices.size() - usage[pool];
        for (std::size_t replicas = 1; replicas <= (instance.rule.replicates ? left : std::min<std::size_t>(left, 1));
             ++replicas) {
          const int64_t stage_load = NaiveLoad(instance, pool, to & ~from, static_cast<int64_t>(replicas));
          if (stage_load == LoadRule::kNone) continue;
          Usage next = usage;
          next[pool] += replicas;
          const int64_t max_load = std::max(load, stage_load);
          const auto [entry, is_new] = best.try_emplace({to, std::move(next)}, max_load);
          if (!is_new) entry->second = std::min(entry->second, max_load);
        }
      }
    }
  }
  return optimum;
}

void FillMemory(BlockInstance& instance, RandomStream& random) {
  UnitMemory& memory = instance.memory;
  memory.parameter_factor = random.Unit() < 0.5 ? 0 : 2.3;
  memory.reserved = random.Between(0, 3);
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    memory.linear[block] = random.Between(0, 10);
    memory.parameters[block] = random.Between(0, 6);
    memory.workspace[block] = random.Between(0, 5);
  }
  for (Net& net : instance.nets) net.buffer_bytes = random.Between(0, 4);
}

void FillRule(BlockInstance& instance, int64_t max_time, RandomStream& random) {
  LoadRule& rule = instance.rule;
  rule.overlap = static_cast<Overlap>(random.Between(0, 2));
  instance.gradients_follow = random.Unit() < 0.5;
  for (Net& net : instance.nets) {
    net.backward_weight = instance.gradients_follow ? net.weight / 2 : random.Between(0, net.weight);
    net.weight = instance.gradients_follow ? 2 * net.backward_weight : net.weight;
    const auto sender = static_cast<std::size_t>(random.Between(0, static_cast<int64_t>(net.blocks.size()) - 1));
    if (rule.overlap == Overlap::kFullDuplex) net.producer = net.blocks[sender];
  }
  rule.has_phases = random.Unit() < 0.5;
  if (rule.has_phases) {
    for (DevicePool& pool : instance.pools) {
      for (const int64_t time : pool.time) pool.backward_time.push_back(random.Between(0, time));
    }
    if (random.Unit() < 0.7) rule.forward_cap = random.Between(max_time, 3 * max_time);
  }
  rule.replicates = random.Unit() < 0.5;
  if (!rule.replicates || random.Unit() < 0.3) return;
  const auto factor = random.Unit() < 0.5 ? AllReduce::Factor::kRing : AllReduce::Factor::kHalf;
  rule.ring = AllReduceRing{factor, {1e12 * random.Unit() + 1, Picoseconds(random.Between(0, 2))}};
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    instance.parameter_bytes.push_back(random.Between(0, 8));
  }
}

NaiveWork operator+(const NaiveWork& a, const NaiveWork& b) {
  return {a.compute + b.compute, a.in + b.in, a.out + b.out};
}

int64_t Combined(Overlap overlap, const NaiveWork& work) {
  if (overlap == Overlap::kSerial) return work.in + work.compute + work.out;
  if (overlap == Overlap::kOverlapped) return std::max(work.compute, work.in + work.out);
  return std::max({work.in, work.compute, work.out});
}

}  // namespace

BlockInstance EmptyBlockInstance(int32_t num_blocks) {
  const auto n = static_cast<std::size_t>(num_blocks);
  BlockInstance instance;
  for (std::size_t block = 0; block < n; ++block) instance.operators.push_back({OperatorId(block)});
  instance.precedence = Digraph(num_blocks, {});
  instance.nets_of.resize(n);
  instance.memory.linear.assign(n, 0);
  instance.memory.parameters.assign(n, 0);
  instance.memory.workspace.assign(n, 0);
  return instance;
}

void AddEdges(BlockInstance& instance, std::vector<Digraph::Edge> edges) {
  instance.precedence = Digraph(instance.num_blocks(), std::move(edges));
}

void AddNet(BlockInstance& instance, const std::vector<int32_t>& blocks, int64_t weight, int64_t buffer_bytes) {
  for (const int32_t block : blocks) {
    instance.nets_of[static_cast<std::size_t>(block)].push_back(static_cast<int32_t>(instance.nets.size()));
  }
  instance.nets.push_back({blocks, weight, buffer_bytes});
}

DevicePool& AddPool(BlockInstance& instance, int devices, const std::vector<int64_t>& times) {
  std::size_t next = 0;
  for (const DevicePool& pool : instance.pools) next += pool.devices.size();
  DevicePool& pool = instance.pools.emplace_back();
  for (int i = 0; i < devices; ++i) pool.devices.emplace_back(next++);
  pool.time = times;
  pool.supported.assign(times.size(), true);
  return pool;
}

BlockInstance MakeBlockInstance(const BlockInstanceShape& shape, RandomStream& random) {
  BlockInstance instance = EmptyBlockInstance(shape.num_blocks);
  const auto n = static_cast<std::size_t>(shape.num_blocks);
  std::vector<Digraph::Edge> edges;
  for (int32_t from = 0; from < shape.num_blocks; ++from) {
    std::vector<int32_t> pins(1, from);
    for (int32_t to = from + 1; to < shape.num_blocks; ++to) {
      if (random.Unit() >= shape.edge_probability) continue;
      edges.emplace_back(from, to);
      if (random.Unit() < 0.7) pins.push_back(to);
    }
    if (pins.size() > 1) AddNet(instance, pins, random.Between(0, shape.max_time));
  }
  AddEdges(instance, edges);
  if (shape.constrained) FillMemory(instance, random);
  const auto num_pools = static_cast<std::size_t>(random.Between(2, 3));
  for (std::size_t i = 0; i < num_pools; ++i) {
    std::vector<int64_t> times(n);
    for (int64_t& time : times) time = random.Unit() < 0.15 ? 0 : random.Between(0, shape.max_time);
    DevicePool& pool = AddPool(instance, static_cast<int>(random.Between(1, 2)), times);
    pool.pays_transfers = i == 0 || random.Unit() < 0.5;
    if (!shape.constrained) continue;
    if (random.Unit() < 0.7) pool.memory_bytes = random.Between(20, 60);
    for (std::size_t block = 0; block < n; ++block) {
      if (random.Unit() >= 0.1) continue;
      pool.supported[block] = pool.supports_all = false;
      pool.time[block] = 0;
    }
  }
  if (shape.any_rule) FillRule(instance, shape.max_time, random);
  return instance;
}

BlockSet FullSet(const BlockInstance& instance) {
  return (BlockSet{1} << static_cast<unsigned>(instance.num_blocks())) - 1;
}

bool IsIdeal(const BlockInstance& instance, BlockSet set) {
  return std::none_of(
      instance.precedence.edges().begin(), instance.precedence.edges().end(), [&](const Digraph::Edge& edge) {
        return Holds(set, static_cast<std::size_t>(edge.second)) && !Holds(set, static_cast<std::size_t>(edge.first));
      });
}

std::vector<BlockSet> AllIdeals(const BlockInstance& instance) {
  std::vector<BlockSet> ideals;
  for (BlockSet set = 0; set <= FullSet(instance); ++set) {
    if (IsIdeal(instance, set)) ideals.push_back(set);
  }
  return ideals;
}

int64_t NaiveTime(const BlockInstance& instance, std::size_t pool, BlockSet set) {
  int64_t time = 0;
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    if (Holds(set, block)) time += instance.pools[pool].time[block];
  }
  return time;
}

int64_t NaiveBorder(const BlockInstance& instance, BlockSet set) {
  int64_t border = 0;
  for (const Net& net : instance.nets) border += IsCut(net, set) ? net.weight : 0;
  return border;
}

NaiveWork NaiveForward(const BlockInstance& instance, std::size_t pool, BlockSet set) {
  NaiveWork work{NaiveTime(instance, pool, set) - NaiveBackward(instance, pool, set).compute};
  if (!instance.pools[pool].pays_transfers) return work;
  for (const Net& net : instance.nets) {
    if (!IsCut(net, set)) continue;
    const bool sends = net.producer != Net::kAnyProducer && Holds(set, static_cast<std::size_t>(net.producer));
    (sends ? work.out : work.in) += net.weight - net.backward_weight;
  }
  return work;
}

NaiveWork NaiveBackward(const BlockInstance& instance, std::size_t pool, BlockSet set) {
  NaiveWork work;
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    const bool is_told = !instance.pools[pool].backward_time.empty();
    if (is_told && Holds(set, block)) work.compute += instance.pools[pool].backward_time[block];
  }
  if (!instance.pools[pool].pays_transfers) return work;
  for (const Net& net : instance.nets) {
    if (!IsCut(net, set)) continue;
    bool sends = net.producer != Net::kAnyProducer && Holds(set, static_cast<std::size_t>(net.producer));
    if (instance.gradients_follow) sends = !sends;
    (sends ? work.out : work.in) += net.backward_weight;
  }
  return work;
}

int64_t NaiveLoad(const BlockInstance& instance, std::size_t pool, BlockSet set, int64_t replicas) {
  const LoadRule& rule = instance.rule;
  const NaiveWork forward = NaiveForward(instance, pool, set);
  const NaiveWork backward = NaiveBackward(instance, pool, set);
  int64_t bytes = 0;
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    if (Holds(set, block) && rule.ring.has_value()) bytes += instance.parameter_bytes[block];
  }
  const auto copies = static_cast<int32_t>(replicas);
  const bool reduces = copies > 1 && rule.ring.has_value();
  const int64_t reduction =
      reduces ? AllReduceTime(bytes, copies, rule.ring->speed, rule.ring->factor).count() : int64_t{0};
  const auto divided = [&](int64_t load) { return (load + replicas - 1) / replicas; };
  const auto joined = [&](int64_t load) {
    return rule.overlap == Overlap::kSerial ? load + reduction : std::max(load, reduction);
  };
  const int64_t capped = Combined(rule.overlap, forward);
  if (rule.forward_cap.has_value() && divided(capped) > *rule.forward_cap) return LoadRule::kNone;
  const int64_t load = Combined(rule.overlap, rule.forward_cap.has_value() ? backward : forward + backward);
  if (reduces && rule.ring->charge == AllReduce::Charge::kPerMicroBatch) {
    return rule.overlap == Overlap::kSerial ? divided(load) + reduction : std::max(divided(load), reduction);
  }
  return divided(joined(load));
}

bool NaiveFits(const BlockInstance& instance, std::size_t pool_index, BlockSet set) {
  const DevicePool& pool = instance.pools[pool_index];
  const UnitMemory& memory = instance.memory;
  int64_t bytes = memory.reserved;
  int64_t parameters = 0;
  int64_t workspace = 0;
  for (std::size_t block = 0; block < instance.operators.size(); ++block) {
    if (!Holds(set, block)) continue;
    if (!pool.supported[block]) return false;
    bytes += memory.linear[block];
    parameters += memory.parameters[block];
    workspace = std::max(workspace, memory.workspace[block]);
  }
  bytes += static_cast<int64_t>(std::ceil(static_cast<double>(parameters) * memory.parameter_factor)) + workspace;
  for (const Net& net : instance.nets) bytes += IsCut(net, set) ? net.buffer_bytes : 0;
  return !pool.memory_bytes.has_value() || bytes <= *pool.memory_bytes;
}

std::optional<int64_t> NaiveOptimum(const BlockInstance& instance) { return BestChain(instance, AllIdeals(instance)); }

std::optional<int64_t> NaiveOptimumAlong(const BlockInstance& instance, const std::vector<int32_t>& order) {
  std::map<int32_t, int32_t> position;
  for (const int32_t block : order) position.emplace(block, static_cast<int32_t>(position.size()));
  // The same instance with every block ordered after the one before it.
  BlockInstance chain = instance;
  std::vector<Digraph::Edge> edges;
  for (std::size_t i = 1; i < order.size(); ++i) edges.emplace_back(order[i - 1], order[i]);
  AddEdges(chain, edges);
  // BestChain needs larger masks for larger sets only, which holds for any order.
  return BestChain(chain, AllIdeals(chain));
}

std::string FaultOf(const BlockInstance& instance, const BlockSplit& split) {
  BlockSet before = 0;
  int64_t max_load = 0;
  Usage usage(instance.pools.size(), 0);
  for (const BlockSplit::Stage& stage : split.stages) {
    const BlockSet set = SetOf(stage.blocks);
    if (set == 0) return "an empty stage";
    if (!std::is_sorted(stage.blocks.begin(), stage.blocks.end())) return "blocks out of order";
    if ((set & before) != 0) return "a block in two stages";
    before |= set;
    if (!IsIdeal(instance, before)) return "not contiguous";
    if (!NaiveFits(instance, stage.pool, set)) return "does not fit";
    if (stage.replicas < 1 || (stage.replicas > 1 && !instance.rule.replicates)) return "wrong number of replicas";
    usage[stage.pool] += static_cast<std::size_t>(stage.replicas);
    if (usage[stage.pool] > instance.pools[stage.pool].devices.size()) return "too many devices";
    max_load = std::max(max_load, NaiveLoad(instance, stage.pool, set, stage.replicas));
  }
  if (before != FullSet(instance)) return "blocks are missing";
  return max_load == split.max_load ? "" : "wrong max load";
}

}  // namespace planwright
