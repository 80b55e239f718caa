#include "core/partition/search/block_merging.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "core/base/index.h"
#include "core/base/union_find.h"
#include "core/graph/chain.h"

namespace planwright {
namespace {

// The block graph under contraction. Neighbour sets and nets are kept by representative.
class Merger {
 public:
  explicit Merger(const BlockInstance& instance)
      : instance_(instance),
        has_joined_(instance.operators.size(), false),
        labels_(instance.num_blocks()),
        predecessors_(instance.operators.size()),
        successors_(instance.operators.size()),
        nets_(instance.operators.size()),
        pins_(instance.nets.size()) {
    for (const auto& [from, to] : instance.precedence.edges()) {
      successors_[Index(from)].insert(to);
      predecessors_[Index(to)].insert(from);
    }
    for (std::size_t net = 0; net < instance.nets.size(); ++net) {
      pins_[net].insert(instance.nets[net].blocks.begin(), instance.nets[net].blocks.end());
      for (const int32_t block : instance.nets[net].blocks) nets_[Index(block)].insert(static_cast<int32_t>(net));
    }
  }

  std::vector<int32_t> Run(MergeRule rule) {
    MergeAll(MergeRule::kExact);
    // Only then, so that every block of the exact rule is inside one of the other's.
    if (rule == MergeRule::kIgnoreMemory) MergeAll(rule);
    return labels_.Labels();
  }

 private:
  // Merges until no block that is free by `rule` may join another.
  void MergeAll(MergeRule rule) {
    std::vector<int32_t> candidates;
    for (int32_t block = 0; block < instance_.num_blocks(); ++block) {
      if (!has_joined_[Index(block)] && IsFree(block, rule)) candidates.push_back(block);
    }
    for (bool merged = true; merged;) {
      merged = false;
      std::erase_if(candidates, [&](int32_t block) {
        const std::optional<int32_t> target = TargetOf(block);
        if (target.has_value()) Merge(block, *target);
        merged |= target.has_value();
        return target.has_value();
      });
    }
  }

  bool IsFree(int32_t block, MergeRule rule) const {
    const UnitMemory& memory = instance_.memory;
    const std::size_t b = Index(block);
    const bool has_memory = memory.linear[b] != 0 || memory.parameters[b] != 0 || memory.workspace[b] != 0;
    if (has_memory && rule == MergeRule::kExact) return false;
    if (!instance_.parameter_bytes.empty() && instance_.parameter_bytes[b] != 0) return false;
    return std::all_of(instance_.pools.begin(), instance_.pools.end(),
                       [b](const DevicePool& pool) { return pool.time[b] == 0; });
  }

  bool SupportedWherever(int32_t block, int32_t other) const {
    return std::all_of(instance_.pools.begin(), instance_.pools.end(), [&](const DevicePool& pool) {
      return pool.supported[Index(block)] || !pool.supported[Index(other)];
    });
  }

  // The block that free `block` may join.
  std::optional<int32_t> TargetOf(int32_t block) {
    const auto& before = predecessors_[Index(block)];
    const auto& after = successors_[Index(block)];
    std::optional<int32_t> target;
    if (before.size() == 1) target = Admissible(block, *before.begin());
    if (!target.has_value() && after.size() == 1) target = Admissible(block, *after.begin());
    if (before.empty() && after.empty()) target = TargetOfIsolated(block);
    return target;
  }

  // Without neighbours, any block of its first net may do.
  std::optional<int32_t> TargetOfIsolated(int32_t block) {
    const auto& nets = nets_[Index(block)];
    if (nets.empty()) return std::nullopt;
    for (const int32_t pin : pins_[Index(*nets.begin())]) {
      if (pin != block && Admissible(block, pin).has_value()) return pin;
    }
    return std::nullopt;
  }

  // Whether `block` sends the net to others than `target`.
  bool SendsElsewhere(int32_t block, int32_t target, std::size_t net) {
    const int32_t producer = instance_.nets[net].producer;
    if (producer == Net::kAnyProducer || labels_.Find(producer) != labels_.Find(block)) return false;
    return std::any_of(pins_[net].begin(), pins_[net].end(),
                       [&](int32_t pin) { return pin != block && pin != target; });
  }

  std::optional<int32_t> Admissible(int32_t block, int32_t target) {
    if (!SupportedWherever(block, target)) return std::nullopt;
    const auto& nets = nets_[Index(block)];
    const bool nets_hold_target = std::all_of(nets.begin(), nets.end(), [&](int32_t net) {
      return pins_[Index(net)].contains(target) && !SendsElsewhere(block, target, Index(net));
    });
    return nets_hold_target ? std::optional(target) : std::nullopt;
  }

  void Merge(int32_t block, int32_t target) {
    labels_.Unite(block, target);
    has_joined_[Index(block)] = true;
    Rewire(block, target, predecessors_, successors_);
    Rewire(block, target, successors_, predecessors_);
    for (const int32_t net : nets_[Index(block)]) {
      pins_[Index(net)].erase(block);
      // A net inside one block is never cut.
      if (pins_[Index(net)].size() == 1) nets_[Index(target)].erase(net);
    }
  }

  // Moves the `mine` edges of `block` to `target`; `theirs` is the opposite direction.
  static void Rewire(int32_t block, int32_t target, std::vector<std::set<int32_t>>& mine,
                     std::vector<std::set<int32_t>>& theirs) {
    for (const int32_t neighbour : mine[Index(block)]) {
      theirs[Index(neighbour)].erase(block);
      if (neighbour == target) continue;
      mine[Index(target)].insert(neighbour);
      theirs[Index(neighbour)].insert(target);
    }
  }

  const BlockInstance& instance_;
  // Blocks that are part of another now.
  std::vector<bool> has_joined_;
  UnionFind labels_;
  std::vector<std::set<int32_t>> predecessors_;
  std::vector<std::set<int32_t>> successors_;
  std::vector<std::set<int32_t>> nets_;
  std::vector<std::set<int32_t>> pins_;
};

// Total weight of the nets that each boundary of the order cuts; boundary i is before the i-th block.
std::vector<int64_t> Borders(const BlockInstance& instance, const std::vector<int32_t>& order) {
  std::vector<int64_t> borders(order.size() + 1, 0);
  std::vector<std::size_t> pins_before(instance.nets.size(), 0);
  int64_t cut = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const int32_t net : instance.nets_of[Index(order[i])]) {
      const Net& data = instance.nets[Index(net)];
      const std::size_t before = ++pins_before[Index(net)];
      cut += data.weight * ((before == 1 ? 1 : 0) - (before == data.blocks.size() ? 1 : 0));
    }
    borders[i + 1] = cut;
  }
  return borders;
}

// Returns the time of each block, in the order, on the pool where it is quickest; 0 where no pool supports it.
std::vector<double> Weights(const BlockInstance& instance, const std::vector<int32_t>& order) {
  constexpr double kNone = std::numeric_limits<double>::max();
  std::vector<double> weights(order.size(), kNone);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const DevicePool& pool : instance.pools) {
      const std::size_t block = Index(order[i]);
      if (pool.supported[block]) weights[i] = std::min(weights[i], static_cast<double>(pool.time[block]));
    }
    if (weights[i] == kNone) weights[i] = 0;
  }
  return weights;
}

}  // namespace

std::vector<int32_t> MergeFreeBlocks(const BlockInstance& instance, MergeRule rule) {
  return Merger(instance).Run(rule);
}

std::vector<int32_t> RunsOf(const BlockInstance& instance, const std::vector<int32_t>& order, std::size_t max_runs) {
  const std::vector<int32_t> runs = RunsOfOrder(Weights(instance, order), Borders(instance, order), max_runs);
  std::vector<int32_t> run_of(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) run_of[Index(order[i])] = runs[i];
  return run_of;
}

}  // namespace planwright
