#include "core/graph/chain.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "core/base/index.h"
#include "core/base/interruption.h"
#include "core/base/units.h"
#include "core/graph/components.h"
#include "core/graph/digraph.h"
#include "core/graph/operator_unions.h"

namespace planwright {
namespace {

// What is alive from the first to the last of its blocks in any order of them.
struct Life {
  // At least two, ascending.
  std::vector<int32_t> blocks;
  int64_t bytes = 0;
};

// Operators that stay together, in the order in which they must come, and the tensors between them.
struct Blocks {
  OperatorGroups operators;
  Digraph precedence;
  std::vector<Life> lives;
  // Positions in `lives` of each block.
  std::vector<std::vector<int32_t>> lives_of;

  std::size_t size() const { return operators.size(); }
};

void AddLives(const OperatorGraph& graph, const std::vector<int32_t>& block_of, Blocks& blocks) {
  blocks.lives_of.resize(blocks.size());
  for (const Tensor& tensor : graph.tensors) {
    InterruptionPoint(/*units=*/32 * (1 + tensor.consumers.size()));
    std::set<int32_t> ends = {block_of[tensor.producer.index()]};
    for (const OperatorId consumer : tensor.consumers) ends.insert(block_of[consumer.index()]);
    if (*ends.begin() == kDropped) ends.erase(ends.begin());
    if (ends.size() < 2) continue;
    for (const int32_t block : ends) blocks.lives_of[Index(block)].push_back(static_cast<int32_t>(blocks.lives.size()));
    blocks.lives.push_back({{ends.begin(), ends.end()}, tensor.size_bytes});
  }
}

Blocks MakeBlocks(const OperatorGraph& graph, const ResolvedProblem& problem) {
  std::vector<int32_t> block_of = ColocationUnions(graph, problem);
  const std::vector<Digraph::Edge> edges = MapEdges(OrderedOperators(graph, block_of, MirroredTensors::kAll), block_of);
  const std::vector<int32_t> component_of = StronglyConnectedComponents(Digraph(CountLabels(block_of), edges));
  for (int32_t& block : block_of) {
    if (block != kDropped) block = component_of[Index(block)];
  }
  Blocks blocks;
  blocks.operators.resize(Index(CountLabels(block_of)));
  for (std::size_t i = 0; i < block_of.size(); ++i) {
    if (block_of[i] != kDropped) blocks.operators[Index(block_of[i])].emplace_back(i);
  }
  blocks.precedence = Digraph(static_cast<int32_t>(blocks.size()), MapEdges(edges, component_of));
  AddLives(graph, block_of, blocks);
  return blocks;
}

// Bytes alive between the positions i - 1 and i of `order`, for every i.
std::vector<int64_t> AliveBytes(const Blocks& blocks, const std::vector<int32_t>& order) {
  std::vector<int64_t> alive(order.size(), 0);
  std::vector<std::size_t> placed(blocks.lives.size(), 0);
  int64_t bytes = 0;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    InterruptionPoint(/*units=*/1 + blocks.lives_of[Index(order[i])].size());
    for (const int32_t index : blocks.lives_of[Index(order[i])]) {
      const Life& life = blocks.lives[Index(index)];
      const std::size_t count = ++placed[Index(index)];
      if (count == 1) bytes = SaturatingAdd(bytes, life.bytes);
      if (count == life.blocks.size()) bytes -= life.bytes;
    }
    alive[i + 1] = bytes;
  }
  return alive;
}

// Takes, of the blocks that may come next, the one that leaves the fewest bytes alive; ties by the smaller block. With
// every life of no bytes that is the order in which the graph lists its operators, as far as dependencies allow.
class GreedyOrder {
 public:
  GreedyOrder(const Blocks& blocks, bool counts_bytes) : blocks_(blocks), counts_bytes_(counts_bytes) {
    missing_.resize(blocks.size());
    change_.assign(blocks.size(), 0);
    placed_.assign(blocks.lives.size(), 0);
    is_placed_.assign(blocks.size(), false);
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      const auto vertex = static_cast<int32_t>(block);
      missing_[block] = blocks.precedence.predecessors(vertex).size();
      for (const int32_t life : blocks.lives_of[block]) change_[block] += BytesOf(life);
      if (missing_[block] == 0) ready_.emplace(change_[block], vertex);
    }
  }

  std::vector<int32_t> Run() {
    std::vector<int32_t> order;
    order.reserve(blocks_.size());
    while (!ready_.empty()) {
      const int32_t block = ready_.begin()->second;
      InterruptionPoint(/*units=*/32 * (1 + blocks_.lives_of[Index(block)].size()));
      ready_.erase(ready_.begin());
      order.push_back(block);
      is_placed_[Index(block)] = true;
      for (const int32_t life : blocks_.lives_of[Index(block)]) Place(life);
      for (const int32_t next : blocks_.precedence.successors(block)) {
        if (--missing_[Index(next)] == 0) ready_.emplace(change_[Index(next)], next);
      }
    }
    return order;
  }

 private:
  int64_t BytesOf(int32_t life) const { return counts_bytes_ ? blocks_.lives[Index(life)].bytes : 0; }

  // One more block of the life has been placed: to the others it is alive already, and the last one ends it.
  void Place(int32_t life) {
    const std::vector<int32_t>& ends = blocks_.lives[Index(life)].blocks;
    const std::size_t count = ++placed_[Index(life)];
    const int64_t changes = (count == 1 ? 1 : 0) + (count + 1 == ends.size() ? 1 : 0);
    if (changes == 0) return;
    for (const int32_t block : ends) {
      if (!is_placed_[Index(block)]) Change(block, -changes * BytesOf(life));
    }
  }

  void Change(int32_t block, int64_t bytes) {
    const bool was_ready = ready_.erase({change_[Index(block)], block}) > 0;
    change_[Index(block)] += bytes;
    if (was_ready) ready_.emplace(change_[Index(block)], block);
  }

  const Blocks& blocks_;
  const bool counts_bytes_;
  // Predecessors that have not been placed, of each block.
  std::vector<std::size_t> missing_;
  // Bytes by which placing the block now changes what is alive.
  std::vector<int64_t> change_;
  // Blocks of each life that have been placed.
  std::vector<std::size_t> placed_;
  std::vector<bool> is_placed_;
  // By change, then by block.
  std::set<std::pair<int64_t, int32_t>> ready_;
};

// One branch after the other, each to its end.
std::vector<int32_t> BranchOrder(const Blocks& blocks) { return AnyTopologicalOrder(blocks.precedence); }

// All blocks as far from the first ones before those that are further.
std::vector<int32_t> LevelOrder(const Blocks& blocks) {
  const std::vector<int32_t> order = BranchOrder(blocks);
  std::vector<int32_t> level(blocks.size(), 0);
  for (const int32_t block : order) {
    for (const int32_t next : blocks.precedence.successors(block)) {
      level[Index(next)] = std::max(level[Index(next)], level[Index(block)] + 1);
    }
  }
  std::vector<int32_t> by_level = FirstNumbers(blocks.size());
  std::stable_sort(by_level.begin(), by_level.end(),
                   [&](int32_t a, int32_t b) { return level[Index(a)] < level[Index(b)]; });
  return by_level;
}

std::vector<std::vector<int32_t>> OrdersOf(const Blocks& blocks) {
  return {GreedyOrder(blocks, /*counts_bytes=*/true).Run(), BranchOrder(blocks),
          GreedyOrder(blocks, /*counts_bytes=*/false).Run()};
}

std::vector<int32_t> BestOrder(const Blocks& blocks, std::vector<std::vector<int32_t>> orders) {
  std::vector<int32_t> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::vector<int32_t>& order : orders) {
    const std::vector<int64_t> alive = AliveBytes(blocks, order);
    const double sum = std::accumulate(alive.begin(), alive.end(), 0.0);
    if (sum >= least) continue;
    least = sum;
    best = std::move(order);
  }
  return best;
}

// The layer of each position of `order`.
std::vector<int32_t> LayersOf(const Blocks& blocks, const std::vector<int32_t>& order,
                              std::span<const int64_t> operator_weights, std::size_t max_layers) {
  if (order.size() <= max_layers) return FirstNumbers(order.size());
  std::vector<double> weights(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const OperatorId op : blocks.operators[Index(order[i])]) {
      weights[i] += static_cast<double>(operator_weights[op.index()]);
    }
  }
  return RunsOfOrder(weights, AliveBytes(blocks, order), max_layers);
}

OperatorGroups GroupsOf(const Blocks& blocks, const std::vector<int32_t>& order,
                        std::span<const int64_t> operator_weights, std::size_t max_layers) {
  const std::vector<int32_t> layers = LayersOf(blocks, order, operator_weights, max_layers);
  OperatorGroups groups(order.empty() ? 0 : Index(layers.back()) + 1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::vector<OperatorId>& operators = blocks.operators[Index(order[i])];
    std::vector<OperatorId>& group = groups[Index(layers[i])];
    group.insert(group.end(), operators.begin(), operators.end());
  }
  for (std::vector<OperatorId>& group : groups) std::sort(group.begin(), group.end());
  return groups;
}

}  // namespace

OperatorGroups LinearizeGraph(const OperatorGraph& graph, const ResolvedProblem& problem,
                              std::span<const int64_t> operator_weights, std::size_t max_layers) {
  const Blocks blocks = MakeBlocks(graph, problem);
  return GroupsOf(blocks, BestOrder(blocks, OrdersOf(blocks)), operator_weights, max_layers);
}

std::vector<OperatorGroups> LinearizeInEveryOrder(const OperatorGraph& graph, const ResolvedProblem& problem,
                                                  std::span<const int64_t> operator_weights, std::size_t max_layers) {
  const Blocks blocks = MakeBlocks(graph, problem);
  std::vector<std::vector<int32_t>> orders = OrdersOf(blocks);
  orders.insert(orders.begin(), BestOrder(blocks, orders));
  orders.push_back(LevelOrder(blocks));
  std::vector<OperatorGroups> chains;
  for (const std::vector<int32_t>& order : orders) {
    OperatorGroups chain = GroupsOf(blocks, order, operator_weights, max_layers);
    if (std::find(chains.begin(), chains.end(), chain) == chains.end()) chains.push_back(std::move(chain));
  }
  return chains;
}

std::vector<int32_t> RunsOfOrder(std::span<const double> weights, std::span<const int64_t> borders,
                                 std::size_t max_runs) {
  const double sum = std::max(std::accumulate(weights.begin(), weights.end(), 0.0), 1.0);
  const double least = sum / static_cast<double>(weights.size());

  // The cheapest border of each bucket; 0: none yet.
  std::vector<std::size_t> cheapest(max_runs - 1, 0);
  double before = 0;
  for (std::size_t border = 1; border < weights.size() && !cheapest.empty(); ++border) {
    before += weights[border - 1] + least;
    const auto bucket = static_cast<std::size_t>(before / (2 * sum) * static_cast<double>(cheapest.size()));
    std::size_t& best = cheapest[std::min(bucket, cheapest.size() - 1)];
    if (best == 0 || borders[border] < borders[best]) best = border;
  }
  std::vector<bool> is_cut(weights.size(), false);
  for (const std::size_t border : cheapest) is_cut[border] = border > 0;
  std::vector<int32_t> run_of(weights.size(), 0);
  for (std::size_t i = 1; i < run_of.size(); ++i) run_of[i] = run_of[i - 1] + (is_cut[i] ? 1 : 0);
  return run_of;
}

}  // namespace planwright
